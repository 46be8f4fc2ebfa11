/* SPDX-License-Identifier: Apache-2.0 */
/* One session of many: whose tasks are whose, what is shared, and how far clocks are apart. */
#include "merge_fixture.h"

#include "base/io.h"
#include "model/metrics.h"
#include "model/store_compact.h"
#include "model/store_log.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { RANKS = 6 };

/* Two ranks a host. */
static void make(struct session *s, int marks)
{
    for (unsigned r = 0; r < RANKS; r++)
        merge_fixture_rank(&s[r], r, r / 2, marks);
}

static void release(struct merge *m, struct session *s)
{
    merge_release(m);
    for (unsigned r = 0; r < RANKS; r++)
        merge_fixture_release(&s[r]);
}

static uint64_t off_by(int64_t found, int64_t truth)
{
    return (uint64_t)llabs(found - truth);
}

/* ---- clocks ---- */

static void barriers_tell_clocks(void **state)
{
    struct session s[RANKS];
    struct merge m;

    (void)state;
    make(s, 1);
    merge_fixture_merge(&m, s, RANKS, CLOCKS_BEST);
    assert_int_equal(m.domains.n, 3);
    for (size_t d = 1; d < m.domains.n; d++) {
        const struct clocks_offset *o = &m.domains.a[d].offset;

        assert_int_equal(o->clock, ORIGIN_CLOCK_BARRIERS);
        assert_true(o->error < 100000);
        assert_true(off_by(o->ns, -merge_ahead[d]) <= o->error);
        assert_false(o->contradict);
    }
    assert_true(off_by((int64_t)m.meta.start_mono, (int64_t)m.parts.a[0].meta.start_mono) < 100000);
    assert_true(fabs(m.meta.duration_s - 2) < 0.001);
    release(&m, s);
}

static void without_evidence_wall_clocks_do(void **state)
{
    struct session s[RANKS];
    struct merge m;

    (void)state;
    make(s, 0);
    merge_fixture_merge(&m, s, RANKS, CLOCKS_BEST);
    for (size_t d = 1; d < m.domains.n; d++) {
        assert_int_equal(m.domains.a[d].offset.clock, ORIGIN_CLOCK_WALL);
        assert_true(m.domains.a[d].offset.error == ORIGIN_ERROR_UNKNOWN);
        assert_int_equal(m.domains.a[d].offset.ns, -merge_ahead[d]);
    }
    release(&m, s);
}

/* Sent at `sent` by the true time, on its way for `ns`. */
static void message(struct clocks *c, const char *name, unsigned from, unsigned to, uint64_t sent,
                    uint64_t ns)
{
    clocks_message(c, name, from, 0, sent + (uint64_t)merge_ahead[from]);
    clocks_message(c, name, to, 1, sent + ns + (uint64_t)merge_ahead[to]);
}

static void messages_enclose_clocks(void **state)
{
    static const int64_t wall[4] = {0};
    static const int dated[4] = {1, 1, 1, 1};
    struct clocks_offset o[4];
    struct clocks c = {0};

    (void)state;
    /* 0 and 1 talk, 1 and 2: none of 0 and 2. 3 only hears. */
    message(&c, "a", 0, 1, 4000000 * MS, 90000);
    message(&c, "b", 1, 0, 4000001 * MS, 30000);
    message(&c, "c", 1, 2, 4000002 * MS, 50000);
    message(&c, "d", 2, 1, 4000003 * MS, 10000);
    message(&c, "e", 0, 3, 4000004 * MS, 10000);
    clocks_solve(&c, CLOCKS_BEST, 4, wall, dated, o);
    for (unsigned d = 1; d < 3; d++) {
        assert_int_equal(o[d].clock, ORIGIN_CLOCK_SOCKETS);
        assert_true(off_by(o[d].ns, -merge_ahead[d]) <= o[d].error);
        assert_true(o[d].error <= 50000 * d + (d == 1 ? 60001 : 90001));
    }
    assert_int_equal(o[3].clock, ORIGIN_CLOCK_WALL);
    /* What comes before it was sent: one of the clocks was set. */
    message(&c, "f", 1, 0, 4000005 * MS, (uint64_t)-5000000);
    clocks_solve(&c, CLOCKS_BEST, 4, wall, dated, o);
    assert_true(o[1].contradict);
    assert_true(o[1].error >= 1900000);
    clocks_release(&c);
}

/* ---- tasks ---- */

