/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank comes last, and what it does while the others wait. */
#include "merge_fixture.h"

#include "analyze/ranks.h"
#include "analyze/rule.h"

#include <math.h>

enum { RANKS = 4 };

struct merged {
    struct session one[RANKS], s;
    struct merge m;
};

static void merged_init(struct merged *x, int marks)
{
    for (unsigned r = 0; r < RANKS; r++)
        merge_fixture_rank(&x->one[r], r, r, marks);
    merge_fixture_merge(&x->m, x->one, RANKS, CLOCKS_BEST);
    x->s = (struct session){.path = (char *)"m", .meta = x->m.meta, .store = x->m.store};
}

static void merged_release(struct merged *x)
{
    x->m.store = x->s.store;
    merge_release(&x->m);
    for (unsigned r = 0; r < RANKS; r++)
        merge_fixture_release(&x->one[r]);
}

static const union table_cell *cell(const struct table *t, size_t row, const char *key)
{
    for (size_t i = 0; i < t->ncolumns; i++)
        if (!strcmp(t->columns[i].key, key))
            return &t->cells.a[row * t->ncolumns + i];
    fail_msg("no column %s", key);
    return NULL;
}

static void the_slow_rank_is_named(void **state)
{
    struct merged x;
    struct ranks r;
    struct table t;

    (void)state;
    merged_init(&x, 1);
    ranks_init(&r, &x.s);
    assert_string_equal(r.kind, "step");
    assert_int_equal(r.steps.n, MERGE_STEPS);
    ranks_table(&t, &r);
    assert_int_equal(table_rows(&t), RANKS);
    for (size_t i = 0; i < RANKS; i++) {
        int is_slow = i == MERGE_SLOW;

        assert_int_equal(cell(&t, i, "rank")->count, i);
        assert_int_equal(cell(&t, i, "steps")->count, MERGE_STEPS);
        assert_int_equal(cell(&t, i, "last")->count, is_slow ? MERGE_STEPS : 0);
        assert_int_equal(ranks_is_straggler(&r, i), is_slow);
        assert_int_equal(cell(&t, i, "cpu_ns")->count, 3);
        assert_true(is_slow == (cell(&t, i, "note")->text != NULL));
        if (!is_slow)
            assert_true(fabs((double)cell(&t, i, "waited_ns")->count - MERGE_STEPS * 79e6) <
                        MERGE_STEPS * 1e5);
    }
    assert_true(fabs((double)cell(&t, MERGE_SLOW, "others_waited_ns")->count - 3 * MERGE_STEPS * 79e6) <
                MERGE_STEPS * 1e5);
    table_release(&t);
    ranks_did_table(&t, &r, 0);
    assert_int_equal(cell(&t, 0, "rank")->count, MERGE_SLOW);
    assert_string_equal(cell(&t, 0, "state")->text, "on CPU");
    assert_string_equal(cell(&t, 0, "where")->text, "slow_transform");
    assert_true(cell(&t, 0, "share")->share > 0.97);
    table_release(&t);
    ranks_steps_table(&t, &r, 3);
    assert_int_equal(table_rows(&t), 3);
    assert_int_equal(t.left_out, MERGE_STEPS - 3);
    assert_string_equal(cell(&t, 0, "last")->text, "rank 2 on node2");
    assert_string_equal(cell(&t, 0, "did")->text, "on CPU in slow_transform");
    assert_true(fabs(cell(&t, 0, "imbalance")->share - (99.0 / ((99 + 3 * 20) / 4.0) - 1)) < 0.1);
    table_release(&t);
    ranks_release(&r);
    merged_release(&x);
}

/* No marks of barriers: a function's name tells, where waits are in one that communicates. */
/* Marks of another kind are barriers where merge was told so, and stay it when it is merged again. */
static void barriers_of_another_kind(void **state)
{
    const char *const kinds[] = {"sync"};
    const struct merge_opts opts = {.barriers = kinds, .nbarriers = 1};
    struct merged x;
    struct session again;
    struct merge m;
    struct ranks r;

    (void)state;
    for (unsigned k = 0; k < RANKS; k++) {
        struct store *st = &x.one[k].store;

        merge_fixture_rank(&x.one[k], k, 0, 1);
        for (size_t i = 0; i < st->events.n; i++)
            if (!strncmp(strtab_get(&st->strings, st->events.a[i].metric), "barrier ", 8))
                st->events.a[i].metric = strtab_add(&st->strings, "sync 1");
    }
    merge_fixture_merge_by(&x.m, x.one, RANKS, &opts);
    x.s = (struct session){.path = (char *)"m", .meta = x.m.meta, .store = x.m.store};
    merge_init(&m, &(struct merge_opts){0});
    ranks_init(&r, &x.s);
    assert_string_equal(r.kind, "step");
    assert_int_equal(r.last[MERGE_SLOW], MERGE_STEPS);
    assert_true(fabs((double)r.others[MERGE_SLOW] - 3 * MERGE_STEPS * 79e6) < MERGE_STEPS * 1e5);
    ranks_release(&r);
    again = (struct session){.meta = x.m.meta};
    x.m.meta = (struct meta){0};
    merge_know(&m, "m", &again.meta);
    merge_plan(&m, &(struct err){0});
    merge_about(&m);
    assert_int_equal(m.meta.barriers.n, 1);
    assert_string_equal(m.meta.barriers.a[0], "sync");
    merge_release(&m);
    merged_release(&x);
}

