/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor_python.h"

#include "base/buf.h"
#include "platform/elf.h"
#include "unwind/py_binary.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* How often each answer was met; and the files, so that several names of one count once. */
struct findings {
    struct buf good, bad;
    VEC(char *) files;
};

/* 1: a CPython whose frames can be read; 0: none; -1: one that can't, as `e` says. */
static int examine(const char *path, int main, struct py_binary *b, struct err *e)
{
    struct elf f;
    int rc;

    if (elf_open(&f, path, NULL))
        return 0;
    rc = elf_is_executable(&f) ? py_binary_examine(b, &f, path, main, e) : 0;
    elf_close(&f);
    return rc;
}

/* Where the program is a small one around libpython: the library beside it, in ../lib. */
static int examine_library(const char *program, struct py_binary *b, struct err *e)
{
    const char *slash = strrchr(program, '/'), *version = strstr(slash, "python");
    char *pattern =
        mem_printf("%.*s/../lib/lib%s*.so.*", (int)(slash - program), program, version ? version : "python3");
    glob_t g = {0};
    int rc = 0;

    if (!glob(pattern, 0, NULL, &g))
        for (size_t i = 0; i < g.gl_pathc && !rc; i++)
            rc = examine(g.gl_pathv[i], 0, b, e);
    globfree(&g);
    free(pattern);
    return rc;
}

static int is_known(struct findings *f, const char *path)
{
    for (size_t i = 0; i < f->files.n; i++)
        if (!strcmp(f->files.a[i], path))
            return 1;
    *vec_push(&f->files) = mem_strdup(path);
    return 0;
}

static void look_at(struct findings *f, const char *path)
{
    char real[PATH_MAX];
    struct py_binary b;
    struct err e = {0};
    int rc;

    if (!realpath(path, real) || is_known(f, real))
        return;
    rc = examine(real, 1, &b, &e);
    if (!rc)
        rc = examine_library(real, &b, &e);
    if (rc > 0)
        buf_addf(&f->good, "%s%s (%u.%u)", f->good.len ? ", " : "", path, b.version >> 8, b.version & 0xff);
    else if (rc < 0)
        buf_addf(&f->bad, "%s%s: %s", f->bad.len ? "; " : "", path, e.msg);
}

/* "python", "python3", "python3.11"; not "python3-config". */
static int is_interpreter(const char *path)
{
    const char *name = strrchr(path, '/') + strlen("/python");

    return strspn(name, "0123456789.t") == strlen(name);
}

static void look_in(struct findings *f, const char *dir)
{
    char *pattern = mem_printf("%s/python*", dir);
    glob_t g = {0};

    if (!glob(pattern, 0, NULL, &g))
        for (size_t i = 0; i < g.gl_pathc; i++)
            if (is_interpreter(g.gl_pathv[i]))
                look_at(f, g.gl_pathv[i]);
    globfree(&g);
    free(pattern);
}

static void conclude(struct findings *f, struct probe_item *it)
{
    if (!f->good.len && !f->bad.len) {
        it->state = PROBE_UNKNOWN;
        it->seen = mem_strdup("no CPython on PATH");
        return;
    }
    it->state = !f->bad.len ? PROBE_OK : f->good.len ? PROBE_LIMITED : PROBE_NO;
    it->seen = mem_printf("%s%s", f->good.len ? "frames are read of " : "of none on PATH frames are read",
                          buf_str(&f->good));
    if (f->bad.len)
        it->costs = mem_printf("Python frames of %s", buf_str(&f->bad));
}

void doctor_python(struct probe *p)
{
    struct probe_item it = {.id = "python"};
    struct findings f = {0};
    char *path = mem_strdup(getenv("PATH") ? getenv("PATH") : ""), *save = NULL;

    for (char *dir = strtok_r(path, ":", &save); dir; dir = strtok_r(NULL, ":", &save))
        if (*dir == '/')
            look_in(&f, dir);
    conclude(&f, &it);
    probe_add(p, &it);
    for (size_t i = 0; i < f.files.n; i++)
        free(f.files.a[i]);
    vec_release(&f.files);
    buf_release(&f.good);
    buf_release(&f.bad);
    free(path);
}
