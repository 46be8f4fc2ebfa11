/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases STEP...: does one thing after the other, so that a test knows what ran when:
 *     alpha:S beta:S gamma:S delta:S   burns S seconds of CPU time in that function
 *     sleep:S                          waits
 *     signal:N                         sends signal N to the parent, and waits a little for it to act
 *     say:TEXT                         writes TEXT and a newline to standard output
 *     mark:TEXT                        sends TEXT to the socket named by WPROF_MARKS
 *     die:N                            sends signal N to itself
 *     churn:S                          burns S seconds in ever new processes
 *     again                            goes back to the first step
 */
#include "burn.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PHASE(name)                                                                                          \
    static NOINLINE void name(uint64_t ns)                                                                   \
    {                                                                                                        \
        uint64_t end = thread_cpu_ns() + ns;                                                                 \
                                                                                                             \
        while (thread_cpu_ns() < end)                                                                        \
            spin();                                                                                          \
        __asm__ volatile("");                                                                                \
    }

PHASE(alpha)
PHASE(beta)
PHASE(gamma_)
PHASE(delta)

static NOINLINE void churn(uint64_t ns)
{
    uint64_t end = thread_cpu_ns() + ns;

    while (thread_cpu_ns() < end) {
        pid_t child = fork();

        if (!child) {
            alpha(3000000);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        beta(1000000);
    }
}

static void send_mark(const char *text)
{
    const char *path = getenv("WPROF_MARKS");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    if (!path || strlen(path) >= sizeof(to.sun_path) || fd < 0)
        exit(9);
    strcpy(to.sun_path, path);
    if (sendto(fd, text, strlen(text), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
        exit(9);
    close(fd);
}

static int is(const char *step, const char *name, const char **arg)
{
    size_t n = strlen(name);

    *arg = step + n + 1;
    return !strncmp(step, name, n) && step[n] == ':';
}

static void do_step(const char *step)
{
    static const struct {
        const char *name;
        void (*run)(uint64_t ns);
    } burns[] = {{"alpha", alpha}, {"beta", beta}, {"gamma", gamma_}, {"delta", delta}, {"churn", churn}};
    const char *arg;

    for (size_t i = 0; i < sizeof(burns) / sizeof(*burns); i++)
        if (is(step, burns[i].name, &arg))
            burns[i].run((uint64_t)(atof(arg) * 1e9));
    if (is(step, "sleep", &arg))
        usleep((useconds_t)(atof(arg) * 1e6));
    else if (is(step, "signal", &arg)) {
        kill(getppid(), atoi(arg));
        usleep(300000);
    } else if (is(step, "say", &arg)) {
        puts(arg);
        fflush(stdout);
    } else if (is(step, "mark", &arg)) {
        send_mark(arg);
        usleep(300000);
    } else if (is(step, "die", &arg))
        raise(atoi(arg));
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "again"))
            i = 1;
        do_step(argv[i]);
    }
    return 0;
}
