/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/identity.h"
#include "platform/spawn.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/wprof-spawn-XXXXXX";

static const char *in_dir(const char *name)
{
    static char path[4][256];
    static int i;

    i = (i + 1) % 4;
    snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
    return path[i];
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    int fd = open(in_dir(name), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static int status_of(pid_t pid)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int start(struct spawn *s, char *const *argv, struct err *e)
{
    struct spawn_how how = {.argv = argv};

    return spawn_behind_gate(s, &how, e);
}

#define ARGS(...) ((char *const[]){__VA_ARGS__, NULL})

static void test_runs_after_gate(void **state)
{
    struct spawn s;
    struct err e = {0};
    char mark[256];

    snprintf(mark, sizeof(mark), "touch %s; exit 7", in_dir("mark"));
    assert_int_equal(start(&s, ARGS("sh", "-c", mark), &e), 0);
    assert_true(s.pid > 0);
    usleep(20000);
    assert_int_not_equal(access(in_dir("mark"), F_OK), 0); /* nothing of it ran */
    assert_int_equal(getpgid(s.pid), getpgrp());
    assert_int_equal(spawn_open_gate(&s, &e), 0);
    assert_int_equal(WEXITSTATUS(status_of(s.pid)), 7);
    assert_int_equal(access(in_dir("mark"), F_OK), 0);
}

static void test_cancel(void **state)
{
    struct spawn s;
    struct err e = {0};
    pid_t pid;

    assert_int_equal(start(&s, ARGS("sh", "-c", "exit 0"), &e), 0);
    pid = s.pid;
    spawn_cancel(&s);
    assert_int_equal(kill(pid, 0), -1); /* ended and reaped */
}

static void test_failures(void **state)
{
    struct spawn s;
    struct err e = {0};

    assert_int_equal(start(&s, ARGS("no-such-command-here"), &e), -1);
    assert_int_equal(s.failure, SPAWN_NOT_FOUND);
    assert_non_null(strstr(e.msg, "no-such-command-here"));
    assert_int_equal(start(&s, ARGS((char *)in_dir("nothing")), &e), -1);
    assert_int_equal(s.failure, SPAWN_NOT_FOUND);
    assert_int_equal(start(&s, ARGS(""), &e), -1);
    assert_int_equal(s.failure, SPAWN_NOT_FOUND);
    write_file("plain", "text", 0600);
    assert_int_equal(start(&s, ARGS((char *)in_dir("plain")), &e), -1);
    assert_int_equal(s.failure, SPAWN_NOT_EXECUTABLE);
    assert_int_equal(start(&s, ARGS(dir), &e), -1);
    assert_int_equal(s.failure, SPAWN_NOT_EXECUTABLE);
}

static void test_exec_failure(void **state)
{
    struct spawn s;
    struct err e = {0};

    write_file("lost", "#!/no/such/interpreter\n", 0700);
    assert_int_equal(start(&s, ARGS((char *)in_dir("lost")), &e), 0);
    assert_int_equal(spawn_open_gate(&s, &e), -1);
    assert_int_equal(s.failure, SPAWN_NOT_EXECUTABLE);
    assert_non_null(strstr(e.msg, "interpreter"));
}

static void test_script_without_shebang(void **state)
{
    struct spawn s;
    struct err e = {0};

    write_file("bare", "exit $(($# + 40))\n", 0700);
    assert_int_equal(start(&s, ARGS((char *)in_dir("bare"), "a", "b"), &e), 0);
    assert_int_equal(spawn_open_gate(&s, &e), 0);
    assert_int_equal(WEXITSTATUS(status_of(s.pid)), 42);
}

static void test_signal_state(void **state)
{
    struct spawn_signals before = {0};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct spawn_how how = {.argv = ARGS("sh", "-c", "kill -PIPE $$; exit 0"), .signals = &before};
    struct spawn s;
    struct err e = {0};
    sigset_t set;

    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, &before.mask);
    sigaction(SIGPIPE, &ignore, &before.pipe);
    assert_int_equal(spawn_behind_gate(&s, &how, &e), 0);
    assert_int_equal(spawn_open_gate(&s, &e), 0);
    assert_int_equal(WTERMSIG(status_of(s.pid)), SIGPIPE); /* neither ignored nor blocked in the command */
    sigaction(SIGPIPE, &before.pipe, NULL);
    sigprocmask(SIG_SETMASK, &before.mask, NULL);
}

static void test_no_fd_leaks(void **state)
{
    struct spawn s;
    struct err e = {0};
    char cmd[256];
    FILE *f;
    int n = 0, c;

    snprintf(cmd, sizeof(cmd), "ls /proc/self/fd > %s", in_dir("fds"));
    assert_int_equal(start(&s, ARGS("sh", "-c", cmd), &e), 0);
    assert_int_equal(spawn_open_gate(&s, &e), 0);
    assert_int_equal(status_of(s.pid), 0);
    f = fopen(in_dir("fds"), "re");
    assert_non_null(f);
    while ((c = fgetc(f)) != EOF)
        n += c == '\n';
    fclose(f);
    for (int fd = 3; fd < 1024; fd++) /* those that this test was itself started with */
        n -= fcntl(fd, F_GETFD) == 0;
    assert_true(n <= 4); /* three, and the directory that ls reads */
}

static void test_environment(void **state)
{
    struct identity who = {.switched = 1, .user = (char *)"nobody", .home = (char *)"/nonexistent"};
    char **env = spawn_env(&who);

    assert_string_equal(spawn_getenv(env, "HOME"), "/nonexistent");
    assert_string_equal(spawn_getenv(env, "USER"), "nobody");
    spawn_free_env(env);
    *vec_push(&who.env) = (char *)"PATH=/venv/bin";
    env = spawn_env(&who);
    assert_string_equal(spawn_getenv(env, "PATH"), "/venv/bin");
    assert_null(spawn_getenv(env, "HOME")); /* exactly what sudo was given */
    spawn_free_env(env);
    vec_release(&who.env);
}

static void test_becomes_user(void **state)
{
    struct identity who = {.switched = 1, .uid = 65534, .gid = 65534, .user = (char *)"nobody"};
    struct spawn_how how = {.argv = ARGS("sh", "-c", "test \"$(id -u):$(id -G)\" = '65534:65534 4711'"),
                            .who = &who};
    struct spawn s;
    struct err e = {0};

    if (geteuid() != 0)
        skip();
    *vec_push(&who.groups) = 65534;
    *vec_push(&who.groups) = 4711;
    assert_int_equal(spawn_behind_gate(&s, &how, &e), 0);
    assert_int_equal(spawn_open_gate(&s, &e), 0);
    assert_int_equal(status_of(s.pid), 0);
    vec_release(&who.groups);
}

static void put_stat(pid_t pid, const char *comm, pid_t ppid, pid_t pgrp)
{
    char name[64], text[128];

    snprintf(name, sizeof(name), "%d", (int)pid);
    mkdir(in_dir(name), 0700);
    snprintf(name, sizeof(name), "%d/stat", (int)pid);
    snprintf(text, sizeof(text), "%d (%s) S %d %d 1 0 -1", (int)pid, comm, (int)ppid, (int)pgrp);
    write_file(name, text, 0600);
}

static void test_find_sudo(void **state)
{
    put_stat(10, "bash", 1, 10);
    put_stat(20, "sudo", 10, 20);
    put_stat(21, "sudo", 20, 21);
    put_stat(30, "wprof", 21, 30);
    assert_int_equal(identity_find_sudo(dir, 30), 21);
    put_stat(40, "make", 21, 40);
    put_stat(41, "a) (b", 40, 40);
    put_stat(42, "wprof", 41, 40);
    assert_int_equal(identity_find_sudo(dir, 42), 21);
    put_stat(50, "bash", 21, 50); /* sudo -s, then a job of its own */
    put_stat(51, "wprof", 50, 51);
    assert_int_equal(identity_find_sudo(dir, 51), 0);
    assert_int_equal(identity_find_sudo(dir, 10), 0);
    assert_int_equal(identity_find_sudo(dir, 99), 0);
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
        cmocka_unit_test(test_runs_after_gate),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_exec_failure),
        cmocka_unit_test(test_script_without_shebang),
        cmocka_unit_test(test_signal_state),
        cmocka_unit_test(test_no_fd_leaks),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_becomes_user),
        cmocka_unit_test(test_find_sudo),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
