/* SPDX-License-Identifier: Apache-2.0 */
#include "show_metrics.h"

#include "analyze/metrics_top.h"
#include "base/log.h"

#include <stdlib.h>

static void put(struct table *t, const char *heading, const struct text_style *style, struct buf *out)
{
    if (table_rows(t)) {
        if (out->len)
            buf_addch(out, '\n');
        text_table(t, heading, style, out);
    }
    table_release(t);
}

void show_metrics(const struct session *s, uint64_t top, const struct text_style *style, struct buf *out)
{
    struct metrics_sums sums;
    struct table t;

    metrics_sums_init(&sums, s);
    if (!sums.list.n)
        log_warn("no metrics were recorded (the collector metrics does; it is on unless record was told "
                 "otherwise)");
    metrics_table_machine(&t, &sums, 0);
    put(&t, "Machine: counters per second, a time as its share of one CPU or of all time", style, out);
    metrics_table_machine(&t, &sums, 1);
    put(&t, "Control groups of the target", style, out);
    metrics_table_processes(&t, &sums, top);
    put(&t, "Processes: what they used", style, out);
    metrics_table_threads(&t, &sums, top);
    put(&t, "Threads", style, out);
    metrics_sums_release(&sums);
}

static void put_json(struct table *t, const char *key, struct json_writer *w)
{
    char *left_out = mem_printf("%s_left_out", key);

    text_table_json(t, key, w);
    json_u64(w, left_out, t->left_out); /* by --top */
    table_release(t);
    free(left_out);
}

void show_metrics_json(const struct session *s, uint64_t top, struct json_writer *w)
{
    struct metrics_sums sums;
    struct table t;

    metrics_sums_init(&sums, s);
    metrics_table_all(&t, &sums);
    put_json(&t, "metrics", w);
    metrics_table_processes(&t, &sums, top);
    put_json(&t, "used_by_processes", w);
    metrics_table_threads(&t, &sums, top);
    put_json(&t, "used_by_threads", w);
    metrics_sums_release(&sums);
}
