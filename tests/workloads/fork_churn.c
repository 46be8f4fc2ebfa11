/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_churn COUNT MS [exec]: COUNT processes, one after another, that each burn MS of CPU in churn_work():
 * children by fork alone, or with `exec` each a new run of this program.
 */
#include "burn.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static NOINLINE void churn_work(uint64_t ns)
{
    uint64_t end = thread_cpu_ns() + ns;

    while (thread_cpu_ns() < end)
        spin();
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    int n = atoi(argc > 1 ? argv[1] : "200");
    const char *ms = argc > 2 ? argv[2] : "30";

    if (n == 0) { /* the exec'ed one */
        churn_work((uint64_t)(atof(ms) * 1e6));
        return 0;
    }
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            if (argc > 3 && !strcmp(argv[3], "exec")) {
                execl("/proc/self/exe", "churn", "0", ms, (char *)NULL);
                _exit(1);
            }
            churn_work((uint64_t)(atof(ms) * 1e6));
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            return 1;
    }
    return 0;
}
