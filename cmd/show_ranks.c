/* SPDX-License-Identifier: Apache-2.0 */
#include "show_ranks.h"
#include "show_table.h"

#include "analyze/ranks.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum { DID_SHOWN = 5 }; /* rows of what each rank did, unless all are wanted */

static int find(struct ranks *r, const struct session *s, struct err *e)
{
    ranks_init(r, s);
    if (r->waits.list.n)
        return 0;
    ranks_release(r);
    return err_set(
        e, "this session is of one recording: it has no ranks (wprof merge makes one session of many)");
}

enum { PIPED = 100 }; /* columns that sentences have where there is no terminal */

/* Lines of a sentence, broken between words. */
static void put_wrapped(const char *text, const struct text_style *style, struct buf *out)
{
    size_t width = style->width ? style->width : PIPED, at = 0;

    while (*text) {
        size_t n = strcspn(text, " \n");

        if (at && at + 1 + n > width) {
            buf_addch(out, '\n');
            at = 0;
        } else if (at) {
            buf_addch(out, ' ');
            at++;
        }
        buf_add(out, text, n);
        at += n;
        text += n + (text[n] != '\0');
    }
    buf_addch(out, '\n');
}

static void put_heading(const char *text, const struct text_style *style, struct buf *out)
{
    buf_addstr(out, style->color ? "\033[1m" : "");
    put_wrapped(text, style, out);
    buf_addstr(out, style->color ? "\033[0m" : "");
}

/* The table without the columns that tell nothing of any rank, nor clocks where they are one: into `room`,
 * which has as many. */
static void leave_empty_out(struct table *t, int clocks, struct table_column *room)
{
    for (size_t c = 0; c < t->ncolumns; c++) {
        struct buf cell = {0};
        size_t i = 0;

        room[c] = t->columns[c];
        for (; i < table_rows(t); i++) {
            buf_clear(&cell);
            text_cell(&room[c], &t->cells.a[i * t->ncolumns + c], &cell);
            if (cell.len && strcmp(buf_str(&cell), "-") != 0)
                break;
        }
        if (i == table_rows(t) || (!clocks && !strcmp(room[c].key, "clock")))
            room[c].title = NULL;
        buf_release(&cell);
    }
    t->columns = room;
}

static int are_apart(const struct origins *o)
{
    for (size_t i = 0; i < o->list.n; i++)
        if (o->list.a[i].clock > ORIGIN_CLOCK_BOOT)
            return 1;
    return 0;
}

/* The largest error there is, of clocks that are not one. */
static void put_clocks(const struct ranks *r, struct buf *out)
{
    const struct origins *o = &r->s->store.origins;
    uint64_t worst = 0;
    char error[32];

    for (size_t i = 0; i < o->list.n; i++)
        worst = o->list.a[i].error_ns > worst ? o->list.a[i].error_ns : worst;
    if (!are_apart(o))
        buf_addstr(out, "All times are of one clock.\n");
    else if (worst == ORIGIN_ERROR_UNKNOWN)
        buf_addstr(
            out,
            "Nothing bounds how far some clocks are apart: times of different hosts can't be compared; how "
            "long each waited can.\n");
    else
        buf_addf(out, "Times of different hosts may be off by %s.\n",
                 units_duration(error, sizeof(error), worst));
}

static void put_open(const struct ranks *r, struct buf *out)
{
    if (r->open)
        buf_addf(out, "%zu of the ranks' %ss went on when their recordings ended: left out.\n", r->open,
                 strtab_get(&r->units.strings, r->choice.kind));
}

enum { DID_NAMED = 3 };

/* "rank 2 on node1 came last in 9 of 10 steps, and the others waited 1.4 s for it: it was on CPU in f 92 %,
 * ..." */
