/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline through a session on disk. With WPROF_SESSION=DIR the session stays there: the command-line
 * tests export it. */
#include "timeline_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static void write_session(struct world *w, const char *dir)
{
    struct session_create how = {.dir = dir, .uid = (uid_t)-1, .gid = (gid_t)-1};
    struct err e = {0};
    struct session_writer *writer;

    w->s.meta.session_id = mem_strdup("20260716-153012-abc123");
    w->s.meta.schema_version = 1;
    w->s.meta.state = mem_strdup("recording");
    w->s.meta.start_ts = 1784215812;
    w->s.meta.realtime_offset = 1784215811000000000u;
    writer = session_create(&how, &w->s.store, &w->s.meta, &e);
    if (!writer || session_flush(writer, &e) || session_seal(writer, &w->s.meta, &e))
        fail_msg("%s", e.msg);
    session_writer_free(writer);
}

static void spans_come_through_the_log(void **state)
{
    const char *keep = getenv("WPROF_SESSION");
    char dir[] = "/tmp/wprof-timeline-XXXXXX", *path;
    struct timeline before, after;
    struct session s = {0};
    struct err e = {0};
    struct world w;

    assert_true(keep || mkdtemp(dir));
    path = keep ? mem_strdup(keep) : mem_printf("%s/session", dir);
    world_init(&w);
    world_run(&w);
    world_measure(&w);
    world_event(&w, EVENT_MARKER, w.main, 30, 40)->metric = world_string(&w, "</script> \"request\" 8");
    world_event(&w, EVENT_GIL, w.worker, 60, 10);
    timeline_build(&before, &w.s, &(struct timeline_opts){0});
    write_session(&w, path);
    if (session_open(&s, path, &e))
        fail_msg("%s", e.msg);
    timeline_build(&after, &s, &(struct timeline_opts){0});
    assert_int_equal(after.lanes.n, before.lanes.n);
    assert_int_equal(after.spans.n, before.spans.n);
    assert_int_equal(after.ticks.n, before.ticks.n);
    assert_int_equal(after.points.n, before.points.n);
    for (size_t i = 0; i < before.spans.n; i++) {
        assert_int_equal(after.spans.a[i].start, before.spans.a[i].start);
        assert_int_equal(after.spans.a[i].end, before.spans.a[i].end);
        assert_int_equal(after.spans.a[i].state, before.spans.a[i].state);
    }
    timeline_release(&before);
    timeline_release(&after);
    session_release(&s);
    world_release(&w);
    if (!keep) {
        char *cmd = mem_printf("rm -rf %s", dir);

        assert_int_equal(system(cmd), 0);
        free(cmd);
    }
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_come_through_the_log),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
