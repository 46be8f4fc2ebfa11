/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder from the gate to the sealed session, with collectors that invent their samples. Each recording
 * runs in a process of its own, as it does in earnest. */
#include "base/io.h"
#include "model/session.h"
#include "record/collectors.h"
#include "record/recorder.h"
#include "record/summary.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/wprof-record-XXXXXX";

static const char *in_dir(const char *name)
{
    static char path[8][256];
    static int i;

    i = (i + 1) % 8;
    snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
    return path[i];
}

/* ---- collectors ---- */

struct collector {
    struct record_ctx *ctx;
    uint32_t task, stack;
    int fd;
    uint64_t polls;
};

static struct collector *fake_open(struct record_ctx *ctx, struct err *e)
{
    struct collector *c = mem_calloc(1, sizeof(*c));
    struct task t = {.pid = 100, .tid = 100, .comm = strtab_add(&ctx->store->strings, "fake")};
    struct frame f = {.kind = FRAME_PYTHON,
                      .func = strtab_add(&ctx->store->strings, "work"),
                      .file = strtab_add(&ctx->store->strings, "/src/work.py"),
                      .line = 7};
    struct itimerspec every = {{0, 5000000}, {0, 5000000}};

    c->ctx = ctx;
    c->task = tasks_add(&ctx->store->tasks, &t);
    tasks_get(&ctx->store->tasks, c->task)->leader = c->task;
    c->stack = stacks_push(&ctx->store->stacks, 0, frames_add(&ctx->store->frames, &f));
    c->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    timerfd_settime(c->fd, 0, &every, NULL);
    return c;
}

static struct collector *fake_cannot_open(struct record_ctx *ctx, struct err *e)
{
    err_set(e, "no such thing here");
    return NULL;
}

static int fake_start(struct collector *c, struct err *e)
{
    return 0;
}

static int fake_cannot_start(struct collector *c, struct err *e)
{
    return err_set(e, "does not start");
}

static int fake_fd(struct collector *c)
{
    return c->fd;
}

static int fake_no_fd(struct collector *c)
{
    return -1;
}

static int fake_poll(struct collector *c, struct err *e)
{
    uint64_t ticks;

    if (read(c->fd, &ticks, sizeof(ticks)) != sizeof(ticks))
        return 0;
    c->polls++;
    *vec_push(&c->ctx->store->events) = (struct event){.ts = c->ctx->now(),
                                                       .value = 1,
                                                       .task = c->task,
                                                       .stack = c->stack,
                                                       .kind = EVENT_SAMPLE,
                                                       .flags = EVENT_ROOT};
    return 0;
}

static int fake_poll_fails(struct collector *c, struct err *e)
{
    fake_poll(c, e);
    return c->polls > 3 ? err_set(e, "ring lost") : 0;
}

/* Names that differ each time, so that the log grows. */
static int fake_poll_grows(struct collector *c, struct err *e)
{
    char name[65];

    for (int i = 0; i < 2000; i++) {
        for (int j = 0; j < 64; j++)
            name[j] = (char)('a' + random() % 26);
        name[64] = '\0';
        strtab_add(&c->ctx->store->strings, name);
    }
    return fake_poll(c, e);
}

/* More than sealing holds in memory. */
static int fake_poll_floods(struct collector *c, struct err *e)
{
    struct event ev = {
        .ts = c->ctx->now(), .value = 1, .task = c->task, .stack = c->stack, .kind = EVENT_SAMPLE};

    if (c->polls > 1200000)
        return 0;
    for (int i = 0; i < 400000; i++, ev.ts++) {
        ev.flags = i % 4 ? EVENT_ROOT : 0;
        *vec_push(&c->ctx->store->events) = ev;
    }
    c->polls += 400000;
    return 0;
}

static void fake_counters(struct collector *c)
{
    store_set_counter(c->ctx->store, "cpu.taken", c->polls);
    store_set_counter(c->ctx->store, "cpu.expected", c->polls);
}

static int fake_stop(struct collector *c, struct err *e)
{
    fake_counters(c);
    return 0;
}

static const char *fake_detail(struct collector *c)
{
    return "invented";
}

static void fake_free(struct collector *c)
{
    close(c->fd);
    free(c);
}

