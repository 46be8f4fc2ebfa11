/* SPDX-License-Identifier: Apache-2.0 */
/* Who ran, and which code. */
#include "exchange/tables/job.h"

#include "model/frame_text.h"

/* ---- what rows are found by ---- */

void tables_code_inlines(struct tables_session *in)
{
    const struct frames *f = &in->s->store.frames;

    for (uint32_t id = 1; !in->has_inlines && id <= f->list.n; id++)
        for (uint32_t k = 1; k < f->list.a[id - 1].names_n; k++)
            *vec_push(&in->inlines) = (struct tables_inline){id, k};
    in->has_inlines = 1;
}

void tables_code_symbols(struct tables_session *in)
{
    const struct frames *f = &in->s->store.frames;
    struct strtab names = {0};
    struct map first = {0};
    struct buf text = {0};

    if (in->symbol)
        return;
    in->symbol = mem_calloc(f->list.n + 1, sizeof(*in->symbol));
    for (uint32_t id = 1; id <= f->list.n; id++) {
        const struct frame_name *n = NULL;
        struct frame_name self;
        uint64_t *known;

        buf_clear(&text);
        frame_text(f, &in->s->store.strings, frames_get(f, id), frames_names(f, id, &self, &n) ? n : NULL,
                   &text);
        known =
            map_put(&first, (uint64_t)strtab_add(&names, buf_str(&text)) << 32 | f->list.a[id - 1].module);
        if (!*known)
            *known = id;
        in->symbol[id] = (uint32_t)*known;
    }
    strtab_release(&names);
    map_release(&first);
    buf_release(&text);
}

static void use(struct tables_session *in, uint32_t stack)
{
    if (stacks_get(&in->s->store.stacks, stack))
        in->stacks[stack].used = 1;
}

static void count_samples(struct tables_session *in)
{
    const struct store *s = &in->s->store;

    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        use(in, ev->stack);
        if (ev->kind == EVENT_SAMPLE && stacks_get(&s->stacks, ev->stack))
            in->stacks[ev->stack].samples += ev->value;
    }
    for (size_t i = 0; i < s->waits.list.n; i++)
        use(in, s->waits.list.a[i].waker_stack);
}

static int is_outermost(const struct tables_session *in, uint32_t id)
{
    const struct stack_node *nodes = in->s->store.stacks.nodes.a;
    uint32_t symbol = in->symbol[nodes[id - 1].frame];

    for (id = nodes[id - 1].parent; id; id = nodes[id - 1].parent)
        if (in->symbol[nodes[id - 1].frame] == symbol)
            return 0;
    return 1;
}

/* A parent's id is below its child's. */
void tables_code_stacks(struct tables_session *in)
{
    const struct stacks *st = &in->s->store.stacks;

    if (in->stacks)
        return;
    tables_code_symbols(in);
    in->stacks = mem_calloc(st->nodes.n + 1, sizeof(*in->stacks));
    count_samples(in);
    for (uint32_t id = 1; id <= st->nodes.n; id++) {
        in->stacks[id].depth = in->stacks[st->nodes.a[id - 1].parent].depth + 1;
        in->stacks[id].outermost = (uint8_t)is_outermost(in, id);
    }
    for (size_t id = st->nodes.n; id; id--) {
        in->stacks[id].total += in->stacks[id].samples;
        in->stacks[st->nodes.a[id - 1].parent].total += in->stacks[id].total;
    }
}

/* ---- tasks ---- */

static void number(struct tables_cell *c, uint64_t v)
{
    if (v)
        tables_int(c, (int64_t)v);
}

static void task_value(struct tables_cell *c)
{
    const struct task *t = &c->s->store.tasks.list.a[c->row];
    const struct origin *origin = origins_get(&c->s->store.origins, t->origin);

    switch (c->column) {
    case COLUMN_tasks_pid:
        tables_int(c, t->ns_pid ? t->ns_pid : t->pid);
        break;
    case COLUMN_tasks_tid:
        tables_int(c, t->ns_tid ? t->ns_tid : t->tid);
        break;
    case COLUMN_tasks_name:
        tables_text(c, tables_string(c, t->comm));
        break;
    case COLUMN_tasks_process:
        tables_int(c, t->leader ? t->leader : (int64_t)c->row + 1);
        break;
    case COLUMN_tasks_parent:
        tables_int(c, t->parent);
        break;
    case COLUMN_tasks_first:
        if (t->first_ns)
            tables_time(c, t->first_ns);
        break;
    case COLUMN_tasks_last:
        if (t->last_ns)
            tables_time(c, t->last_ns);
        break;
    case COLUMN_tasks_cpu_ns:
        number(c, t->cpu_ns);
        break;
    case COLUMN_tasks_host:
        if (origin && origin->host)
            tables_text(c, tables_string(c, origin->host));
        break;
    case COLUMN_tasks_rank:
        if (origin && origin->rank)
            tables_int(c, (int64_t)origin->rank - 1);
        break;
    default:
        break;
    }
}

