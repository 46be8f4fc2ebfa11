/* SPDX-License-Identifier: Apache-2.0 */
/* The part of events that needs no libpfm4: does one open here, which serves as default, which name is near.
 */
#include "platform/pfm.h"

#include "base/opt.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int opens(const struct pfm_event *ev, int exclude_kernel)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = ev->type,
        .config = ev->config,
        .config1 = ev->config1,
        .config2 = ev->config2,
        .sample_period = 1000000007,
        .disabled = 1,
        .exclude_user = ev->exclude_user,
        .exclude_kernel = exclude_kernel,
        .exclude_hv = ev->exclude_hv,
        .exclude_guest = ev->exclude_guest,
        .precise_ip = ev->precise,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

enum pfm_opens pfm_probe(const struct pfm_event *ev, int *errnum)
{
    if (opens(ev, ev->exclude_kernel))
        return ev->exclude_kernel ? PFM_OPENS_USER : PFM_OPENS_YES;
    *errnum = errno;
    if ((errno == EACCES || errno == EPERM) && !ev->exclude_kernel && opens(ev, 1))
        return PFM_OPENS_USER;
    return PFM_OPENS_NO;
}

void pfm_default_event(struct pfm_event *ev, char *why, size_t n)
{
    int errnum = 0;
    struct err e = {0};

    snprintf(why, n, "%s", "");
    if (pfm_encode("cycles", ev, &e)) {
        snprintf(why, n, "no hardware events: %s", e.msg);
    } else {
        if (pfm_probe(ev, &errnum) != PFM_OPENS_NO)
            return;
        snprintf(why, n, errnum == ENOENT || errnum == EOPNOTSUPP ? "no PMU here" : "cycles: %s",
                 strerror(errnum));
    }
    if (pfm_encode("cpu-clock", ev, &e)) /* libpfm4 could not start at all */
        *ev = (struct pfm_event){
            .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .time = 1, .name = "cpu-clock"};
}

void pfm_list_release(struct pfm_list *l)
{
    for (size_t i = 0; i < l->items.n; i++) {
        free(l->items.a[i].name);
        free(l->items.a[i].pmu);
        free(l->items.a[i].desc);
    }
    vec_release(&l->items);
}

/* "_" and "-" are alike, and so is case, as libpfm4 takes them. */
static void plain(const char *s, char *out, size_t n)
{
    size_t i = 0;

    for (; s[i] && i + 1 < n; i++)
        out[i] = s[i] == '_' ? '-' : s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] - 'A' + 'a') : s[i];
    out[i] = '\0';
}

struct near {
    const char *name;
    size_t distance;
};

char *pfm_nearest(const struct pfm_list *l, const char *word, size_t max, char *out, size_t n)
{
    struct near best[8];
    char a[128], b[128];
    size_t found = 0, len = 0, limit;

    if (max > ARRAY_SIZE(best))
        max = ARRAY_SIZE(best);
    plain(word, a, sizeof(a));
    limit = strlen(a) / 3 > 1 ? strlen(a) / 3 : 1;
    for (size_t i = 0; i < l->items.n; i++) {
        struct near cand = {l->items.a[i].name, 0};
        size_t at;

        plain(cand.name, b, sizeof(b));
        cand.distance = strstr(b, a) ? 0 : opt_distance(a, b);
        if (cand.distance > limit)
            continue;
        for (at = found; at && best[at - 1].distance > cand.distance; at--)
            if (at < max)
                best[at] = best[at - 1];
        if (at < max) {
            best[at] = cand;
            found += found < max;
        }
    }
    *out = '\0';
    for (size_t i = 0; i < found && len < n; i++)
        len += (size_t)snprintf(out + len, n - len, "%s%s", i ? ", " : "", best[i].name);
    return out;
}