static void equal_pids_are_different_tasks(void **state)
{
    struct session s[RANKS];
    unsigned jobs = 0;
    struct merge m;

    (void)state;
    make(s, 1);
    merge_fixture_merge(&m, s, RANKS, CLOCKS_BEST);
    assert_int_equal(m.store.origins.list.n, RANKS + m.hosts.n); /* each host's own, too */
    for (size_t i = 0; i < m.store.tasks.list.n; i++) {
        const struct task *t = &m.store.tasks.list.a[i];
        const struct origin *o = origins_get(&m.store.origins, t->origin);
        char *name = origins_task_name(&m.store, t, "?"), wanted[32];

        assert_non_null(o);
        if (t->pid == MERGE_PID) {
            jobs++;
            assert_int_equal(o->task, i + 1);
            snprintf(wanted, sizeof(wanted), "job [node%u rank %u]", (o->rank - 1) / 2, o->rank - 1);
            assert_string_equal(name, wanted);
        }
        free(name);
    }
    assert_int_equal(jobs, RANKS);
    release(&m, s);
}

/* A waker that the one recording only names is the task of the other one. */
static void a_thread_of_two_recordings_is_one(void **state)
{
    struct session s[RANKS];
    struct merge m;
    struct wait w = {.reason = WAIT_SOCKET};
    const struct task *waker = NULL;

    (void)state;
    make(s, 1);
    /* Rank 0 names rank 1's thread, rank 2 one that nobody recorded; rank 4 one that looks like rank 1's. */
    for (unsigned r = 0; r < RANKS; r += 2) {
        struct store *st = &s[r].store;
        struct task t = {.pid = r == 2 ? 17 : MERGE_PID + 0, .start_ns = 5 + 1, .ns_pid = 1};

        t.tid = t.pid;
        w.waker_task = tasks_add(&st->tasks, &t);
        merge_fixture_event(st, EVENT_OFFCPU, 1, st->events.a[0].ts, 1)->attr = waits_add(&st->waits, &w);
        store_events_sort(st->events.a, st->events.n, 1);
    }
    /* It had executed another program before. */
    s[1].store.tasks.list.a[0].image = 1;
    *vec_push(&s[1].store.tasks.list) = s[1].store.tasks.list.a[0];
    s[1].store.tasks.list.a[1].image = 2;
    s[1].store.tasks.list.a[1].leader = 2;
    for (size_t i = 0; i < s[1].store.events.n; i++)
        s[1].store.events.a[i].task = s[1].store.events.a[i].task ? 2 : 0;
    merge_fixture_merge(&m, s, RANKS, CLOCKS_BEST);
    for (size_t i = 0; i < m.store.events.n; i++) {
        const struct event *ev = &m.store.events.a[i];
        const struct wait *x = ev->kind == EVENT_OFFCPU ? waits_get(&m.store.waits, ev->attr) : NULL;
        uint32_t rank = origins_get(&m.store.origins, m.store.tasks.list.a[ev->task - 1].origin)->rank;

        if (!x || !x->waker_task)
            continue;
        waker = &m.store.tasks.list.a[x->waker_task - 1];
        if (rank == 1) {
            assert_int_equal(origins_get(&m.store.origins, waker->origin)->rank, 2);
        } else {
            assert_int_equal(origins_get(&m.store.origins, waker->origin)->rank, 0);
            assert_int_equal(origins_get(&m.store.origins, waker->origin)->session, 0);
        }
    }
    assert_non_null(waker);
    release(&m, s);
}

/* ---- what is shared, and what is not lost ---- */

static void equal_stacks_are_there_once(void **state)
{
    struct session s[RANKS];
    struct merge m;
    uint64_t samples = 0, metrics = 0, all = 0;
    unsigned named = 0;

    (void)state;
    make(s, 1);
    for (unsigned r = 0; r < RANKS; r++)
        all += s[r].store.events.n;
    merge_fixture_merge(&m, s, RANKS, CLOCKS_BEST);
    /* main, compute, slow_transform, meet; what has no build id is another one on each of the three hosts. */
    assert_int_equal(m.store.frames.list.n, 4 + 3);
    assert_int_equal(m.store.stacks.nodes.n, 4 + 3);
    for (uint32_t id = 1; id <= m.store.frames.list.n; id++) {
        const struct frame *f = frames_get(&m.store.frames, id);

        named += !strncmp(strtab_get(&m.store.strings, m.store.frames.names.a[f->names].func), "only_on_", 8);
    }
    assert_int_equal(named, 3);
    assert_int_equal(m.store.events.n, all - (RANKS - m.hosts.n)); /* a host's figures are there once */
    assert_int_equal(m.left.readings, RANKS - m.hosts.n);
    for (size_t i = 0; i < m.store.events.n; i++) {
        const struct event *ev = &m.store.events.a[i];

        samples += ev->kind == EVENT_SAMPLE;
        metrics += ev->kind == EVENT_METRIC && ev->task &&
                   !m.store.tasks.list.a[ev->task - 1].pid; /* of the host's task */
    }
    assert_int_equal(samples, RANKS * MERGE_STEPS * 21 + MERGE_STEPS * 79);
    assert_int_equal(metrics, m.hosts.n);
    assert_int_equal(store_counter(&m.store, "cpu.taken", 0), RANKS * 100);
    assert_int_equal(store_counter(&m.store, "own.rss_max", 0), 1000 + RANKS - 1);
    merge_sums(&m);
    for (size_t i = samples = 0; i < m.store.events.n; i++)
        samples += m.store.events.a[i].value;
    assert_int_equal(samples, RANKS * MERGE_STEPS * 21 + MERGE_STEPS * 79);
    release(&m, s);
}

