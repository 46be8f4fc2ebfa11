/* SPDX-License-Identifier: Apache-2.0 */
#include "model/report.h"

#include "base/mem.h"
#include "base/units.h"

#include <stdlib.h>

static void release_stacks(struct report_stack *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(a[i].text);
}

void report_release(struct report *r)
{
    findings_release(&r->findings);
    free(r->lead);
    free(r->crew);
    free(r->slow_units);
    comparison_release(&r->slow);
    vec_release(&r->wall);
    for (size_t i = 0; i < r->programs.n; i++) {
        free(r->programs.a[i].name);
        free(r->programs.a[i].where);
    }
    vec_release(&r->programs);
    vec_release(&r->crew_wall);
    for (size_t i = 0; i < r->devices.n; i++) {
        free(r->devices.a[i].name);
        vec_release(&r->devices.a[i].parts);
    }
    vec_release(&r->devices);
    for (size_t i = 0; i < r->blame.n; i++) {
        free(r->blame.a[i].state);
        free(r->blame.a[i].where);
    }
    vec_release(&r->blame);
    for (size_t i = 0; i < REPORT_TABLES; i++)
        table_release(&r->sections[i].table);
    release_stacks(r->folded.top.a, r->folded.top.n);
    release_stacks(r->folded.leaves.a, r->folded.leaves.n);
    vec_release(&r->folded.top);
    vec_release(&r->folded.leaves);
}

void report_programs_words(const struct report *r, struct buf *out)
{
    const struct meta *m = r->meta;
    uint64_t wall = m->end_mono > m->start_mono ? m->end_mono - m->start_mono : 0;
    char a[40], b[40];

    buf_addstr(out, units_duration(a, sizeof(a), r->cpus_used_ns));
    if (r->whole_machine)
        buf_addf(out, " of the %s of %u CPU%s", units_duration(b, sizeof(b), r->cpus_ns), m->ncpus,
                 m->ncpus == 1 ? "" : "s");
    else if (wall)
        buf_addf(out, " of CPU time, %.1f CPUs on average", (double)r->cpus_used_ns / (double)wall);
    else
        buf_addstr(out, " of CPU time");
}

void report_no_findings(const struct report *r, struct buf *out)
{
    const struct findings *f = &r->findings;
    size_t clean = findings_count(f, CHECK_CLEAN), lacking = findings_count(f, CHECK_NOT_DONE);

    if (!clean)
        buf_addstr(out, "Nothing could be looked for: the session has no data for it.");
    else if (lacking > clean)
        buf_addf(out,
                 "But only %zu of %zu rules could be checked, and found nothing: for the others the session "
                 "has no data.",
                 clean, clean + lacking);
    else
        buf_addstr(out, "Nothing of what was looked for is there.");
}

char *report_checked(const struct report *r)
{
    const struct findings *f = &r->findings;
    size_t left = findings_count(f, CHECK_LEFT_OUT), n = f->checks.n - left;

    return mem_printf(
        "%zu rule%s: %zu found something, %zu did not, %zu could not be checked for want of data", n,
        n == 1 ? "" : "s", findings_count(f, CHECK_FOUND), findings_count(f, CHECK_CLEAN),
        findings_count(f, CHECK_NOT_DONE));
}
