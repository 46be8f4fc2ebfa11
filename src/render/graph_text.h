/* SPDX-License-Identifier: Apache-2.0 */
/* A graph as text, in the form that witty-profiler prints: a line for each node and edge. */
#ifndef WPROF_RENDER_GRAPH_TEXT_H
#define WPROF_RENDER_GRAPH_TEXT_H

#include "base/buf.h"
#include "model/graph.h"

void graph_text_render(const struct graph *g, struct buf *out);

#endif