static void functions_of_communication_tell(void **state)
{
    struct merged x;
    struct ranks r;

    (void)state;
    merged_init(&x, 0);
    ranks_init(&r, &x.s);
    assert_int_equal(r.last[MERGE_SLOW], 0); /* steps are equally long, nobody is known to wait */
    assert_int_equal(r.others[MERGE_SLOW], 0);
    assert_false(ranks_is_straggler(&r, MERGE_SLOW));
    ranks_release(&r);
    for (size_t i = 0; i < x.s.store.frames.list.n; i++) {
        struct frame_name *n = &x.s.store.frames.names.a[x.s.store.frames.list.a[i].names];

        if (!strcmp(strtab_get(&x.s.store.strings, n->func), "meet"))
            n->func = strtab_add(&x.s.store.strings, "PMPI_Barrier");
    }
    ranks_init(&r, &x.s);
    assert_int_equal(r.last[MERGE_SLOW], MERGE_STEPS);
    assert_true(ranks_is_straggler(&r, MERGE_SLOW));
    ranks_release(&r);
    merged_release(&x);
}

/* What the rule of the report makes of it. */
static const struct check *late_rank(struct findings *f, const struct session *s)
{
    struct rule_settings set = {0};
    struct err e = {0};

    assert_int_equal(rule_only(&set, "late-rank", &e), 0);
    rules_run(f, s, NULL, &set);
    rule_settings_release(&set);
    for (size_t i = 0; i < f->checks.n; i++)
        if (!strcmp(f->checks.a[i].id, "late-rank"))
            return &f->checks.a[i];
    return NULL;
}

static void the_report_names_it(void **state)
{
    struct findings f = {0};
    struct merged x;

    (void)state;
    merged_init(&x, 1);
    assert_int_equal(late_rank(&f, &x.s)->state, CHECK_FOUND);
    assert_int_equal(f.list.n, 1);
    assert_string_equal(f.list.a[0].title, "The others wait for rank 2 on node2");
    assert_string_equal(f.list.a[0].device, "rank 2 on node2");
    assert_non_null(strstr(f.list.a[0].evidence, "slow_transform"));
    assert_int_equal(f.list.a[0].certainty, FINDING_MEASURED);
    /* 79 of 100 ms of each step, within what the last one waits and clocks are apart */
    assert_true(f.list.a[0].share > 0.7 && f.list.a[0].share < 0.82);
    findings_release(&f);
    merged_release(&x);
}

static void nobody_is_late(void **state)
{
    struct findings f = {0};
    struct merged x;

    (void)state;
    merged_init(&x, 0); /* nothing tells that anybody waits for others */
    assert_int_equal(late_rank(&f, &x.s)->state, CHECK_CLEAN);
    findings_release(&f);
    merged_release(&x);
    merge_fixture_rank(&x.one[0], 0, 0, 1);
    f = (struct findings){0};
    assert_int_equal(late_rank(&f, &x.one[0])->state, CHECK_NOT_DONE);
    findings_release(&f);
    merge_fixture_release(&x.one[0]);
}

/* The last step of all ranks is open: it ended with the programs, or was cut off by the recordings' ends. */
static void open_steps(int ended, size_t steps, size_t open)
{
    struct merged x;
    struct ranks r;

    merged_init(&x, 1);
    for (size_t i = 0; i < x.s.store.events.n; i++) {
        struct event *ev = &x.s.store.events.a[i];

        if (ev->kind == EVENT_MARKER && !strcmp(strtab_get(&x.s.store.strings, ev->metric), "step 19"))
            ev->flags |= EVENT_OPEN;
    }
    for (size_t i = 0; i < x.s.store.tasks.list.n; i++)
        x.s.store.tasks.list.a[i].last_ns = ended ? x.s.meta.end_mono : 0;
    ranks_init(&r, &x.s);
    assert_int_equal(r.steps.n, steps);
    assert_int_equal(r.open, open);
    ranks_release(&r);
    merged_release(&x);
}

static void a_programs_end_ends_its_step(void **state)
{
    (void)state;
    open_steps(1, MERGE_STEPS, 0);
    open_steps(0, MERGE_STEPS - 1, RANKS);
}

static void one_recording_has_no_ranks(void **state)
{
    struct session s;
    struct ranks r;

    (void)state;
    merge_fixture_rank(&s, 0, 0, 1);
    ranks_init(&r, &s);
    assert_int_equal(r.waits.list.n, 0);
    ranks_release(&r);
    merge_fixture_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slow_rank_is_named),
        cmocka_unit_test(the_report_names_it),
        cmocka_unit_test(nobody_is_late),
        cmocka_unit_test(barriers_of_another_kind),
        cmocka_unit_test(functions_of_communication_tell),
        cmocka_unit_test(a_programs_end_ends_its_step),
        cmocka_unit_test(one_recording_has_no_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
