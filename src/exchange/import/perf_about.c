/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/perf_about.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void set_text(char **to, const char *value)
{
    free(*to);
    *to = mem_strdup(value);
}

/* "Thu Nov 19 01:36:57 2015", in the time zone of whoever ran perf script: taken as ours. */
static void set_start(struct meta *m, const char *value)
{
    struct tm tm = {.tm_isdst = -1};
    time_t at;

    if (!strptime(value, "%a %b %d %H:%M:%S %Y", &tm))
        return;
    at = mktime(&tm);
    if (at > 0)
        m->start_ts = m->end_ts = (double)at;
}

void perf_about_line(struct meta *m, const char *line, size_t n)
{
    char *text = mem_strndup(line, n), *key = text + strspn(text, "# "), *value = strchr(key, ':');

    if (value) {
        size_t end = (size_t)(value - key);

        *value++ = '\0';
        value += strspn(value, " ");
        while (end && key[end - 1] == ' ')
            key[--end] = '\0';
        if (!strcmp(key, "hostname"))
            set_text(&m->host, value);
        else if (!strcmp(key, "os release"))
            set_text(&m->kernel, value);
        else if (!strcmp(key, "arch"))
            set_text(&m->machine, value);
        else if (!strcmp(key, "cpudesc"))
            set_text(&m->cpu_model, value);
        else if (!strcmp(key, "nrcpus online"))
            m->ncpus = (uint32_t)strtoul(value, NULL, 10);
        else if (!strcmp(key, "captured on"))
            set_start(m, value);
        else if (!strcmp(key, "cmdline"))
            *vec_push(&m->notes) = mem_printf("perf was called as: %s", value);
    }
    free(text);
}
