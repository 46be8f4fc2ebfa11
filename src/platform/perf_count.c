/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/perf_count.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int perf_count_open(const struct pfm_event *ev, pid_t tid, int inherit)
{
    struct perf_event_attr a = {
        .size = sizeof(a),
        .type = ev->type,
        .config = ev->config,
        .config1 = ev->config1,
        .config2 = ev->config2,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .inherit = inherit != 0,
        .exclude_kernel = 1, /* what an ordinary user may have (perf_event_paranoid 2) */
        .exclude_hv = 1,
    };

    return (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int perf_count_read(int fd, struct perf_count *out)
{
    uint64_t words[3];
    ssize_t n = read(fd, words, sizeof(words));

    if (n != sizeof(words)) {
        errno = n < 0 ? errno : EIO;
        return -1;
    }
    *out = (struct perf_count){words[0], words[1], words[2]};
    return 0;
}

int perf_count_grown(const struct perf_count *before, const struct perf_count *now, uint64_t *n)
{
    uint64_t value = now->value - before->value, enabled = now->enabled - before->enabled;
    uint64_t running = now->running - before->running;
    unsigned __int128 scaled;

    if (now->value < before->value || now->enabled < before->enabled || now->running < before->running)
        return -1;
    if (running >= enabled) { /* all of the time, or no time passed for it */
        *n = value;
        return 0;
    }
    if (!running)
        return -1;
    scaled = ((unsigned __int128)value * enabled + running / 2) / running;
    *n = scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
    return 0;
}
