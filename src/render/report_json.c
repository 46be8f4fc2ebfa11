/* SPDX-License-Identifier: Apache-2.0 */
#include "render/report.h"

#include <math.h>

static void about(const struct report *r, struct json_writer *w)
{
    const struct meta *m = r->meta;

    json_str(w, "format", "wprof-report");
    json_u64(w, "version", 1);
    json_object(w, "session");
    json_str(w, "session_id", m->session_id);
    json_str(w, "workload", m->workload);
    json_array(w, "command");
    for (size_t i = 0; i < m->command.n; i++)
        json_str(w, NULL, m->command.a[i]);
    json_end_array(w);
    json_str(w, "host", m->host);
    json_str(w, "kind", m->kind);
    json_str(w, "tier", m->tier);
    json_f64(w, "start_ts", m->start_ts);
    json_f64(w, "duration_s", m->duration_s);
    json_i64(w, "exit_code", m->exit_code);
    json_str(w, "end_reason", m->end_reason);
    json_end_object(w);
    json_object(w, "quality");
    quality_json(r->quality, w);
    json_end_object(w);
}

static void parts(const struct report_part *a, size_t n, struct json_writer *w)
{
    json_array(w, "parts");
    for (size_t i = 0; i < n; i++) {
        json_object(w, NULL);
        json_str(w, "key", a[i].key);
        json_bool(w, "blocked", a[i].blocked);
        json_u64(w, "ns", a[i].ns);
        json_end_object(w);
    }
    json_end_array(w);
}

static void device_bars(const struct report *r, struct json_writer *w)
{
    json_array(w, "device_bars");
    for (size_t i = 0; i < r->devices.n; i++) {
        const struct report_device *d = &r->devices.a[i];

        json_object(w, NULL);
        json_str(w, "of", d->name);
        json_u64(w, "ns", d->ns);
        json_u64(w, "busy_ns", d->busy_ns);
        json_u64(w, "unseen_ns", d->unseen_ns);
        parts(d->parts.a, d->parts.n, w);
        json_end_object(w);
    }
    json_end_array(w);
    json_array(w, "idle_blame");
    for (size_t i = 0; i < r->blame.n; i++) {
        json_object(w, NULL);
        json_str(w, "state", r->blame.a[i].state);
        json_str(w, "where", r->blame.a[i].where);
        json_u64(w, "ns", r->blame.a[i].ns);
        json_end_object(w);
    }
    json_end_array(w);
}

static void programs(const struct report *r, struct json_writer *w)
{
    json_object(w, "cpus");
    json_bool(w, "whole_machine", r->whole_machine);
    json_u64(w, "ns", r->cpus_ns);
    json_u64(w, "used_ns", r->cpus_used_ns);
    json_array(w, "programs");
    for (size_t i = 0; i < r->programs.n; i++) {
        const struct report_program *p = &r->programs.a[i];

        json_object(w, NULL);
        json_str(w, "name", p->name);
        json_u64(w, "processes", p->processes);
        json_u64(w, "cpu_ns", p->cpu_ns);
        json_u64(w, "runq_ns", p->delay_ns);
        json_str(w, "where", p->where);
        json_f64(w, "where_share", p->where ? p->where_share : NAN);
        json_end_object(w);
    }
    json_end_array(w);
    json_end_object(w);
}

static void wall(const struct report *r, struct json_writer *w)
{
    json_object(w, "wall");
    json_str(w, "of", r->lead);
    json_u64(w, "ns", r->wall_ns);
    json_u64(w, "unseen_ns", r->unseen_ns);
    json_bool(w, "waits_measured", r->waits_measured);
    parts(r->wall.a, r->wall.n, w);
    json_end_object(w);
    programs(r, w);
    json_object(w, "workers");
    json_str(w, "of", r->crew);
    json_u64(w, "ns", r->crew_ns);
    json_u64(w, "idle_ns", r->crew_idle_ns);
    parts(r->crew_wall.a, r->crew_wall.n, w);
    json_end_object(w);
    device_bars(r, w);
}

static void stacks(const char *key, const struct report_stack *a, size_t n, struct json_writer *w)
{
    json_array(w, key);
    for (size_t i = 0; i < n; i++) {
        json_object(w, NULL);
        json_str(w, "text", a[i].text);
        json_u64(w, "value", a[i].value);
        json_end_object(w);
    }
    json_end_array(w);
}

static void environment(const struct meta *m, struct json_writer *w)
{
    json_object(w, "environment");
    json_str(w, "machine", m->machine);
    json_str(w, "kernel", m->kernel);
    json_str(w, "os", m->os);
    json_str(w, "cpu_model", m->cpu_model);
    json_u64(w, "ncpus", m->ncpus);
    json_str(w, "recorded_by", m->agent_ver);
    json_array(w, "variables");
    for (size_t i = 0; i < m->env.n; i++)
        json_str(w, NULL, m->env.a[i]);
    json_end_array(w);
    json_end_object(w);
}

void report_json(const struct report *r, struct json_writer *w)
{
    json_object(w, NULL);
    about(r, w);
    wall(r, w);
    findings_json(&r->findings, w);
    for (size_t i = 0; i < REPORT_TABLES; i++)
        if (table_rows(&r->sections[i].table))
            text_table_json(&r->sections[i].table, r->sections[i].key, w);
    json_str(w, "slow_units_text", r->slow_units);
    json_object(w, "folded");
    json_u64(w, "stacks", r->folded.stacks);
    json_u64(w, "samples", r->folded.samples);
    json_u64(w, "cuda_samples", r->folded.cuda);
    stacks("top_stacks", r->folded.top.a, r->folded.top.n, w);
    stacks("top_leaves", r->folded.leaves.a, r->folded.leaves.n, w);
    json_end_object(w);
    json_object(w, "topology");
    json_u64(w, "nodes", r->nodes);
    json_u64(w, "edges", r->edges);
    json_u64(w, "processes", r->processes);
    json_end_object(w);
    environment(r->meta, w);
    json_end_object(w);
}
