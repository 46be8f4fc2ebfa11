/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/pfm.h"

#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <string.h>

static int start(struct err *e)
{
    int rc = pfm_initialize(); /* does nothing the second time */

    return rc == PFM_SUCCESS ? 0 : err_set(e, "libpfm4: %s", pfm_strerror(rc));
}

static int unknown_event(const char *name, int code, struct err *e)
{
    struct pfm_list l = {0};
    char near[256] = "";

    if (!pfm_list(&l, NULL))
        pfm_nearest(&l, name, 3, near, sizeof(near));
    pfm_list_release(&l);
    if (*near)
        return err_set(e, "event '%s': %s; nearest: %s", name, pfm_strerror(code), near);
    return err_set(e, "event '%s': %s (wprof events lists those of this machine)", name, pfm_strerror(code));
}

int pfm_encode(const char *name, struct pfm_event *ev, struct err *e)
{
    struct perf_event_attr attr = {0};
    pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};
    int rc;

    *ev = (struct pfm_event){0};
    if (start(e))
        return -1;
    rc = pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
    if (rc != PFM_SUCCESS)
        return unknown_event(name, rc, e);
    ev->type = attr.type;
    ev->config = attr.config;
    ev->config1 = attr.config1;
    ev->config2 = attr.config2;
    ev->exclude_user = attr.exclude_user;
    ev->exclude_kernel = attr.exclude_kernel;
    ev->exclude_hv = attr.exclude_hv;
    ev->exclude_guest = attr.exclude_guest;
    ev->precise = attr.precise_ip;
    ev->time = attr.type == PERF_TYPE_SOFTWARE &&
               (attr.config == PERF_COUNT_SW_CPU_CLOCK || attr.config == PERF_COUNT_SW_TASK_CLOCK);
    snprintf(ev->name, sizeof(ev->name), "%s", name);
    return 0;
}

static char *lower(const char *s)
{
    char *out = mem_strdup(s);

    for (char *p = out; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    return out;
}

/* "event" or "event: umask" as the description. */
static void add_item(struct pfm_list *l, const pfm_pmu_info_t *pmu, char *name, const char *desc,
                     const char *umask)
{
    int n = desc ? (int)strlen(desc) : 0;

    if (umask && n && desc[n - 1] == '.')
        n--;
    *vec_push(&l->items) = (struct pfm_item){
        .name = pmu->pmu == PFM_PMU_PERF_EVENT ? name : mem_printf("%s::%s", pmu->name, name),
        .pmu = mem_strdup(pmu->name),
        .desc = mem_printf("%.*s%s%s", n, desc ? desc : "", n && umask ? ": " : "", umask ? umask : ""),
    };
    if (pmu->pmu != PFM_PMU_PERF_EVENT)
        free(name);
}

/* One item for the event, or one for each of its umasks. */
static void add_event(struct pfm_list *l, const pfm_pmu_info_t *pmu, const pfm_event_info_t *ev)
{
    size_t before = l->items.n;

    if (ev->equiv) { /* the short name of another event: "cpu-clock" */
        add_item(l, pmu, lower(ev->name), ev->desc, NULL);
        return;
    }
    for (int i = 0; i < ev->nattrs; i++) {
        pfm_event_attr_info_t at = {.size = sizeof(at)};

        if (pfm_get_event_attr_info(ev->idx, i, PFM_OS_NONE, &at) == PFM_SUCCESS && at.type == PFM_ATTR_UMASK)
            add_item(l, pmu, mem_printf("%s:%s", ev->name, at.name), ev->desc, at.desc);
    }
    if (l->items.n == before)
        add_item(l, pmu, mem_strdup(ev->name), ev->desc, NULL);
}

/* The kernel's generic events are listed under their short names, so the long ones that these stand for are
 * left out. */
static int has_short_name(const pfm_pmu_info_t *pmu, const char *name)
{
    for (int i = pmu->first_event; i != -1; i = pfm_get_event_next(i)) {
        pfm_event_info_t ev = {.size = sizeof(ev)};

        if (pfm_get_event_info(i, PFM_OS_NONE, &ev) == PFM_SUCCESS && ev.equiv && !strcmp(ev.equiv, name))
            return 1;
    }
    return 0;
}

static void add_pmu(struct pfm_list *l, const pfm_pmu_info_t *pmu)
{
    for (int i = pmu->first_event; i != -1; i = pfm_get_event_next(i)) {
        pfm_event_info_t ev = {.size = sizeof(ev)};

        if (pfm_get_event_info(i, PFM_OS_NONE, &ev) != PFM_SUCCESS)
            continue;
        if (pmu->pmu == PFM_PMU_PERF_EVENT ? ev.equiv || !has_short_name(pmu, ev.name) : !ev.equiv)
            add_event(l, pmu, &ev);
    }
}

int pfm_list(struct pfm_list *l, struct err *e)
{
    int pmu;

    *l = (struct pfm_list){0};
    if (start(e))
        return -1;
    pfm_for_all_pmus(pmu)
    {
        pfm_pmu_info_t info = {.size = sizeof(info)};

        if (pfm_get_pmu_info((pfm_pmu_t)pmu, &info) == PFM_SUCCESS && info.is_present)
            add_pmu(l, &info);
    }
    return 0;
}
