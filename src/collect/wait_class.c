/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/wait_class.h"

#include "base/mem.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Newer than some C libraries' headers (arch/x86/entry/syscalls/syscall_64.tbl). */
enum { NR_EPOLL_PWAIT2 = 441, NR_FUTEX_WAITV = 449, NR_FUTEX_WAIT = 455 };

struct class_of {
    uint16_t nr;
    uint8_t class;
};

static const struct class_of classes[] = {
    {SYS_nanosleep, WAIT_SLEEP},
    {SYS_clock_nanosleep, WAIT_SLEEP},
    {SYS_pause, WAIT_SLEEP},
    {SYS_rt_sigtimedwait, WAIT_SLEEP},
    {SYS_rt_sigsuspend, WAIT_SLEEP},
    {SYS_futex, WAIT_FUTEX},
    {NR_FUTEX_WAITV, WAIT_FUTEX},
    {NR_FUTEX_WAIT, WAIT_FUTEX},
    {SYS_poll, WAIT_POLL | WIRE_OFF_POLLFD},
    {SYS_ppoll, WAIT_POLL | WIRE_OFF_POLLFD},
    {SYS_select, WAIT_POLL},
    {SYS_pselect6, WAIT_POLL},
    {SYS_epoll_wait, WAIT_POLL | WIRE_OFF_EPOLL},
    {SYS_epoll_pwait, WAIT_POLL | WIRE_OFF_EPOLL},
    {NR_EPOLL_PWAIT2, WAIT_POLL | WIRE_OFF_EPOLL},
    {SYS_wait4, WAIT_CHILD},
    {SYS_waitid, WAIT_CHILD},
    {SYS_vfork, WAIT_CHILD},
    {SYS_clone, WAIT_CHILD},
    {SYS_clone3, WAIT_CHILD},
    {SYS_flock, WAIT_LOCK},
    {SYS_read, WAIT_OTHER | WIRE_OFF_FD},
    {SYS_readv, WAIT_OTHER | WIRE_OFF_FD},
    {SYS_pread64, WAIT_OTHER | WIRE_OFF_FD},
    {SYS_preadv, WAIT_OTHER | WIRE_OFF_FD},
    {SYS_write, WAIT_OTHER | WIRE_OFF_FD},
    {SYS_writev, WAIT_OTHER | WIRE_OFF_FD},
    {SYS_pwrite64, WAIT_OTHER | WIRE_OFF_FD},
    {SYS_pwritev, WAIT_OTHER | WIRE_OFF_FD},
    {SYS_sendfile, WAIT_OTHER | WIRE_OFF_FD},
    {SYS_splice, WAIT_OTHER | WIRE_OFF_FD},
    {SYS_fsync, WAIT_DISK | WIRE_OFF_FD},
    {SYS_fdatasync, WAIT_DISK | WIRE_OFF_FD},
    {SYS_sync_file_range, WAIT_DISK | WIRE_OFF_FD},
    {SYS_syncfs, WAIT_DISK | WIRE_OFF_FD},
    {SYS_ftruncate, WAIT_DISK | WIRE_OFF_FD},
    {SYS_fallocate, WAIT_DISK | WIRE_OFF_FD},
    {SYS_sync, WAIT_DISK},
    {SYS_msync, WAIT_DISK},
    {SYS_recvfrom, WAIT_SOCKET | WIRE_OFF_FD},
    {SYS_recvmsg, WAIT_SOCKET | WIRE_OFF_FD},
    {SYS_recvmmsg, WAIT_SOCKET | WIRE_OFF_FD},
    {SYS_sendto, WAIT_SOCKET | WIRE_OFF_FD},
    {SYS_sendmsg, WAIT_SOCKET | WIRE_OFF_FD},
    {SYS_sendmmsg, WAIT_SOCKET | WIRE_OFF_FD},
    {SYS_accept, WAIT_SOCKET | WIRE_OFF_FD},
    {SYS_accept4, WAIT_SOCKET | WIRE_OFF_FD},
    {SYS_connect, WAIT_SOCKET | WIRE_OFF_FD},
};

void wait_classes(struct wire_off_config *c)
{
    _Static_assert((int)WAIT_OTHER < (int)WIRE_OFF_RUNNABLE, "reasons and what is runnable share an array");
    memset(c->of_syscall, WAIT_OTHER, sizeof(c->of_syscall));
    for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
        c->of_syscall[classes[i].nr] = classes[i].class;
    memset(c->of_mode, 0, sizeof(c->of_mode));
    c->of_mode[S_IFIFO >> 12] = WAIT_PIPE;
    c->of_mode[S_IFSOCK >> 12] = WAIT_SOCKET;
    c->of_mode[S_IFREG >> 12] = WAIT_DISK;
    c->of_mode[S_IFBLK >> 12] = WAIT_DISK;
    c->fault = WAIT_FAULT;
    c->disk = WAIT_DISK;
    c->lock = WAIT_LOCK;
    c->stopped = WAIT_OTHER;
    c->other = WAIT_OTHER;
    c->futex = WAIT_FUTEX;
    c->gil = WAIT_GIL;
}

struct syscall_name {
    uint16_t nr;
    const char *name;
};

#define NAME(x)                                                                                              \
    {                                                                                                        \
        SYS_##x, #x                                                                                          \
    }

static const struct syscall_name names[] = {
    NAME(read),         NAME(write),        NAME(readv),          NAME(writev),     NAME(open),
    NAME(openat),       NAME(close),        NAME(stat),           NAME(newfstatat), NAME(mmap),
    NAME(munmap),       NAME(mprotect),     NAME(madvise),        NAME(brk),        NAME(execve),
    NAME(execveat),     NAME(exit),         NAME(exit_group),     NAME(ioctl),      NAME(fcntl),
    NAME(rename),       NAME(unlink),       NAME(unlinkat),       NAME(mkdir),      NAME(getdents64),
    NAME(msgrcv),       NAME(msgsnd),       NAME(semop),          NAME(semtimedop), NAME(mq_timedreceive),
    NAME(mq_timedsend), NAME(io_getevents), NAME(io_uring_enter), NAME(membarrier), NAME(mremap),
    NAME(sched_yield),  NAME(clone),        NAME(clone3),         NAME(vfork),      NAME(fork),
    NAME(ptrace),       NAME(sendfile),     NAME(splice),         NAME(tee),        NAME(copy_file_range),
    NAME(wait4),        NAME(waitid),       NAME(flock),          NAME(sync),       NAME(msync),
};

const char *wait_syscall(int nr)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (names[i].nr == nr)
            return names[i].name;
    return NULL;
}