#define FAKE(ident, NAME, OPEN, START, FD, POLL)                                                             \
    static const struct collector_ops ident = {                                                              \
        .name = NAME,                                                                                        \
        .on_by_default = 1,                                                                                  \
        .open = OPEN,                                                                                        \
        .start = START,                                                                                      \
        .fd = FD,                                                                                            \
        .poll = POLL,                                                                                        \
        .stop = fake_stop,                                                                                   \
        .counters = fake_counters,                                                                           \
        .detail = fake_detail,                                                                               \
        .free = fake_free,                                                                                   \
    };

FAKE(good, "good", fake_open, fake_start, fake_fd, fake_poll)
FAKE(by_time, "by-time", fake_open, fake_start, fake_no_fd, fake_poll)
FAKE(no_open, "no-open", fake_cannot_open, fake_start, fake_fd, fake_poll)
FAKE(no_start, "no-start", fake_open, fake_cannot_start, fake_fd, fake_poll)
FAKE(failing, "failing", fake_open, fake_start, fake_fd, fake_poll_fails)
FAKE(growing, "growing", fake_open, fake_start, fake_fd, fake_poll_grows)
FAKE(flooding, "flooding", fake_open, fake_start, fake_fd, fake_poll_floods)

/* ---- running ---- */

#define ARGS(...) ((char *const[]){__VA_ARGS__, NULL})
#define WITH(...)                                                                                            \
    .collectors = (const struct collector_ops *const[]){__VA_ARGS__},                                        \
    .ncollectors = sizeof((const struct collector_ops *const[]){__VA_ARGS__}) / sizeof(void *)

static pid_t start(const struct recorder_opts *o)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (!pid) {
        struct err e = {0};
        int fd = open(in_dir("log"), O_WRONLY | O_CREAT | O_TRUNC, 0600), code;

        dup2(fd, STDERR_FILENO);
        code = recorder_run(o, &e);
        dprintf(STDERR_FILENO, "%s\n", e.msg);
        _exit(code);
    }
    return pid;
}

