/* SPDX-License-Identifier: Apache-2.0 */
#include "render/dump.h"

#include "base/units.h"

static const struct dump_thread *thread_of(const struct dump *d, const struct dump_step *s)
{
    return s->thread ? &d->threads.a[s->thread - 1] : NULL;
}

static void add_step(const struct dump *d, const struct dump_step *s, struct buf *out)
{
    const struct dump_thread *t = thread_of(d, s);

    if (t)
        dump_add_thread(d, t, out);
    else
        dump_add_process(d, s->pid, out);
}

/* "(mutex 0x7f.., in take_a (locks.c:12))" */
static void add_wait(const struct dump *d, const struct dump_thread *t, struct buf *out)
{
    struct buf place = {0};

    buf_addstr(out, " (");
    text_clean(t->what ? strtab_get(&d->store.strings, t->what) : waits_reason(t->reason), 0, out);
    if (dump_add_place(d, t->stack, &place)) {
        buf_addstr(out, ", in ");
        text_clean(buf_str(&place), 0, out);
    }
    buf_addch(out, ')');
    buf_release(&place);
}

/* "A waits for B (...), which waits for C (...)" up to the last of the path, which is left to the caller. */
static void add_path(const struct dump *d, const struct dump_step *path, uint32_t n, struct buf *out)
{
    add_step(d, &path[0], out);
    for (uint32_t i = 0; i + 1 < n; i++) {
        const struct dump_thread *t = thread_of(d, &path[i]);

        buf_addstr(out, i ? ", which waits for " : " waits for ");
        add_step(d, &path[i + 1], out);
        if (t)
            add_wait(d, t, out);
    }
}

static void add_circle(const struct dump *d, const struct dump_answer *a, const struct dump_step *path,
                       struct buf *out)
{
    const struct dump_thread *last = thread_of(d, &path[a->n - 1]);

    buf_addstr(out, a->kind == DUMP_DEADLOCK ? "deadlock: " : "waiting in a circle: ");
    add_path(d, path, a->n, out);
    buf_addstr(out, a->n > 1 ? ", which waits for " : " waits for ");
    if (a->n > 1)
        add_step(d, &path[0], out);
    else
        buf_addstr(out, "itself");
    if (last)
        add_wait(d, last, out);
    if (a->waiting > a->n)
        buf_addf(out, "; %u more thread%s for these", a->waiting - a->n,
                 a->waiting - a->n == 1 ? " waits" : "s wait");
}

void dump_add_wait(const struct dump *d, const struct dump_thread *t, struct buf *out)
{
    int call = t->reason == WAIT_CHILD || t->reason == WAIT_OTHER; /* `what` begins with its name */

    if (t->reason == WAIT_SLEEP)
        buf_addstr(out, ", on a timer");
    else if (t->what) {
        buf_addstr(out, call ? ", in " : ", waits for ");
        text_clean(strtab_get(&d->store.strings, t->what), 0, out);
    } else if (t->reason)
        buf_addf(out, ", waits: %s", waits_reason(t->reason));
}

static void add_end(const struct dump *d, const struct dump_step *s, struct buf *out)
{
    const struct dump_thread *t = thread_of(d, s);
    struct buf place = {0};
    char time[32];

    if (!t) {
        buf_addstr(out, dump_process(d, s->pid) ? ", which can't be seen"
                                                : ", which isn't in this dump (-p shows it)");
        return;
    }
    buf_addstr(out, ", which is ");
    if (dump_add_place(d, t->stack, &place)) {
        buf_addstr(out, "in ");
        text_clean(buf_str(&place), 0, out);
        buf_addstr(out, ", ");
    }
    dump_add_state(t, out);
    if (t->state != 'R' && t->state != 'W' && t->wait_ns)
        buf_addf(out, " for %s", units_duration(time, sizeof(time), t->wait_ns));
    if (t->state != 'R')
        dump_add_wait(d, t, out);
    if (t->flags & DUMP_GIL_HELD)
        buf_addstr(out, ", holding the GIL");
    buf_release(&place);
}

void dump_answer_text(const struct dump *d, const struct dump_answer *a, struct buf *out)
{
    const struct dump_step *path = &d->path.a[a->first];

    if (a->kind != DUMP_ROOT) {
        add_circle(d, a, path, out);
        return;
    }
    add_path(d, path, a->n, out);
    add_end(d, &path[a->n - 1], out);
    if (a->waiting + 1 > a->n)
        buf_addf(out, "; %u threads wait for it in all", a->waiting);
}
