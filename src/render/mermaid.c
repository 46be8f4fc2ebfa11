/* SPDX-License-Identifier: Apache-2.0 */
/* A topology as a Mermaid flowchart, which GitHub, GitLab and many editors draw. */
#include "render/picture_format.h"

/* A label in quotes. Mermaid has entity codes of its own, with # for &: what markup or its own syntax would
 * read. */
static void add_label(struct buf *out, const char *s)
{
    buf_addch(out, '"');
    for (; *s; s++)
        switch (*s) {
        case '"':
            buf_addstr(out, "#quot;");
            break;
        case '<':
            buf_addstr(out, "#lt;");
            break;
        case '>':
            buf_addstr(out, "#gt;");
            break;
        case '&':
            buf_addstr(out, "#amp;");
            break;
        case '#':
            buf_addstr(out, "#35;");
            break;
        case '`': /* Markdown, in a label that begins with it */
            buf_addstr(out, "#96;");
            break;
        case '\\':
            buf_addstr(out, "#92;");
            break;
        case '\n':
            buf_addstr(out, "<br/>");
            break;
        default:
            buf_addch(out, *s);
        }
    buf_addch(out, '"');
}

static void indent(struct buf *out, unsigned depth)
{
    for (unsigned i = 0; i <= depth; i++)
        buf_addstr(out, "  ");
}

static void add_nodes(const struct picture *p, uint32_t box, unsigned depth, struct buf *out)
{
    for (uint32_t i = 0; i < p->nodes.n; i++) {
        const struct picture_node *n = &p->nodes.a[i];
        int round = n->of->kind == GRAPH_THREAD;

        if (n->box != box)
            continue;
        indent(out, depth);
        buf_addf(out, "n%u%s", i, round ? "(" : "[");
        add_label(out, n->label);
        buf_addf(out, "%s:::%s\n", round ? ")" : "]", graph_kind(n->of->kind)->abbr);
    }
}

static void add_boxes(const struct picture *p, uint32_t parent, unsigned depth, struct buf *out)
{
    for (uint32_t i = 0; i < p->boxes.n; i++) {
        if (p->boxes.a[i].parent != parent)
            continue;
        indent(out, depth);
        buf_addf(out, "subgraph b%u[", i);
        add_label(out, *p->boxes.a[i].label ? p->boxes.a[i].label : " ");
        buf_addstr(out, "]\n");
        add_boxes(p, i, depth + 1, out);
        add_nodes(p, i, depth + 1, out);
        indent(out, depth);
        buf_addstr(out, "end\n");
    }
}

static void add_edge(const struct picture_edge *e, struct buf *out)
{
    const char *line = !graph_relation(e->kind)->directed ? "---" : e->both ? "<-->" : "-->";
    struct buf text = {0};

    buf_addstr(&text, graph_relation(e->kind)->name);
    if (*e->label)
        buf_addf(&text, " %s", e->label);
    buf_addf(out, "  n%u %s|", e->a, line);
    add_label(out, buf_str(&text));
    buf_addf(out, "| n%u\n", e->b);
    buf_release(&text);
}

static void write_mermaid(const struct picture *p, const struct graph *g, struct buf *out)
{
    buf_addf(out, "%%%% %s\n", p->title);
    for (size_t i = 0; i < p->notes.n; i++)
        buf_addf(out, "%%%% %s\n", p->notes.a[i]);
    buf_addstr(out, "flowchart LR\n");
    add_boxes(p, PICTURE_NONE, 0, out);
    add_nodes(p, PICTURE_NONE, 0, out);
    for (size_t i = 0; i < p->edges.n; i++)
        add_edge(&p->edges.a[i], out);
    for (int k = 0; k < GRAPH_KINDS; k++)
        if (picture_has_kind(p, (enum graph_kind)k))
            buf_addf(out, "  classDef %s fill:%s,stroke:#5f6b76,color:#111\n",
                     graph_kind((enum graph_kind)k)->abbr, graph_kind((enum graph_kind)k)->color);
    for (size_t i = 0; i < p->edges.n; i++)
        buf_addf(out, "  linkStyle %zu stroke:%s\n", i, graph_relation(p->edges.a[i].kind)->color);
}

extern const struct picture_format format_mermaid;
const struct picture_format format_mermaid = {
    .name = "mermaid", .suffix = ".mmd", .is_text = 1, .write = write_mermaid};
