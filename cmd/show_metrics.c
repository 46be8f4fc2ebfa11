/* SPDX-License-Identifier: Apache-2.0 */
#include "show_metrics.h"
#include "show_table.h"

#include "analyze/metrics_top.h"
#include "base/log.h"

void show_metrics(const struct session *s, uint64_t top, const struct text_style *style, struct buf *out)
{
    struct metrics_sums sums;
    struct table t;

    metrics_sums_init(&sums, s);
    if (!sums.list.n)
        log_warn("no metrics were recorded (the collector metrics does; it is on unless record was told "
                 "otherwise)");
    metrics_table_machine(&t, &sums, 0);
    show_table_text(&t, "Machine: counters per second, a time as its share of one CPU or of all time", style,
                    out);
    metrics_table_machine(&t, &sums, 1);
    show_table_text(&t, "Control groups of the target", style, out);
    metrics_table_processes(&t, &sums, top);
    show_table_text(&t, "Processes: what they used", style, out);
    metrics_table_threads(&t, &sums, top);
    show_table_text(&t, "Threads", style, out);
    metrics_sums_release(&sums);
}

void show_metrics_json(const struct session *s, uint64_t top, struct json_writer *w)
{
    struct metrics_sums sums;
    struct table t;

    metrics_sums_init(&sums, s);
    metrics_table_all(&t, &sums);
    show_table_json(&t, "metrics", w);
    metrics_table_processes(&t, &sums, top);
    show_table_json(&t, "used_by_processes", w);
    metrics_table_threads(&t, &sums, top);
    show_table_json(&t, "used_by_threads", w);
    metrics_sums_release(&sums);
}
