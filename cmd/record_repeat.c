/* SPDX-License-Identifier: Apache-2.0 */
#include "record_repeat.h"

#include "base/log.h"
#include "base/shell.h"
#include "model/session.h"
#include "platform/clock.h"
#include "platform/identity.h"
#include "platform/spawn.h"
#include "record/signals.h"
#include "record/workload.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

struct repeat {
    const struct record_repeat *how;
    char *dir;
    wordexp_t against;
    struct signals signals;
    int stopped; /* by a signal: no further run begins */
};

/* ---- folders ---- */

/* The folder is the user's, under sudo too. */
static int make_folder(const char *path, struct err *e)
{
    struct identity who;
    int rc = 0;

    if (mkdir(path, 0700))
        return errno == EEXIST ? 0 : err_sys(e, errno, "%s", path);
    if (identity_of_caller(&who, e))
        rc = -1;
    else if (who.switched && chown(path, who.uid, who.gid))
        rc = err_sys(e, errno, "%s: chown", path);
    identity_release(&who);
    return rc;
}

static int make_folders(const struct repeat *x, struct err *e)
{
    static const char *const sides[] = {"base", "new"};
    int rc = make_folder(x->dir, e);

    for (size_t i = 0; !rc && x->how->against && i < ARRAY_SIZE(sides); i++) {
        char *path = mem_printf("%s/%s", x->dir, sides[i]);

        rc = make_folder(path, e);
        free(path);
    }
    return rc;
}

/* "wprof-runs-train-20260716-153012-abc123" */
static char *default_folder(char *const *argv)
{
    char id[24], *workload = workload_name(argv), *name = mem_printf("runs-%s", workload), *dir;

    session_new_id(id, (double)clock_ns(CLOCK_REALTIME) / 1e9);
    dir = session_default_dir(name, id);
    free(workload);
    free(name);
    return dir;
}

/* ---- runs ---- */

/* Until the run has ended. Signals that a process sends us are passed on; those of the terminal it has, too.
 */
static int wait_for(struct repeat *x, pid_t child)
{
    int status = 0, signo;

    for (;;) {
        struct pollfd fd = {.fd = x->signals.fd, .events = POLLIN};
        enum signal_kind kind;

        if (waitpid(child, &status, WNOHANG) == child)
            break;
        poll(&fd, 1, 1000);
        while ((kind = signals_next(&x->signals, child, &signo)) != SIGNAL_NONE) {
            x->stopped |= kind != SIGNAL_CHILD;
            if (kind == SIGNAL_FORWARD)
                kill(child, signo);
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_once(struct repeat *x, const char *dir, char **argv, struct err *e)
{
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child < 0) {
        err_sys(e, errno, "fork");
        return SPAWN_FAILED;
    }
    if (!child) {
        signals_give_back(&x->signals);
        _exit(x->how->record(x->how->arg, dir, argv));
    }
    return wait_for(x, child);
}

static int run_side(struct repeat *x, uint64_t i, int base, struct err *e)
{
    const struct record_repeat *how = x->how;
    char *dir = mem_printf("%s%s/%llu", x->dir,
                           !how->against ? ""
                           : base        ? "/base"
                                         : "/new",
                           (unsigned long long)i);
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    int code = run_once(x, dir, base ? x->against.we_wordv : (char **)how->argv, e);

    if (!e->msg[0])
        log_info("run %llu of %llu: %s, %.2f s%s", (unsigned long long)i, (unsigned long long)how->times, dir,
                 (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e9,
                 code ? ": it did not end with 0, so it is the last one" : "");
    free(dir);
    return code;
}

/* What changes with time, such as heat, should not favour a side: each is the first one every other time. */
static int run_all(struct repeat *x, struct err *e)
{
    int sides = x->how->against ? 2 : 1, code = 0;

    for (uint64_t i = 1; !code && i <= x->how->times; i++)
        for (int k = 0; !code && !x->stopped && k < sides; k++)
            code = run_side(x, i, sides == 2 && (int)((i + (uint64_t)k) % 2), e);
    return code;
}

static void say_next(const struct repeat *x)
{
    struct buf dir = {0};

    shell_word(&dir, x->dir);
    if (x->how->against)
        log_info("next: wprof diff %s/base %s/new", buf_str(&dir), buf_str(&dir));
    else
        log_info("next: wprof diff BASE %s", buf_str(&dir));
    buf_release(&dir);
}

static int split_against(struct repeat *x, struct err *e)
{
    const char *text = x->how->against;

    if (!text || (!wordexp(text, &x->against, WRDE_NOCMD) && x->against.we_wordc))
        return 0;
    return err_set(
        e,
        "--against '%s': words as a shell splits them are wanted; for more than one command give sh -c '...'",
        text);
}

int record_repeat(const struct record_repeat *r, struct err *e)
{
    struct repeat x = {.how = r};
    int code = SPAWN_FAILED;

    if (split_against(&x, e))
        return code;
    x.dir = r->dir ? mem_strdup(r->dir) : default_folder(r->argv);
    if (!make_folders(&x, e) && !signals_take(&x.signals, e)) {
        code = run_all(&x, e);
        signals_give_back(&x.signals);
        if (!code)
            say_next(&x);
    }
    free(x.dir);
    if (r->against)
        wordfree(&x.against);
    return code;
}