/* ---- frames ---- */

static const char *const kinds[FRAME_KINDS] = {
    [FRAME_KERNEL] = "kernel", [FRAME_NATIVE] = "native", [FRAME_PYTHON] = "python", [FRAME_JIT] = "jit",
    [FRAME_GPU] = "gpu",       [FRAME_MARKER] = "marker", [FRAME_GIL] = "gil",
};

static void frame_name(struct tables_cell *c, uint32_t id, const struct frame_name *n)
{
    const struct frame *f = frames_get(&c->s->store.frames, id);

    buf_clear(c->text);
    frame_text(&c->s->store.frames, &c->s->store.strings, f, n, c->text);
    frame_fold_text(c->text->data, c->text->len);
    tables_text(c, c->text->data);
}

static void build_id(struct tables_cell *c, const struct module *m)
{
    buf_clear(c->text);
    for (unsigned i = 0; m && i < m->build_id_len && i < sizeof(m->build_id); i++)
        buf_addf(c->text, "%02x", m->build_id[i]);
    tables_text(c, buf_str(c->text));
}

static void frame_value(struct tables_cell *c)
{
    const struct frames *all = &c->s->store.frames;
    uint32_t id = (uint32_t)c->row + 1;
    const struct frame *f = frames_get(all, id);
    const struct module *m = frames_module(all, f->module);
    const struct frame_name *names;
    struct frame_name self;
    uint32_t n = frames_names(all, id, &self, &names);

    switch (c->column) {
    case COLUMN_frames_kind:
        tables_text(c, f->kind < FRAME_KINDS ? kinds[f->kind] : NULL);
        break;
    case COLUMN_frames_name:
        frame_name(c, id, n ? names : NULL);
        break;
    case COLUMN_frames_function:
        tables_text(c, n ? tables_string(c, names->func) : NULL);
        break;
    case COLUMN_frames_file:
        tables_text(c, n ? tables_string(c, names->file) : NULL);
        break;
    case COLUMN_frames_line:
        number(c, n ? names->line : 0);
        break;
    case COLUMN_frames_module:
        tables_text(c, m ? tables_string(c, m->path) : NULL);
        break;
    case COLUMN_frames_build_id:
        build_id(c, m);
        break;
    case COLUMN_frames_address:
        number(c, f->addr);
        break;
    case COLUMN_frames_symbol:
        tables_int(c, c->in->symbol[id]);
        break;
    default:
        break;
    }
}

static void inline_value(struct tables_cell *c)
{
    const struct tables_inline *in = &c->in->inlines.a[c->row];
    const struct frame_name *names;
    struct frame_name self;
    uint32_t n = frames_names(&c->s->store.frames, in->frame, &self, &names);

    if (in->depth >= n)
        return;
    names += in->depth;
    switch (c->column) {
    case COLUMN_inlines_frame:
        tables_int(c, in->frame);
        break;
    case COLUMN_inlines_depth:
        tables_int(c, in->depth);
        break;
    case COLUMN_inlines_function:
        tables_text(c, tables_string(c, names->func));
        break;
    case COLUMN_inlines_file:
        tables_text(c, tables_string(c, names->file));
        break;
    case COLUMN_inlines_line:
        number(c, names->line);
        break;
    default:
        break;
    }
}

/* ---- the rest ---- */

static void stack_value(struct tables_cell *c)
{
    const struct stack_node *n = &c->s->store.stacks.nodes.a[c->row];

    switch (c->column) {
    case COLUMN_stacks_parent:
        tables_int(c, n->parent);
        break;
    case COLUMN_stacks_frame:
        tables_int(c, n->frame);
        break;
    case COLUMN_stacks_depth:
        tables_int(c, c->in->stacks[c->row + 1].depth);
        break;
    case COLUMN_stacks_samples:
        tables_int(c, (int64_t)c->in->stacks[c->row + 1].samples);
        break;
    case COLUMN_stacks_total:
        tables_int(c, (int64_t)c->in->stacks[c->row + 1].total);
        break;
    case COLUMN_stacks_outermost:
        tables_int(c, c->in->stacks[c->row + 1].outermost);
        break;
    default:
        break;
    }
}

static void counter_value(struct tables_cell *c)
{
    const struct counter *n = &c->s->store.counters.a[c->row];

    if (c->column == COLUMN_counters_name)
        tables_text(c, tables_string(c, n->name));
    else if (c->column == COLUMN_counters_value)
        tables_int(c, (int64_t)n->value);
}

void tables_code_value(struct tables_cell *c)
{
    switch (tables_column_info(c->column)->table) {
    case TABLE_counters:
        counter_value(c);
        break;
    case TABLE_tasks:
        task_value(c);
        break;
    case TABLE_frames:
        frame_value(c);
        break;
    case TABLE_inlines:
        inline_value(c);
        break;
    case TABLE_stacks:
        stack_value(c);
        break;
    default:
        break;
    }
}
