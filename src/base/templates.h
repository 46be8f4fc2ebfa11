/* SPDX-License-Identifier: Apache-2.0 */
/* The files of templates/, embedded in the binary by the build. */
#ifndef WPROF_BASE_TEMPLATES_H
#define WPROF_BASE_TEMPLATES_H

#include <stddef.h>

/* The contents of templates/NAME ("page.html"), followed by a NUL that *len (may be NULL) does not count.
 * NULL where there is no such file. */
const char *template_get(const char *name, size_t *len);

#endif