static void devices_of_hosts_stay_apart(void **state)
{
    struct session s[RANKS];
    struct merge m;

    (void)state;
    make(s, 1);
    for (unsigned r = 0; r < RANKS; r++) {
        struct store *st = &s[r].store;
        struct gpu_work w = {.name = strtab_add(&st->strings, "gemm"), .device = 1, .op = GPU_KERNEL};

        merge_fixture_event(st, EVENT_GPU, 0, st->events.a[st->events.n - 1].ts, MS)->attr =
            gpu_works_add(&st->gpus, &w);
    }
    merge_fixture_merge(&m, s, RANKS, CLOCKS_BEST);
    assert_int_equal(m.store.gpus.list.n, RANKS);
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(m.store.gpus.list.a[r].rank, r + 1);
    release(&m, s);
}

static void numbered_where_no_rank_is_told(void **state)
{
    struct session s[RANKS];
    struct merge m;

    (void)state;
    make(s, 1);
    free(s[3].meta.env.a[0]);
    s[3].meta.env.n = 0;
    merge_fixture_merge(&m, s, RANKS, CLOCKS_BEST);
    assert_true(m.numbered);
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(m.parts.a[r].rank, r);
    release(&m, s);
}

static void twice_the_same_is_refused(void **state)
{
    struct session s[2];
    struct merge m;
    struct err e;

    (void)state;
    merge_fixture_rank(&s[0], 0, 0, 1);
    merge_fixture_rank(&s[1], 0, 0, 1);
    merge_init(&m, &(struct merge_opts){0});
    merge_know(&m, "a", &s[0].meta);
    merge_know(&m, "b", &s[1].meta);
    assert_int_equal(merge_plan(&m, &e), -1);
    assert_non_null(strstr(e.msg, "b: session 20260101-000000-000000"));
    merge_release(&m);
    merge_fixture_release(&s[0]);
    merge_fixture_release(&s[1]);
}

/* ---- on disk ---- */

static void check_written(struct store *from, size_t origins)
{
    struct store_load load;
    struct store_log log;
    struct store read = {0};
    struct err e;
    FILE *f = tmpfile();

    assert_non_null(f);
    tasks_touch_all(&from->tasks);
    assert_int_equal(store_log_create(&log, fileno(f), 1, 1, &e), 0);
    assert_int_equal(store_log_flush(&log, from, 1, &e), 0);
    assert_int_equal(store_log_end(&log, from, &e), 0);
    store_log_release(&log);
    assert_int_equal(store_log_load(&read, fileno(f), NULL, 0, &load, &e), 0);
    assert_true(load.ended);
    assert_int_equal(load.skipped_blocks, 0);
    assert_int_equal(read.origins.list.n, origins);
    assert_int_equal(read.tasks.list.n, from->tasks.list.n);
    for (size_t i = 0; i < read.tasks.list.n; i++)
        assert_int_equal(read.tasks.list.a[i].origin, from->tasks.list.a[i].origin);
    for (size_t i = 0; i < origins; i++) {
        const struct origin *a = &read.origins.list.a[i], *b = &from->origins.list.a[i];

        assert_string_equal(strtab_get(&read.strings, a->host), strtab_get(&from->strings, b->host));
        assert_int_equal(a->rank, b->rank);
        assert_int_equal(a->task, b->task);
        assert_int_equal(a->clock, b->clock);
        assert_true(a->offset_ns == b->offset_ns && a->error_ns == b->error_ns);
        assert_true(a->start_ns == b->start_ns && a->end_ns == b->end_ns);
    }
    store_release(&read);
    fclose(f);
}

