/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/probe_calls.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LIMIT_S = 10,      /* no call takes long: what hangs says nothing */
    SAYS_NOTHING = 255 /* exit status; errno values are below */
};

const char probe_marker[16] = "wprof reads this";

static const struct {
    const char *name;
    int (*call)(pid_t sibling);
} calls[PROBE_CALLS] = {
#define CALL(id, name) {name, probe_call_##id},
#include "platform/probe_calls.def"
#undef CALL
};

const char *probe_call_name(enum probe_call c)
{
    return calls[c].name;
}

const char *probe_answer_name(int answer)
{
    if (answer == PROBE_UNTRIED)
        return NULL;
    return answer == PROBE_KILLED ? "killed" : answer ? strerrorname_np(answer) : "ok";
}

int probe_answer_parse(const char *s, size_t n)
{
    for (int i = PROBE_KILLED; i < SAYS_NOTHING; i++) {
        const char *name = probe_answer_name(i);

        if (name && strlen(name) == n && !memcmp(name, s, n))
            return i;
    }
    return PROBE_UNTRIED;
}

void probe_calls_parse(struct probe_calls *c, const char *text)
{
    for (size_t i = 0; i < PROBE_CALLS; i++)
        c->answers[i] = PROBE_UNTRIED;
    for (const char *p = text; *p; p += *p == '\n') {
        size_t line = strcspn(p, "\n"), name = strcspn(p, " \n"), blank = strspn(p + name, " ");

        for (size_t i = 0; i < PROBE_CALLS; i++) {
            if (strlen(calls[i].name) == name && !memcmp(calls[i].name, p, name))
                c->answers[i] = (short)probe_answer_parse(p + name + blank, line - name - blank);
        }
        p += line;
    }
}

int probe_target_start(struct probe_target *t)
{
    int hold[2], errnum;

    *t = (struct probe_target){-1, -1};
    if (pipe2(hold, O_CLOEXEC) < 0)
        return errno;
    t->pid = fork();
    errnum = errno;
    if (t->pid == 0) {
        char c;

        close(hold[1]);
        prctl(PR_SET_DUMPABLE,
              1); /* as a program is after exec: wprof's own file capabilities take it away */
        while (read(hold[0], &c, 1) < 0 && errno == EINTR) {
        }
        _exit(0);
    }
    close(hold[0]);
    t->hold = hold[1];
    if (t->pid > 0)
        return 0;
    probe_target_end(t);
    return errnum;
}

static int wait_for(pid_t pid, int *status)
{
    while (waitpid(pid, status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return 0;
}

void probe_target_end(struct probe_target *t)
{
    int status;

    close(t->hold);
    if (t->pid > 0) {
        kill(t->pid, SIGKILL);
        wait_for(t->pid, &status);
    }
    *t = (struct probe_target){-1, -1};
}

static void __attribute__((noreturn)) call_and_exit(size_t i, pid_t sibling)
{
    struct rlimit none = {0, 0};
    sigset_t all;
    int answer;

    setrlimit(RLIMIT_CORE, &none);
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    signal(SIGALRM, SIG_DFL);
    signal(SIGSYS, SIG_DFL);
    alarm(LIMIT_S);
    answer = calls[i].call(sibling);
    _exit(answer >= 0 && answer < SAYS_NOTHING ? answer : SAYS_NOTHING);
}

static int outcome(pid_t pid)
{
    int status;

    if (wait_for(pid, &status))
        return PROBE_UNTRIED;
    if (WIFEXITED(status))
        return WEXITSTATUS(status) == SAYS_NOTHING ? PROBE_UNTRIED : WEXITSTATUS(status);
    return WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGKILL ? PROBE_KILLED : PROBE_UNTRIED;
}

void probe_calls_try(struct probe_calls *c)
{
    struct probe_target sibling;

    probe_target_start(&sibling);
    for (size_t i = 0; i < PROBE_CALLS; i++) {
        pid_t pid = fork();

        if (pid == 0)
            call_and_exit(i, sibling.pid);
        c->answers[i] = (short)(pid < 0 ? PROBE_UNTRIED : outcome(pid));
    }
    probe_target_end(&sibling);
}
