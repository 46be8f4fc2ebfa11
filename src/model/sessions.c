/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sessions.h"

#include "base/units.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void sessions_release(struct sessions *s)
{
    strtab_release(&s->strings);
    vec_release(&s->list);
    map_release(&s->seen);
}

static int matches(const char *pattern, const char *text)
{
    return !pattern || !*pattern || !fnmatch(pattern, text, 0);
}

/* The text, or one of the words that it stands for. */
static int any_matches(const char *pattern, const char *text, const char *words)
{
    char *word;
    int found;

    if (matches(pattern, text))
        return 1;
    for (size_t n; *words; words += n + (words[n] == ',')) {
        n = strcspn(words, ",");
        word = mem_strndup(words, n);
        found = matches(pattern, word);
        free(word);
        if (found)
            return 1;
    }
    return 0;
}

static int takes(const struct sessions *s, const struct sessions_entry *x, const struct sessions_filter *f)
{
    return any_matches(f->host, sessions_text(s, x->host), sessions_text(s, x->hosts)) &&
           matches(f->workload, sessions_text(s, x->workload)) &&
           any_matches(f->kind, sessions_text(s, x->kind), sessions_text(s, x->kinds)) &&
           (f->since <= 0 || x->start_ts >= f->since);
}

/* Strings are numbered as they were found: of two that began together the later path comes first. */
static int newest_first(const void *pa, const void *pb)
{
    const struct sessions_entry *a = pa, *b = pb;

    if (a->start_ts != b->start_ts)
        return a->start_ts > b->start_ts ? -1 : 1;
    return a->path > b->path ? -1 : a->path < b->path;
}

void sessions_filter(struct sessions *s, const struct sessions_filter *f)
{
    size_t n = 0;

    for (size_t i = 0; i < s->list.n; i++)
        if (takes(s, &s->list.a[i], f))
            s->list.a[n++] = s->list.a[i];
    s->list.n = n;
    if (n)
        qsort(s->list.a, n, sizeof(*s->list.a), newest_first);
    if (f->limit && n > f->limit) {
        s->left_out = n - f->limit;
        s->list.n = f->limit;
    }
}

int sessions_parse_since(const char *text, double now, double *since, struct err *e)
{
    static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M",
                                          "%Y-%m-%dT%H:%M:%S"};
    uint64_t ns;

    if (!units_parse_duration(text, &ns, NULL)) {
        *since = now - (double)ns / 1e9;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
        struct tm tm = {.tm_isdst = -1};
        const char *end = strptime(text, formats[i], &tm);

        if (!end || *end)
            continue;
        tm.tm_isdst = -1;
        *since = (double)mktime(&tm);
        return 0;
    }
    return err_set(e, "'%s' is neither a time ago (30m, 2h, 7d) nor a date (2026-11-30, 2026-11-30T15:04)",
                   text);
}