static void put_straggler(const struct ranks *r, size_t rank, struct buf *out)
{
    size_t first = 0, n = 0;
    uint64_t sum = 0;
    char others[32];

    while (first < r->did.n && r->did.a[first].rank != rank)
        first++;
    while (first + n < r->did.n && r->did.a[first + n].rank == rank)
        sum += r->did.a[first + n++].ns;
    ranks_name(r, rank, out);
    if (r->kind)
        buf_addf(out, " came last in %llu of %zu %ss", (unsigned long long)r->last[rank], r->steps.n,
                 r->kind);
    else
        buf_addstr(out, " waited least");
    buf_addf(out, ", and the others waited %s for it",
             units_duration(others, sizeof(others), r->others[rank]));
    for (size_t i = 0; i < n && i < DID_NAMED && r->did.a[first + i].ns; i++) {
        struct buf did = {0};

        ranks_did_text(r, &r->did.a[first + i], &did);
        buf_addstr(out, i ? ", " : ": it was ");
        text_clean(did.data, 0, out);
        buf_addf(out, " (%.0f %%)", 100.0 * (double)r->did.a[first + i].ns / (double)sum);
        buf_release(&did);
    }
    buf_addch(out, '\n');
}

int show_ranks(const struct session *s, uint64_t top, const struct text_style *style, struct buf *out,
               struct err *e)
{
    size_t did = top && top < DID_SHOWN ? (size_t)top : top ? DID_SHOWN : 0;
    struct table_column *room;
    struct buf clocks = {0};
    struct ranks r;
    struct table t;

    if (find(&r, s, e))
        return -1;
    ranks_table(&t, &r);
    room = mem_alloc(t.ncolumns * sizeof(*room));
    leave_empty_out(&t, are_apart(&s->store.origins), room);
    put_heading("Ranks; off CPU, queued: of the thread that makes the steps; waited: for others; "
                "last: steps in which it came last; others: how long they waited then, in sum",
                style, out);
    text_table(&t, NULL, style, out);
    table_release(&t);
    free(room);
    buf_addch(out, '\n');
    for (size_t i = 0; i < r.waits.list.n; i++) {
        struct buf text = {0};

        if (!ranks_is_straggler(&r, i))
            continue;
        put_straggler(&r, i, &text);
        put_wrapped(text.data, style, out);
        buf_release(&text);
    }
    put_clocks(&r, &clocks);
    put_wrapped(buf_str(&clocks), style, out);
    buf_release(&clocks);
    put_open(&r, out);
    ranks_did_table(&t, &r, did);
    show_table_text(&t, "What those that came last did while at least half of the others waited", style, out);
    ranks_steps_table(&t, &r, (size_t)top);
    show_table_text(&t,
                    r.kind ? "Steps; own: not waiting for other ranks; imbalance: the most by the mean"
                           : "The whole time; own: not waiting for other ranks",
                    style, out);
    ranks_release(&r);
    return 0;
}

int show_ranks_json(const struct session *s, uint64_t top, struct json_writer *w, struct err *e)
{
    struct ranks r;
    struct table t;

    if (find(&r, s, e))
        return -1;
    ranks_table(&t, &r);
    show_table_json(&t, "ranks_compared", w);
    ranks_steps_table(&t, &r, (size_t)top);
    show_table_json(&t, "ranks_steps", w);
    json_str(w, "ranks_steps_kind", r.kind);
    json_u64(w, "ranks_steps_open", r.open);
    ranks_did_table(&t, &r, (size_t)top);
    show_table_json(&t, "ranks_did", w);
    json_array(w, "stragglers");
    for (size_t i = 0; i < r.waits.list.n; i++) {
        struct buf text = {0};

        if (!ranks_is_straggler(&r, i))
            continue;
        put_straggler(&r, i, &text);
        json_object(w, NULL);
        json_u64(w, "index", i); /* of ranks_compared */
        json_strn(w, "text", text.data, text.len - 1);
        json_end_object(w);
        buf_release(&text);
    }
    json_end_array(w);
    ranks_release(&r);
    return 0;
}