static int finish(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int go(const struct recorder_opts *o)
{
    return finish(start(o));
}

static void assert_log(const char *text)
{
    char log[4096] = "";
    int fd = open(in_dir("log"), O_RDONLY);

    assert_true(read(fd, log, sizeof(log) - 1) >= 0);
    close(fd);
    if (!strstr(log, text))
        print_error("no '%s' in: %s\n", text, log);
    assert_non_null(strstr(log, text));
}

static void open_session(struct session *s, const char *path)
{
    struct err e = {0};

    if (session_open(s, path, &e))
        print_error("%s\n", e.msg);
    assert_string_equal(e.msg, "");
}

static int exists(const char *path)
{
    return !access(path, F_OK);
}

/* Waits until something holds; the limit only keeps a broken recorder from hanging the tests. */
#define WAIT_FOR(cond)                                                                                       \
    do {                                                                                                     \
        int left_ = 1000;                                                                                    \
        while (!(cond) && left_-- > 0)                                                                       \
            usleep(10000);                                                                                   \
        assert_true(left_ > 0);                                                                              \
    } while (0)

/* ---- tests ---- */

static void test_command(void **state)
{
    const char *path = in_dir("command");
    struct recorder_opts o = {.dir = path,
                              .frequency = 99,
                              .argv = ARGS("sh", "-c", "sleep 0.3; exit 7", "--token=x"),
                              WITH(&good)};
    struct session s;
    struct stat st;

    assert_int_equal(go(&o), 7);
    open_session(&s, path);
    assert_true(s.sealed);
    assert_string_equal(s.meta.state, "sealed");
    assert_string_equal(s.meta.end_reason, "command ended");
    assert_int_equal(s.meta.exit_code, 7);
    assert_string_equal(s.meta.command.a[3], "--token=[redacted]");
    assert_string_equal(s.meta.collectors.a[0].state, "on");
    assert_string_equal(s.meta.collectors.a[0].detail, "invented");
    assert_string_equal(s.meta.languages.a[0], "python");
    assert_true(s.meta.duration_s > 0.25);
    assert_true(s.meta.end_mono > s.meta.start_mono);
    assert_true(s.store.events.n > 3);
    assert_int_equal(store_counter(&s.store, "cpu.taken", 0), s.store.events.n);
    assert_true(store_counter(&s.store, "own.rss_max", 0) > 0);
    session_release(&s);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

static void test_signal_of_command(void **state)
{
    struct recorder_opts o = {
        .dir = in_dir("killed"), .argv = ARGS("sh", "-c", "kill -KILL $$"), WITH(&good)};

    assert_int_equal(go(&o), 128 + SIGKILL);
}

static void test_nothing_can_be_recorded(void **state)
{
    const char *path = in_dir("none"), *mark = in_dir("none-ran");
    struct recorder_opts o = {.dir = path, .argv = ARGS("touch", (char *)mark), WITH(&no_open, &no_start)};

    assert_int_equal(go(&o), 125);
    assert_log("was not started");
    assert_false(exists(mark));
    assert_false(exists(path));
    o.keep_going = 1;
    assert_int_equal(go(&o), 0);
    assert_true(exists(mark));
}

static void test_one_is_left_out(void **state)
{
    const char *path = in_dir("some");
    struct recorder_opts o = {.dir = path, .argv = ARGS("sleep", "0.1"), WITH(&no_open, &good, &no_start)};
    struct session s;

    assert_int_equal(go(&o), 0);
    assert_log("collector no-open is left out: no such thing here");
    open_session(&s, path);
    assert_string_equal(s.meta.collectors.a[0].state, "failed");
    assert_string_equal(s.meta.collectors.a[0].detail, "no such thing here");
    assert_string_equal(s.meta.collectors.a[1].state, "on");
    assert_string_equal(s.meta.collectors.a[2].state, "failed");
    session_release(&s);
}

static void test_choice(void **state)
{
    struct recorder_opts o = {
        .dir = in_dir("choice"), .argv = ARGS("true"), .collect = "goof", WITH(&good, &by_time)};

    assert_int_equal(go(&o), 125);
    assert_log("did you mean 'good'");
    o.collect = NULL;
    o.without = "good,by-time";
    assert_int_equal(go(&o), 125);
    assert_log("no collector is left");
    o.without = "good";
    assert_int_equal(go(&o), 0);
}

static void test_cannot_run(void **state)
{
    const char *path = in_dir("cannot");
    struct recorder_opts o = {.dir = path, .argv = ARGS("no-such-command-here"), WITH(&good)};
    int fd = open(in_dir("bad"), O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

    assert_int_equal(go(&o), 127);
    assert_int_equal(write(fd, "#!/no/interpreter\n", 18), 18);
    close(fd);
    o.argv = ARGS((char *)in_dir("bad"));
    assert_int_equal(go(&o), 126);
    assert_false(exists(path));
}

static void test_duration(void **state)
{
    const char *path = in_dir("duration");
    struct recorder_opts o = {.dir = path,
                              .window.duration = 200000000,
                              .argv = ARGS("sh", "-c", "sleep 1.2; exit 3"),
                              WITH(&by_time)};
    struct session s;

    assert_int_equal(go(&o), 3);
    open_session(&s, path);
    assert_string_equal(s.meta.end_reason, "duration");
    assert_true(s.meta.duration_s < 1.1);
    assert_int_equal(s.meta.exit_code, -1);
    session_release(&s);
}

static void test_delay(void **state)
{
    const char *path = in_dir("delay");
    struct recorder_opts o = {
        .dir = path, .window.delay = 500000000, .argv = ARGS("sleep", "1"), WITH(&good)};
    struct session s;

    assert_int_equal(go(&o), 0);
    open_session(&s, path);
    assert_true(s.meta.duration_s < 0.9);
    assert_true(s.store.events.n > 0);
    session_release(&s);
    path = o.dir = in_dir("delay-long");
    o.argv = ARGS("true");
    assert_int_equal(go(&o), 0);
    assert_log("before --delay was over");
    open_session(&s, path);
    assert_true(s.meta.start_ts > 1e9);
    assert_string_equal(s.meta.end_reason, "command ended");
    session_release(&s);
}

static void test_max_size(void **state)
{
    const char *path = in_dir("size");
    struct recorder_opts o = {.dir = path, .max_size = 65536, .argv = ARGS("sleep", "3"), WITH(&growing)};
    struct session s;

    assert_int_equal(go(&o), 0);
    open_session(&s, path);
    assert_string_equal(s.meta.end_reason, "max-size");
    assert_true(s.meta.duration_s < 2.9);
    session_release(&s);
}

static void test_failing_collector(void **state)
{
    const char *path = in_dir("failing");
    struct recorder_opts o = {.dir = path, .argv = ARGS("sh", "-c", "sleep 0.3; exit 5"), WITH(&failing)};
    struct session s;

    assert_int_equal(go(&o), 5);
    assert_log("ring lost");
    open_session(&s, path);
    assert_true(s.sealed);
    assert_string_equal(s.meta.end_reason, "collectors failed");
    assert_int_equal(s.store.events.n, 4);
    session_release(&s);
}

static void test_refuses_directory(void **state)
{
    const char *path = in_dir("full"), *mark = in_dir("full-ran");
    struct recorder_opts o = {.dir = path, .argv = ARGS("touch", (char *)mark), WITH(&good)};

    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(mkdir(in_dir("full/x"), 0700), 0);
    assert_int_equal(go(&o), 125);
    o.force = 1;
    assert_int_equal(go(&o), 125); /* not a session */
    assert_false(exists(mark));
    assert_true(exists(in_dir("full/x")));
}

static void test_attach(void **state)
{
    const char *path = in_dir("attach"), *log = in_dir("attach/events.wlog");
    char pid[32];
    const char *pids[2] = {"1999999999", pid};
    struct recorder_opts o = {.dir = path, .pids = pids, .npids = 2, WITH(&good)};
    struct session s;
    pid_t target = fork(), recorder;

    if (!target) {
        pause();
        _exit(0);
    }
    snprintf(pid, sizeof(pid), "%d", (int)target);
    recorder = start(&o);
    WAIT_FOR(exists(log));
    kill(target, SIGKILL);
    assert_int_equal(finish(target), -SIGKILL);
    assert_int_equal(finish(recorder), 0);
    assert_log("1999999999 does not exist");
    open_session(&s, path);
    assert_string_equal(s.meta.end_reason, "targets ended");
    assert_int_equal(s.meta.pid, target);
    session_release(&s);
    o.dir = in_dir("dead");
    assert_int_equal(go(&o), 125);
    assert_false(exists(in_dir("dead")));
}

static void test_signals(void **state)
{
    const char *path = in_dir("signals"), *ready = in_dir("ready");
    char script[512];
    struct recorder_opts o = {.dir = path, .argv = ARGS("sh", "-c", script), WITH(&good)};
    struct session s;
    pid_t recorder;

    snprintf(script, sizeof(script), "trap 'exit 9' TERM; touch %s; while :; do sleep 0.05; done", ready);
    recorder = start(&o);
    WAIT_FOR(exists(ready));
    kill(recorder, SIGTERM); /* passed on; the command decides */
    assert_int_equal(finish(recorder), 9);
    open_session(&s, path);
    assert_string_equal(s.meta.end_reason, "command ended");
    session_release(&s);
}

static int has_events(const char *path)
{
    struct session s;
    int n = !session_open(&s, path, NULL) && s.store.events.n;

    session_release(&s);
    return n;
}

static void test_killed_recorder(void **state)
{
    const char *path = in_dir("kill9"), *mark = in_dir("kill9-ran"), *log = in_dir("kill9/events.wlog");
    char script[512];
    struct recorder_opts o = {.dir = path, .argv = ARGS("sh", "-c", script), WITH(&good)};
    struct session s;
    pid_t recorder;
    struct stat st = {0};

    snprintf(script, sizeof(script), "sleep 2; touch %s", mark);
    recorder = start(&o);
    WAIT_FOR(!stat(log, &st));
    WAIT_FOR(has_events(path));
    kill(recorder, SIGKILL);
    assert_int_equal(finish(recorder), -SIGKILL);
    open_session(&s, path);
    assert_false(s.sealed);
    assert_true(s.store.events.n > 0);
    assert_true(s.meta.start_mono > 0);
    session_release(&s);
    WAIT_FOR(exists(mark)); /* the command went on */
}

static int count_derived(void *arg, struct session_writer *w, struct meta *m, struct store *s, struct err *e)
{
    uint64_t sum = 0;
    char text[32];

    for (size_t i = 0; i < s->events.n; i++)
        sum += s->events.a[i].value;
    snprintf(text, sizeof(text), "%llu\n", (unsigned long long)sum);
    return session_add_artifact(w, m, "folded", "folded.txt", text, strlen(text), e);
}

static void test_derived_sees_all(void **state)
{
    const char *path = in_dir("derived");
    struct recorder_opts o = {
        .dir = path, .argv = ARGS("sleep", "2.3"), .hooks = {.derive = count_derived}, WITH(&good)};
    struct session s;
    char text[64] = "";
    int fd;

    assert_int_equal(go(&o), 0);
    open_session(&s, path);
    fd = open(in_dir("derived/folded.txt"), O_RDONLY);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    assert_int_equal(strtoull(text, NULL, 10), s.store.events.n); /* over several flushes */
    session_release(&s);
}

static void test_many_events(void **state)
{
    const char *path = in_dir("many");
    struct recorder_opts o = {
        .dir = path, .argv = ARGS("sleep", "2"), .hooks = {.derive = count_derived}, WITH(&flooding)};
    struct session s;
    char text[64] = "", *meta;
    struct buf b = {0};
    int fd;

    assert_int_equal(go(&o), 0);
    open_session(&s, path);
    assert_int_equal(s.store.events.n, 1600000);
    session_release(&s);
    fd = open(in_dir("many/folded.txt"), O_RDONLY);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    assert_string_equal(text, "1600000\n");
    assert_int_equal(io_read_file(AT_FDCWD, in_dir("many/meta.json"), &b, NULL), 0);
    meta = strstr(buf_str(&b), "\"unwound_share\"");
    assert_non_null(meta);
    assert_int_equal(strncmp(meta, "\"unwound_share\": 0.75,", 22), 0);
    buf_release(&b);
}

static void test_tally(void **state)
{
    struct store s = {0};
    struct tally t = {0};

    for (uint32_t i = 0; i < 100; i++)
        *vec_push(&s.events) = (struct event){
            .ts = i, .value = 1 + i % 2, .dur = 10, .task = 1 + i % 2, .stack = 5, .kind = EVENT_SAMPLE};
    tally_add(&t, &s, 0);
    tally_add(&t, &s, 50); /* the second half again */
    assert_int_equal(t.samples, 150);
    assert_int_equal(t.events.n, 2);
    assert_int_equal(t.events.a[0].value, 75);
    assert_int_equal(t.events.a[1].value, 150);
    assert_int_equal(t.events.a[1].dur, 750);
    vec_clear(&s.events);
    tally_swap(&t, &s);
    assert_int_equal(s.events.n, 2);
    assert_int_equal(t.events.n, 0);
    tally_release(&t);
    store_release(&s);
}

static void test_heaviest(void **state)
{
    struct profile p = {0};
    struct heavy top[3];
    uint64_t self[] = {0, 0, 5, 7, 4}, total[] = {16, 16, 9, 7, 4};

    for (int i = 0; i < 3; i++)
        *vec_push(&p.frames) =
            (struct profile_frame){.func = (uint32_t)i + 1, .kind = i ? FRAME_NATIVE : FRAME_NONE};
    *vec_push(&p.nodes) = (struct profile_node){0};
    *vec_push(&p.nodes) = (struct profile_node){.parent = 0, .frame = 0};
    *vec_push(&p.nodes) = (struct profile_node){.parent = 1, .frame = 1};
    *vec_push(&p.nodes) = (struct profile_node){.parent = 1, .frame = 2};
    *vec_push(&p.nodes) = (struct profile_node){.parent = 2, .frame = 1};
    *vec_push(&p.metrics) = (struct profile_metric){.self = self, .total = total, .sum = 16};
    assert_int_equal(summary_heaviest(&p, 0, top, 3), 2);
    assert_int_equal(top[0].func, 2);
    assert_int_equal(top[0].self, 9);
    assert_int_equal(top[1].func, 3);
    assert_int_equal(top[1].self, 7);
    assert_int_equal(summary_heaviest(&p, 1, top, 3), 0);
    vec_release(&p.frames);
    vec_release(&p.nodes);
    vec_release(&p.metrics);
}

static int make_dir(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char cmd[64];

    snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
    return system(cmd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_signal_of_command),
        cmocka_unit_test(test_nothing_can_be_recorded),
        cmocka_unit_test(test_one_is_left_out),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_cannot_run),
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_max_size),
        cmocka_unit_test(test_failing_collector),
        cmocka_unit_test(test_refuses_directory),
        cmocka_unit_test(test_attach),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_killed_recorder),
        cmocka_unit_test(test_derived_sees_all),
        cmocka_unit_test(test_many_events),
        cmocka_unit_test(test_tally),
        cmocka_unit_test(test_heaviest),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
