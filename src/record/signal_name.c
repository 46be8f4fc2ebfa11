/* SPDX-License-Identifier: Apache-2.0 */
#include "record/signal_name.h"

#include "base/opt.h"
#include "base/units.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    int signo;
} names[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},       {"QUIT", SIGQUIT}, {"ILL", SIGILL},   {"TRAP", SIGTRAP},
    {"ABRT", SIGABRT}, {"BUS", SIGBUS},       {"FPE", SIGFPE},   {"KILL", SIGKILL}, {"USR1", SIGUSR1},
    {"SEGV", SIGSEGV}, {"USR2", SIGUSR2},     {"PIPE", SIGPIPE}, {"ALRM", SIGALRM}, {"TERM", SIGTERM},
    {"CHLD", SIGCHLD}, {"CONT", SIGCONT},     {"STOP", SIGSTOP}, {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN},
    {"TTOU", SIGTTOU}, {"URG", SIGURG},       {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ}, {"VTALRM", SIGVTALRM},
    {"PROF", SIGPROF}, {"WINCH", SIGWINCH},   {"IO", SIGIO},     {"POLL", SIGPOLL}, {"PWR", SIGPWR},
    {"SYS", SIGSYS},   {"STKFLT", SIGSTKFLT},
};

/* Those that may start or end a recording: nobody can wait for KILL and STOP; CHLD and XFSZ are what we live
 * by, PIPE is ignored, faults end who makes them, and what the terminal stops us with stays with it. */
static int may_be_waited_for(int signo)
{
    static const int never[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGXFSZ, SIGPIPE, SIGILL,  SIGTRAP, SIGABRT,
                                SIGBUS,  SIGFPE,  SIGSEGV, SIGSYS,  SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT};

    for (size_t i = 0; i < ARRAY_SIZE(never); i++)
        if (never[i] == signo)
            return 0;
    return 1;
}

/* RTMIN, RTMIN+N, RTMAX, RTMAX-N. 0: none of these, or beyond their range. */
static int real_time(const char *s)
{
    int from_end = !strncasecmp(s, "RTMAX", 5), base = from_end ? SIGRTMAX : SIGRTMIN;
    uint64_t n = 0;
    struct err e;

    if (!from_end && strncasecmp(s, "RTMIN", 5))
        return 0;
    if (s[5] && (s[5] != (from_end ? '-' : '+') || units_parse_uint(s + 6, &n, &e)))
        return 0;
    return n > (uint64_t)(SIGRTMAX - SIGRTMIN) ? 0 : from_end ? base - (int)n : base + (int)n;
}

static int unknown(const char *text, const char *bare, struct err *e)
{
    const char *all[ARRAY_SIZE(names)], *near;
    char upper[16] = "";

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        all[i] = names[i].name;
    for (size_t i = 0; bare[i] && i < sizeof(upper) - 1; i++)
        upper[i] = (char)toupper((unsigned char)bare[i]);
    near = opt_nearest(upper, all, ARRAY_SIZE(all));
    return near ? err_set(e, "no signal '%s'; did you mean %s?", text, near)
                : err_set(e, "no signal '%s' (a name such as USR1, or a number)", text);
}

int signal_parse(const char *text, struct err *e)
{
    const char *bare = strncasecmp(text, "SIG", 3) ? text : text + 3;
    uint64_t n;
    int signo = real_time(bare);

    if (isdigit((unsigned char)*text)) {
        if (units_parse_uint(text, &n, e) || !n || n > (uint64_t)SIGRTMAX)
            return err_set(e, "no signal %s: they go from 1 to %d", text, SIGRTMAX);
        signo = (int)n;
    }
    for (size_t i = 0; !signo && i < ARRAY_SIZE(names); i++)
        if (!strcasecmp(names[i].name, bare))
            signo = names[i].signo;
    if (!signo)
        return unknown(text, bare, e);
    if (!may_be_waited_for(signo))
        return err_set(e, "%s can't be waited for (USR1, USR2 and RTMIN+1 are free for such things)", text);
    return signo;
}

char *signal_name(char *out, unsigned n, int signo)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (names[i].signo == signo) {
            snprintf(out, n, "SIG%s", names[i].name);
            return out;
        }
    }
    if (signo >= SIGRTMIN)
        snprintf(out, n, "SIGRTMIN+%d", signo - SIGRTMIN);
    else
        snprintf(out, n, "signal %d", signo);
    return out;
}
