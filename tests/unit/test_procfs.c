/* SPDX-License-Identifier: Apache-2.0 */
/* /proc of a process whose first thread has ended: maps, files and memory are found by another one. */
#include "platform/procfs.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char marker[] = "what the heir still has";

static void *wait_forever(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* A child whose main thread is gone, or (leave 0) is there. */
static pid_t spawn(int leave)
{
    pid_t pid = fork();
    pthread_t t;

    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_create(&t, NULL, wait_forever, NULL);
    if (leave)
        pthread_exit(NULL);
    wait_forever(NULL);
    _exit(1);
}

static void reap(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static char state_of(pid_t pid)
{
    char path[64], line[256] = "";
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (f && !fgets(line, sizeof(line), f))
        line[0] = '\0';
    if (f)
        fclose(f);
    return strrchr(line, ')') ? strrchr(line, ')')[2] : '\0';
}

struct found {
    struct procfs_map text; /* of this program */
    char path[4096];
    int n;
};

static void note(void *arg, const struct procfs_map *m)
{
    struct found *f = arg;
    uint64_t here = (uintptr_t)note;

    f->n++;
    if (here < m->start || here >= m->end)
        return;
    f->text = *m;
    snprintf(f->path, sizeof(f->path), "%s", m->path);
    f->text.path = f->path;
}

static void all_is_found(pid_t pid)
{
    struct err e = {0};
    struct found f = {0};
    char got[sizeof(marker)] = "";
    int fd;

    assert_int_equal(procfs_exec_maps(pid, note, &f, &e), 0);
    assert_true(f.n > 1);
    assert_non_null(strstr(f.path, "test_procfs"));
    fd = procfs_open_mapped(pid, &f.text);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(procfs_read_memory(pid, (uintptr_t)marker, got, sizeof(got)), sizeof(got));
    assert_string_equal(got, marker);
    fd = procfs_open_tmp(pid);
    assert_true(fd >= 0);
    close(fd);
}

static void a_first_thread_that_has_ended(void **state)
{
    pid_t pid = spawn(1);

    for (int i = 0; i < 10000 && state_of(pid) != 'Z'; i++)
        usleep(1000);
    assert_int_equal(state_of(pid), 'Z');
    assert_true(procfs_heir(pid) > 0 && procfs_heir(pid) != pid);
    all_is_found(pid);
    reap(pid);
}

static void one_that_is_there(void **state)
{
    pid_t pid = spawn(0);

    all_is_found(pid);
    reap(pid);
}

static void a_process_that_is_gone(void **state)
{
    struct found f = {0};
    struct err e = {0};
    pid_t pid = spawn(0);
    char c;

    reap(pid);
    assert_int_equal(procfs_heir(pid), 0);
    assert_int_equal(procfs_exec_maps(pid, note, &f, &e), -1);
    assert_int_equal(procfs_read_memory(pid, (uintptr_t)marker, &c, 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_thread_that_has_ended),
        cmocka_unit_test(one_that_is_there),
        cmocka_unit_test(a_process_that_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
