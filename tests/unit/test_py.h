/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the test_py_* programs: the interpreters of this machine, and what tests/fixtures/python/known.py
 * must give. */
#ifndef WPROF_TEST_PY_H
#define WPROF_TEST_PY_H

#include "base/buf.h"
#include "base/io.h"
#include "unwind/py_code.h"
#include "unwind/py_detect.h"
#include "unwind/py_walk.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TEST_PY_UNUSED __attribute__((unused))

/* ---- interpreters ---- */

struct interpreter {
    char exe[PATH_MAX];
    char home[PATH_MAX]; /* PYTHONHOME, "" for none */
};

struct interpreters {
    struct interpreter a[64];
    size_t n;
};

static void interpreters_add(struct interpreters *all, const char *pattern, const char *home_above)
{
    glob_t g;

    if (glob(pattern, 0, NULL, &g))
        return;
    for (size_t i = 0; i < g.gl_pathc && all->n < 64; i++) {
        struct interpreter *x = &all->a[all->n];
        const char *cut = home_above ? strstr(g.gl_pathv[i], home_above) : NULL;

        if (!realpath(g.gl_pathv[i], x->exe) || access(x->exe, X_OK))
            continue;
        x->home[0] = '\0';
        if (cut)
            snprintf(x->home, sizeof(x->home), "%.*s", (int)(cut - g.gl_pathv[i]), g.gl_pathv[i]);
        all->n++;
    }
    globfree(&g);
}

/* A file in the folder of each CPython that tests/tools/fetch-pythons.sh brought to $WPROF_PYTHONS or
 * $BUILD/pythons. */
static TEST_PY_UNUSED void fetched_pattern(char pattern[PATH_MAX], const char *file)
{
    const char *dir = getenv("WPROF_PYTHONS"), *build = getenv("BUILD");

    if (dir)
        snprintf(pattern, PATH_MAX, "%s/*/root/%s", dir, file);
    else
        snprintf(pattern, PATH_MAX, "%s/pythons/*/root/%s", build ? build : "build", file);
}

/* pyenv's, the system's, and those that tests/tools/fetch-pythons.sh brought: $WPROF_PYTHONS, else
 * build/pythons. */
static TEST_PY_UNUSED void interpreters_find(struct interpreters *all)
{
    const char *root = getenv("PYENV_ROOT"), *home = getenv("HOME");
    char pattern[PATH_MAX];

    all->n = 0;
    if (root)
        snprintf(pattern, sizeof(pattern), "%s/versions/3.*/bin/python3", root);
    else
        snprintf(pattern, sizeof(pattern), "%s/.pyenv/versions/3.*/bin/python3", home ? home : "/root");
    interpreters_add(all, pattern, NULL);
    interpreters_add(all, "/usr/bin/python3", NULL);
    fetched_pattern(pattern, "usr/bin/py");
    interpreters_add(all, pattern, "/bin/py");
}

/* ---- a process that runs a script ---- */

struct running {
    pid_t pid;
    int in, out; /* its standard input and output */
};

static TEST_PY_UNUSED int running_start(struct running *r, const struct interpreter *x,
                                        const char *const argv[])
{
    int in[2], out[2];

    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        return -1;
    r->pid = fork();
    if (!r->pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], 0);
        dup2(out[1], 1);
        unsetenv("PYTHONPATH");
        setenv("PYTHONIOENCODING", "utf-8", 1);
        if (x->home[0])
            setenv("PYTHONHOME", x->home, 1);
        else
            unsetenv("PYTHONHOME");
        execv(x->exe, (char *const *)argv);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    r->in = in[1];
    r->out = out[0];
    return r->pid < 0 ? -1 : 0;
}

/* Does the process's first thread wait in the kernel? */
static int running_waits(pid_t pid)
{
    char path[64], line[512], *end;
    struct buf b = {0};
    int waits = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (!io_read_file(AT_FDCWD, path, &b, NULL)) {
        snprintf(line, sizeof(line), "%s", buf_str(&b));
        end = strrchr(line, ')');
        waits = end && end[1] && end[2] == 'S';
    }
    buf_release(&b);
    return waits;
}

/* Waits for the line "ready", and for the script to wait for input after it. -1: it ended first. */
static TEST_PY_UNUSED int running_ready(struct running *r)
{
    char c = 0;

    while (c != '\n')
        if (read(r->out, &c, 1) != 1)
            return -1;
    for (int i = 0; i < 3000 && !running_waits(r->pid); i++)
        usleep(10000);
    return 0;
}

static TEST_PY_UNUSED void running_end(struct running *r)
{
    close(r->in);
    kill(r->pid, SIGKILL);
    waitpid(r->pid, NULL, 0);
    close(r->out);
}

/* Goes through /proc/PID/maps. Returns py_detect's last answer that was not 0. */
static TEST_PY_UNUSED int detect_in_process(struct py_detector *d, pid_t pid, struct py_target *t,
                                            struct err *e)
{
    char name[64], line[PATH_MAX + 200], exe[PATH_MAX] = "";
    FILE *f;
    int found = 0;

    snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
    if (readlink(name, exe, sizeof(exe) - 1) < 0)
        return -1;
    snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
    f = fopen(name, "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        unsigned long start, off;
        char perms[8], path[PATH_MAX] = "";

        if (sscanf(line, "%lx-%*x %7s %lx %*s %*s %4095[^\n]", &start, perms, &off, path) < 4 ||
            path[0] != '/' || perms[2] != 'x')
            continue;
        struct py_mapping m = {.path = path, .start = start, .pgoff = off, .main = !strcmp(path, exe)};
        m.fd = open(path, O_RDONLY | O_CLOEXEC);
        if (m.fd < 0)
            continue;
        int r = py_detect(d, &m, t, e);
        close(m.fd);
        if (r) {
            found = r;
            if (r > 0)
                break;
        }
    }
    fclose(f);
    return found;
}

/* ---- the answer ---- */

#define KNOWN "tests/fixtures/python/known.py"

/* The line that ends in "# at NAME"; 0: there is none. */
static TEST_PY_UNUSED unsigned known_line(const char *name)
{
    struct buf b = {0};
    struct err e = {""};
    char mark[128];
    unsigned line = 1, found = 0;

    snprintf(mark, sizeof(mark), "# at %s\n", name);
    if (io_read_file(AT_FDCWD, KNOWN, &b, &e))
        fail_msg("%s", e.msg);
    const char *at = strstr(b.data, mark);
    if (at) {
        for (const char *p = b.data; p < at; p++)
            line += *p == '\n';
        found = line;
    }
    buf_release(&b);
    return found;
}

struct known_frame {
    const char *name;  /* qualified */
    const char *plain; /* before 3.11; NULL: the same */
    const char *mark;  /* NULL: library code, line not checked */
    int entry;         /* called from C, or the outermost */
};

static const struct known_frame known_main[] = {
    {"hold", NULL, "hold", 0},
    {"größe", NULL, "größe", 0},
    {"長さ", NULL, "長さ", 0},
    {"𐎠", NULL, "𐎠", 0},
    {"numbers", NULL, "numbers", -1}, /* 3.12 resumes generators without leaving the loop */
    {"consume", NULL, "consume", 0},
    {"substitute", NULL, "substitute", 1},
    {"sub", NULL, NULL, 0},
    {"Shape.Inner.method.<locals>.nested", "nested", "nested", 1},
    {"Shape.Inner.method", "method", "method", 0},
    {"Shape.__init__.<locals>.<lambda>", "<lambda>", "lambda", 1},
    {"Shape.__init__", "__init__", "lambda", -1}, /* 3.13 calls it without leaving the loop */
    {"Shape.build", "build", "build", 0},
    {"recurse", NULL, "recurse end", 0},
    {"recurse", NULL, "recurse", 0},
    {"recurse", NULL, "recurse", 0},
    {"recurse", NULL, "recurse", 0},
    {"recurse", NULL, "recurse", 0},
    {"recurse", NULL, "recurse", 0},
    {"main", NULL, "main", 0},
    {"<module>", NULL, "<module>", 1},
};

static const struct known_frame known_thread[] = {
    {"wait", NULL, "wait", -1}, /* called with *args */
    {"Thread.run", "run", NULL, -1},
    {"Thread._bootstrap_inner", "_bootstrap_inner", NULL, 0},
    {"Thread._bootstrap", "_bootstrap", NULL, 1},
};

/* Compares a stack with the answer. 3.14 has a context manager's frame in threading, so library frames may be
 * skipped. */
static TEST_PY_UNUSED void check_known(const struct py_stack *st, const struct py_mem *mem,
                                       const struct py_layout *lay, const struct known_frame *want, size_t n)
{
    size_t i = 0;

    assert_int_equal(st->walk.status, PY_DONE);
    assert_int_equal(st->walk.bad, 0);
    for (uint32_t k = 0; k < st->walk.n; k++) {
        const struct py_frame *f = &st->frames[k];
        struct py_code c;
        int unsure, entry = f->flags & PY_FRAME_ENTRY;

        assert_int_equal(py_code_read(&c, mem, lay, f), 0);
        const char *name = i < n && lay->version < 0x030b && want[i].plain ? want[i].plain
                           : i < n                                         ? want[i].name
                                                                           : "";
        if (strcmp(c.name, name) != 0 && strstr(c.file, "/lib/python")) {
            py_code_release(&c);
            continue;
        }
        if (i == n)
            fail_msg("a frame too many: %s", c.name);
        assert_string_equal(c.name, name);
        unsigned line = py_code_line(&c, f, &unsure);
        assert_false(unsure);
        if (want[i].mark) {
            assert_non_null(strstr(c.file, "known.py"));
            if (line != known_line(want[i].mark))
                fail_msg("%s is at line %u, not %u", name, known_line(want[i].mark), line);
        }
        if (lay->entry == PY_ENTRY_NONE || lay->entry == PY_ENTRY_EVERY)
            assert_true(entry);
        else if (want[i].entry >= 0 && !!entry != want[i].entry)
            fail_msg("%s: %s an entry frame", name, entry ? "is" : "isn't");
        assert_int_equal(!!f->addr, entry && lay->entry != PY_ENTRY_NONE);
        py_code_release(&c);
        i++;
    }
    if (i < n)
        fail_msg("no frame %s", want[i].name);
}

#endif
