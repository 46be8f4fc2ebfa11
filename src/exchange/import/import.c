/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/import.h"

#include "base/units.h"

#include <string.h>

const struct importer *const importers[] = {
#define IMPORTER(name) &import_##name,
#include "exchange/import/import.def"
#undef IMPORTER
};
const size_t nimporters = ARRAY_SIZE(importers);

const struct importer *importer_find(const char *name, struct err *e)
{
    struct buf have = {0};

    for (size_t i = 0; i < nimporters; i++) {
        if (!strcmp(importers[i]->name, name)) {
            buf_release(&have);
            return importers[i];
        }
        buf_addf(&have, "%s%s", i ? ", " : "", importers[i]->name);
    }
    err_set(e, "no import format '%s' (there is: %s)", name, buf_str(&have));
    buf_release(&have);
    return NULL;
}

/* What Nsight Systems writes itself is only for its own programs to read. */
static int is_nsys_report(const char *name)
{
    static const char *const ends[] = {".nsys-rep", ".qdrep"};

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        if (strlen(name) > strlen(ends[i]) && !strcmp(name + strlen(name) - strlen(ends[i]), ends[i]))
            return 1;
    return 0;
}

const struct importer *importer_detect(const struct input *in, struct err *e)
{
    for (size_t i = 0; i < nimporters; i++)
        if (importers[i]->probe && importers[i]->probe(buf_str(&in->head), in->head.len))
            return importers[i];
    if (is_nsys_report(in->name)) {
        err_set(e, "%s: a report of Nsight Systems: make a database of it, nsys export --type sqlite %s",
                in->name, in->name);
        return NULL;
    }
    err_set(e, "%s: no format that import knows by its beginning (--from names one: wprof help import)",
            in->name);
    return NULL;
}

const struct importer *importer_detect_dir(const char *path, struct err *e)
{
    for (size_t i = 0; i < nimporters; i++)
        if (importers[i]->probe_dir && importers[i]->probe_dir(path))
            return importers[i];
    err_set(e,
            "%s is a directory, and no session of AIProf (meta.json, folded.txt ...), nor what perf record "
            "--threads writes (data, data.0 ...): a file is wanted",
            path);
    return NULL;
}

char import_first(const char *head)
{
    return head[strspn(head, " \t\r\n")];
}

int import_holds(const char *head, size_t n, const char *text)
{
    return memmem(head, n, text, strlen(text)) != NULL;
}

/* ---- counts ---- */

void import_stats_release(struct import_stats *st)
{
    buf_release(&st->bad_text);
    vec_release(&st->counts);
    for (size_t i = 0; i < st->ranks.n; i++)
        free(st->ranks.a[i].name);
    vec_release(&st->ranks);
}

void import_count(struct import_stats *st, enum import_fate fate, const char *what, uint64_t n)
{
    if (!n)
        return;
    for (size_t i = 0; i < st->counts.n; i++) {
        struct import_count *c = &st->counts.a[i];

        if (c->fate == fate && (c->what == what || !strcmp(c->what, what))) {
            c->n += n;
            return;
        }
    }
    *vec_push(&st->counts) = (struct import_count){what, n, (uint8_t)fate};
}

/* "copy" or "copies" of "copy|copies". */
static void add_what(const char *what, int one, struct buf *out)
{
    const char *bar = strchr(what, '|');

    if (!bar)
        buf_addstr(out, what);
    else if (one)
        buf_add(out, what, (size_t)(bar - what));
    else
        buf_addstr(out, bar + 1);
}

void import_counts_text(const struct import_stats *st, enum import_fate fate, struct buf *out)
{
    size_t before = out->len;

    for (size_t i = 0; i < st->counts.n; i++) {
        const struct import_count *c = &st->counts.a[i];
        char n[32];

        if (c->fate != fate)
            continue;
        buf_addf(out, "%s%s ", out->len > before ? ", " : "", units_count(n, sizeof(n), c->n));
        add_what(c->what, c->n == 1, out);
    }
}

void import_counts_store(const struct import_stats *st, struct store *s)
{
    static const char *const under[IMPORT_FATES] = {"", "noted.", "left_out.", "lost."};

    for (size_t i = 0; i < st->counts.n; i++) {
        struct buf name = {0};

        buf_addf(&name, "import.%s", under[st->counts.a[i].fate]);
        add_what(st->counts.a[i].what, 0, &name);
        for (char *p = name.data; *p; p++)
            if (*p == ' ')
                *p = '_';
        store_set_counter(s, name.data, st->counts.a[i].n);
        buf_release(&name);
    }
    if (st->measured)
        store_set_counter(s, "import.measured", 1);
    if (st->measured == IMPORT_NS)
        store_set_counter(s, "import.measured_ns", 1);
    if (st->measured == IMPORT_BYTES)
        store_set_counter(s, "import.measured_bytes", 1);
}
