/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sudo.h"

#include "base/mem.h"
#include "base/self.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char **sudo_argv(int ask, const char *const *half, size_t n, const char *name, struct err *e)
{
    char *self = self_program(e), **argv, **at;

    if (!self)
        return NULL;
    argv = at = mem_calloc(n + 6, sizeof(*argv));
    *at++ = (char *)"sudo";
    if (!ask)
        *at++ = (char *)"-n";
    *at++ = (char *)"--";
    *at++ = self;
    for (size_t i = 0; i < n; i++)
        *at++ = (char *)half[i];
    if (name)
        *at++ = (char *)name;
    return argv;
}

void sudo_free_argv(char **argv)
{
    char **at = argv;

    while (at && strcmp(*at, "--"))
        at++;
    if (at)
        free(at[1]); /* our own path; the rest is borrowed */
    free(argv);
}

static void __attribute__((noreturn)) no_sudo(void)
{
    static const char text[] = "there is no sudo in PATH";

    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
        _exit(1);
    _exit(1);
}

static void restore(const struct spawn_signals *before)
{
    sigaction(SIGPIPE, &before->pipe, NULL);
    sigaction(SIGCHLD, &before->chld, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

int sudo_start(struct sudo *s, char **argv, const struct spawn_signals *before, struct err *e)
{
    int talk[2], nothing;

    buf_clear(&s->said);
    if (pipe2(talk, O_CLOEXEC))
        return err_sys(e, errno, "pipe");
    s->pid = fork();
    if (s->pid < 0) {
        s->pid = 0;
        close(talk[0]);
        close(talk[1]);
        return err_sys(e, errno, "fork");
    }
    if (!s->pid) {
        setpgid(0, 0);
        nothing = open("/dev/null", O_RDWR);
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
        dup2(talk[1], STDERR_FILENO);
        restore(before);
        setenv("LC_ALL", "C", 1); /* its words are looked into */
        execvp("sudo", argv);
        no_sudo();
    }
    close(talk[1]);
    s->talk = talk[0];
    fcntl(s->talk, F_SETFL, O_NONBLOCK);
    return 0;
}

void sudo_hear(struct sudo *s)
{
    char text[512];
    ssize_t n;

    while (s->talk >= 0 && (n = read(s->talk, text, sizeof(text))) != 0) {
        if (n < 0) {
            if (errno == EINTR)
                continue;
            return;
        }
        if (s->said.len < 4096)
            buf_add(&s->said, text, (size_t)n);
    }
    if (s->talk >= 0)
        close(s->talk);
    s->talk = -1;
}

int sudo_ask_password(const struct spawn_signals *before)
{
    char *argv[] = {(char *)"sudo", (char *)"-v", NULL};
    int status = -1, terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    pid_t pid;

    if (terminal < 0)
        return -1;
    close(terminal);
    pid = fork();
    if (!pid) {
        restore(before);
        execvp("sudo", argv);
        _exit(1);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -1;
}

void sudo_look(struct sudo *s)
{
    if (s->pid && waitpid(s->pid, NULL, WNOHANG) == s->pid)
        s->pid = 0;
}

int sudo_wants_password(const struct sudo *s)
{
    return strstr(buf_str(&s->said), "password") != NULL;
}

/* What sudo said last, its name in front or not: warnings come before. */
int sudo_refused(struct sudo *s, struct err *e)
{
    const char *said, *line;

    while (s->said.len && strchr("\r\n", s->said.data[s->said.len - 1]))
        s->said.data[--s->said.len] = '\0';
    said = buf_str(&s->said);
    line = strrchr(said, '\n');
    said = line ? line + 1 : said;
    said += strncmp(said, "sudo: ", 6) ? 0 : 6;
    return err_set(e, "--sudo: sudo: %s", *said ? said : "it ended without a word");
}

void sudo_release(struct sudo *s, int wait)
{
    if (s->talk >= 0)
        close(s->talk);
    if (s->pid)
        waitpid(s->pid, NULL, wait ? 0 : WNOHANG);
    buf_release(&s->said);
}
