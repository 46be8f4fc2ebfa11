/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a JVM for its perf map, with a child that answers as one does: it has code of a file named
 * libjvm.so, and listens after SIGQUIT. */
#include "platform/jvm_attach.h"

#include "base/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SHORT_MS = 300, LONG_MS = 20000 };

struct fake {
    const char *answer; /* NULL: it listens, and says nothing */
    int plain;          /* not a JVM */
    int dies;           /* SIGQUIT would end it */
    int deaf;           /* it never listens */
};

static char dir[] = "/tmp/wprof-jvm-XXXXXX";

static void socket_path(char out[64], pid_t pid)
{
    snprintf(out, 64, "/tmp/.java_pid%d", (int)pid);
}

static void map_libjvm(void)
{
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "%s/libjvm.so", dir);
    fd = open(path, O_RDWR | O_CREAT, 0700);
    if (fd < 0 || ftruncate(fd, 4096) ||
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
        _exit(2);
    close(fd);
}

/* One request. 0 where it was the right one. */
static int serve(int listening, const char *answer)
{
    static const char want[] = "1\0jcmd\0Compiler.perfmap\0\0";
    char got[sizeof(want) + 1];
    size_t n = 0;
    int fd = accept(listening, NULL, NULL);

    while (fd >= 0 && n < sizeof(want)) {
        ssize_t r = read(fd, got + n, sizeof(got) - n);

        if (r <= 0)
            break;
        n += (size_t)r;
    }
    if (!answer)
        pause();
    if (n != sizeof(want) || memcmp(got, want, n) || write(fd, answer, strlen(answer)) < 0)
        return 3;
    close(fd);
    return 0;
}

static int run_fake(const struct fake *f, int ready)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), signo, rc;
    char path[64];
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGQUIT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGQUIT, f->dies ? SIG_DFL : (void (*)(int))exit); /* caught: that is what /proc tells */
    if (!f->plain)
        map_libjvm();
    if (write(ready, "r", 1) != 1)
        return 2;
    sigwait(&set, &signo);
    snprintf(path, sizeof(path), "/tmp/.attach_pid%d", (int)getpid());
    if (access(path, F_OK))
        return 4;
    if (f->deaf)
        pause();
    socket_path(path, getpid());
    snprintf(a.sun_path, sizeof(a.sun_path), "%s.tmp",
             path); /* as a JVM does: it listens before it is there */
    if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1) || rename(a.sun_path, path))
        return 5;
    rc = serve(fd, f->answer);
    unlink(path);
    return rc;
}

static pid_t start(const struct fake *f)
{
    int ready[2];
    char c;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (!pid)
        _exit(run_fake(f, ready[1]));
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

/* Its exit code, or -1 where it had to be ended. */
static int end(pid_t pid, int kill_it)
{
    char path[64];
    int status;

    if (kill_it)
        kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    socket_path(path, pid);
    unlink(path);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int no_trigger_left(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/tmp/.attach_pid%d", (int)pid);
    return access(path, F_OK) != 0;
}

static void test_asks(void **state)
{
    const struct fake f = {.answer = "0\nwritten\n"};
    pid_t pid = start(&f);
    struct err e = {0};

    assert_true(jvm_is(pid));
    assert_int_equal(jvm_write_perf_map(pid, LONG_MS, &e), 0);
    assert_true(no_trigger_left(pid));
    assert_int_equal(end(pid, 0), 0);
}

static void refused(const char *answer, const char *why)
{
    const struct fake f = {.answer = answer};
    pid_t pid = start(&f);
    struct err e = {0};

    assert_int_equal(jvm_write_perf_map(pid, LONG_MS, &e), -1);
    assert_non_null(strstr(e.msg, why));
    assert_int_equal(end(pid, 0), 0);
}

static void test_refusals(void **state)
{
    char *endless = mem_alloc(200001);

    refused("1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n", "older than JDK 17");
    refused("1\nno\n", "it refused");
    refused("", "it refused");
    memset(endless, '0', 200000);
    endless[200000] = '\0';
    signal(SIGPIPE, SIG_IGN); /* the child's: we hang up */
    {
        const struct fake f = {.answer = endless};
        pid_t pid = start(&f);
        struct err e = {0};

        assert_int_equal(jvm_write_perf_map(pid, LONG_MS, &e), -1);
        assert_non_null(strstr(e.msg, "no end"));
        end(pid, 1);
    }
    free(endless);
}

static void left_alone(const struct fake *f, const char *why)
{
    pid_t pid = start(f);
    struct err e = {0};

    assert_int_equal(jvm_write_perf_map(pid, SHORT_MS, &e), -1);
    assert_non_null(strstr(e.msg, why));
    assert_true(no_trigger_left(pid));
    assert_int_equal(kill(pid, 0), 0);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* it lives */
    end(pid, 1);
}

static void test_bounded_and_harmless(void **state)
{
    left_alone(&(struct fake){.deaf = 1}, "doesn't answer");
    left_alone(&(struct fake){.answer = NULL}, "doesn't answer");
    left_alone(&(struct fake){.dies = 1}, "-Xrs");
    left_alone(&(struct fake){.plain = 1}, "no JVM");
}

static void test_no_process(void **state)
{
    struct err e = {0};

    assert_false(jvm_is(0x3fffffff));
    assert_int_equal(jvm_write_perf_map(0x3fffffff, SHORT_MS, &e), -1);
}

static int make_dir(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/libjvm.so", dir);
    unlink(path);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asks),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bounded_and_harmless),
        cmocka_unit_test(test_no_process),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
