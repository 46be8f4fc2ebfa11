/* SPDX-License-Identifier: Apache-2.0 */
#include "render/dump.h"

#include "base/json.h"

#include <stdio.h>

struct job {
    const struct dump *d;
    struct json_writer w;
};

static void add_text(struct job *j, const char *key, uint32_t id)
{
    json_str(&j->w, key, id ? strtab_get(&j->d->store.strings, id) : NULL);
}

static void add_frame(struct job *j, uint32_t id)
{
    static const char *const kinds[FRAME_KINDS] = {
        [FRAME_NONE] = "none",     [FRAME_KERNEL] = "kernel", [FRAME_NATIVE] = "native",
        [FRAME_PYTHON] = "python", [FRAME_JIT] = "jit",       [FRAME_GPU] = "gpu",
        [FRAME_MARKER] = "marker", [FRAME_GIL] = "gil",
    };
    const struct store *s = &j->d->store;
    const struct frame *f = frames_get(&s->frames, id);
    const struct module *m = frames_module(&s->frames, f->module);
    const struct frame_name *names;
    struct frame_name self;
    uint32_t n = frames_names(&s->frames, id, &self, &names);

    for (uint32_t i = 0; i < (n ? n : 1); i++) {
        json_object(&j->w, NULL);
        json_str(&j->w, "kind", kinds[f->kind]);
        add_text(j, "function", n ? names[i].func : 0);
        add_text(j, "file", n ? names[i].file : 0);
        json_u64(&j->w, "line", n ? names[i].line : 0);
        add_text(j, "module", m ? m->path : 0);
        if (f->addr)
            json_u64(&j->w, "address", f->addr);
        json_end_object(&j->w);
    }
}

static void add_stack(struct job *j, uint32_t stack)
{
    const struct stack_node *n;
    VEC(uint32_t) frames = {0};

    for (; (n = stacks_get(&j->d->store.stacks, stack)); stack = n->parent)
        *vec_push(&frames) = n->frame;
    json_array(&j->w, "stack");
    for (size_t i = frames.n; i-- > 0;)
        add_frame(j, frames.a[i]);
    json_end_array(&j->w);
    vec_release(&frames);
}

static void add_wait(struct job *j, const struct dump_thread *t)
{
    if (!t->reason && !t->edges && !t->what) {
        json_null(&j->w, "wait");
        return;
    }
    json_object(&j->w, "wait");
    json_str(&j->w, "reason", waits_reason(t->reason));
    add_text(j, "what", t->what);
    json_array(&j->w, "on");
    for (uint32_t i = 0; i < t->edges; i++) {
        const struct dump_edge *e = &j->d->edges.a[t->edge + i];

        json_object(&j->w, NULL);
        json_u64(&j->w, "pid", e->pid);
        if (e->tid)
            json_u64(&j->w, "tid", e->tid);
        else
            json_null(&j->w, "tid");
        json_str(&j->w, "by", dump_how_name((enum dump_how)e->how));
        json_end_object(&j->w);
    }
    json_end_array(&j->w);
    json_end_object(&j->w);
}

static void add_thread(struct job *j, const struct dump_thread *t)
{
    char state[2] = {t->state, '\0'};

    json_object(&j->w, NULL);
    json_u64(&j->w, "tid", t->tid);
    add_text(j, "name", t->comm);
    json_str(&j->w, "state", state);
    if (t->cpu >= 0)
        json_i64(&j->w, "cpu", t->cpu);
    else
        json_null(&j->w, "cpu");
    if (t->wait_ns)
        json_u64(&j->w, "wait_ns", t->wait_ns);
    else
        json_null(&j->w, "wait_ns");
    add_wait(j, t);
    json_bool(&j->w, "gil", t->flags & DUMP_GIL_HELD);
    json_bool(&j->w, "whole", t->flags & DUMP_WHOLE);
    json_bool(&j->w, "native", t->stack && !(t->flags & DUMP_NO_NATIVE));
    json_bool(&j->w, "sampled", t->flags & DUMP_SAMPLED);
    add_text(j, "note", t->note);
    add_stack(j, t->stack);
    json_end_object(&j->w);
}

static void add_process(struct job *j, const struct dump_process *p)
{
    char python[16];

    json_object(&j->w, NULL);
    json_u64(&j->w, "pid", p->pid);
    json_u64(&j->w, "ppid", p->ppid);
    add_text(j, "name", p->comm);
    add_text(j, "command", p->command);
    snprintf(python, sizeof(python), "%u.%u", p->python >> 8, p->python & 255);
    json_str(&j->w, "python", p->python ? python : NULL);
    json_bool(&j->w, "asked", p->asked);
    add_text(j, "note", p->note);
    json_array(&j->w, "threads");
    for (uint32_t i = 0; i < p->n; i++)
        add_thread(j, &j->d->threads.a[p->first + i]);
    json_end_array(&j->w);
    json_end_object(&j->w);
}

static void add_answer(struct job *j, const struct dump_answer *a)
{
    static const char *const kinds[] = {
        [DUMP_DEADLOCK] = "deadlock", [DUMP_CIRCLE] = "circle", [DUMP_ROOT] = "waits"};
    struct buf text = {0};

    json_object(&j->w, NULL);
    json_str(&j->w, "kind", kinds[a->kind]);
    json_u64(&j->w, "threads", a->waiting);
    json_array(&j->w, "path");
    for (uint32_t i = 0; i < a->n; i++) {
        const struct dump_step *s = &j->d->path.a[a->first + i];

        json_object(&j->w, NULL);
        json_u64(&j->w, "pid", s->thread ? j->d->threads.a[s->thread - 1].pid : s->pid);
        if (s->thread)
            json_u64(&j->w, "tid", j->d->threads.a[s->thread - 1].tid);
        else
            json_null(&j->w, "tid");
        json_end_object(&j->w);
    }
    json_end_array(&j->w);
    dump_answer_text(j->d, a, &text);
    json_str(&j->w, "text", buf_str(&text));
    buf_release(&text);
    json_end_object(&j->w);
}

void dump_json_render(const struct dump *d, struct buf *out)
{
    struct job j = {d, {.out = out, .indent = 2}};
    char tier[2] = {d->tier, '\0'};

    json_object(&j.w, NULL);
    json_u64(&j.w, "version", 1);
    json_str(&j.w, "tier", tier);
    json_str(&j.w, "unseen", d->unseen);
    json_f64(&j.w, "taken", (double)d->taken_ns / 1e9);
    json_u64(&j.w, "took_ns", d->took_ns);
    json_u64(&j.w, "refused", d->refused);
    json_u64(&j.w, "torn", d->torn);
    json_array(&j.w, "processes");
    for (size_t i = 0; i < d->processes.n; i++)
        add_process(&j, &d->processes.a[i]);
    json_end_array(&j.w);
    json_array(&j.w, "others");
    for (size_t i = 0; i < d->others.n; i++) {
        json_object(&j.w, NULL);
        json_u64(&j.w, "pid", d->others.a[i].pid);
        add_text(&j, "name", d->others.a[i].comm);
        json_end_object(&j.w);
    }
    json_end_array(&j.w);
    json_array(&j.w, "answers");
    for (size_t i = 0; i < d->answers.n; i++)
        add_answer(&j, &d->answers.a[i]);
    json_end_array(&j.w);
    json_end_object(&j.w);
    buf_addch(out, '\n');
}