/* Four recordings of one boot, merged two by two and then all: as if they were merged at once. */
static void merged_of_merged_is_the_same(void **state)
{
    struct session s[RANKS], half[2];
    struct merge m, first[2];
    size_t all = 0;

    (void)state;
    for (unsigned r = 0; r < 4; r++) {
        struct task t = {.pid = MERGE_PID, .tid = MERGE_PID, .start_ns = 5 + (r + 1) % 4, .ns_pid = 1};
        struct wait w = {.reason = WAIT_SOCKET};
        struct store *st = &s[r].store;
        struct event *ev;

        merge_fixture_rank(&s[r], r, 0, 1);
        w.waker_task = tasks_add(&st->tasks, &t); /* the next rank's */
        ev = merge_fixture_event(st, EVENT_OFFCPU, 1, st->events.a[0].ts, 1);
        ev->attr = waits_add(&st->waits, &w);
        ev = merge_fixture_event(st, EVENT_METRIC, 0, st->events.a[0].ts + (200 + r) * MS, MS);
        ev->metric = strtab_add(&st->strings, "cpu.user");
        all += st->events.n;
        store_events_sort(st->events.a, st->events.n, 1);
    }
    for (unsigned k = 0; k < 2; k++) {
        merge_fixture_merge(&first[k], s + 2 * k, 2, CLOCKS_BEST);
        half[k] = (struct session){
            .path = (char *)"h", .sealed = 1, .meta = first[k].meta, .store = first[k].store};
        half[k].meta.session_id = mem_strdup(k ? "b" : "a");
    }
    merge_fixture_merge(&m, half, 2, CLOCKS_BEST);
    assert_int_equal(m.store.tasks.list.n, 1 + 4); /* the machine, and who ran */
    assert_int_equal(m.store.events.n, all - 3);   /* what the others have read at the time */
    for (size_t i = 0; i < m.store.tasks.list.n; i++)
        assert_true(m.store.tasks.list.a[i].tid
                        ? origins_get(&m.store.origins, m.store.tasks.list.a[i].origin)->rank
                        : !origins_get(&m.store.origins, m.store.tasks.list.a[i].origin)->rank);
    merge_release(&m);
    for (unsigned k = 0; k < 2; k++) {
        first[k].meta = (struct meta){0};
        first[k].store = half[k].store;
        merge_release(&first[k]);
    }
    for (unsigned r = 0; r < 4; r++)
        merge_fixture_release(&s[r]);
}

/* Three ranks, two of them in one control group: its figures are there once, the third's beside. */
static void a_control_group_is_there_once(void **state)
{
    static const uint64_t numbers[] = {77, 77, 78};
    struct session s[RANKS];
    size_t sums[RANKS] = {0}, all = 0;
    struct merge m;

    (void)state;
    for (unsigned r = 0; r < 3; r++) {
        struct store *st = &s[r].store;

        merge_fixture_rank(&s[r], r, 0, 1);
        for (unsigned k = 0; k < 2; k++)
            merge_fixture_event(st, EVENT_METRIC, 1, st->events.a[0].ts + (200 + 10 * k + r) * MS, 10 * MS)
                ->metric = strtab_add(&st->strings, k ? "cgroup.memory" : "cpu.user");
        store_set_counter(st, METRICS_GROUP_COUNTER "1", numbers[r]);
        store_events_sort(st->events.a, st->events.n, 1);
    }
    merge_fixture_merge(&m, s, 3, CLOCKS_BEST);
    for (size_t i = 0; i < m.store.events.n; i++) {
        const struct event *ev = &m.store.events.a[i];

        if (ev->kind == EVENT_METRIC && !strcmp(strtab_get(&m.store.strings, ev->metric), "cgroup.memory")) {
            sums[origins_get(&m.store.origins, m.store.tasks.list.a[ev->task - 1].origin)->rank - 1]++;
            all++;
        }
    }
    assert_int_equal(all, 2);
    assert_int_equal(sums[0], 1);
    assert_int_equal(sums[2], 1);
    assert_int_equal(store_counter(&m.store, METRICS_GROUP_COUNTER "1", 0), 0);
    merge_release(&m);
    for (unsigned r = 0; r < 3; r++)
        merge_fixture_release(&s[r]);
}

static void origins_are_kept(void **state)
{
    struct session s[RANKS];
    struct store small = {0};
    struct merge m;

    (void)state;
    make(s, 1);
    merge_fixture_merge(&m, s, RANKS, CLOCKS_BEST);
    check_written(&m.store, RANKS + m.hosts.n);
    store_compact(&small, &m.store);
    check_written(&small, RANKS + m.hosts.n);
    store_release(&small);
    store_compact_used(&small, &m.store);
    check_written(&small, RANKS + m.hosts.n);
    store_release(&small);
    release(&m, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_tell_clocks),
        cmocka_unit_test(without_evidence_wall_clocks_do),
        cmocka_unit_test(messages_enclose_clocks),
        cmocka_unit_test(equal_pids_are_different_tasks),
        cmocka_unit_test(a_thread_of_two_recordings_is_one),
        cmocka_unit_test(equal_stacks_are_there_once),
        cmocka_unit_test(devices_of_hosts_stay_apart),
        cmocka_unit_test(numbered_where_no_rank_is_told),
        cmocka_unit_test(twice_the_same_is_refused),
        cmocka_unit_test(merged_of_merged_is_the_same),
        cmocka_unit_test(a_control_group_is_there_once),
        cmocka_unit_test(origins_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
