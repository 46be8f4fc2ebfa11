/* SPDX-License-Identifier: Apache-2.0 */
/* Mapped files that others cut off while they are read. */
#include "base/io.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* Only system calls here: the thread was stopped anywhere. */
static void on_bus(int signo, siginfo_t *info, void *context)
{
    uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1);

    if (info->si_code == BUS_ADRERR &&
        mmap((void *)page, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
        return;
    signal(signo, SIG_DFL); /* and the access once more */
}

void io_guard_maps(void)
{
    struct sigaction now, guard = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_RESTART};

    if (!sigaction(SIGBUS, NULL, &now) && now.sa_handler == SIG_DFL)
        sigaction(SIGBUS, &guard, NULL);
}
