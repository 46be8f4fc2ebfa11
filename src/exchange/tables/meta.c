/* SPDX-License-Identifier: Apache-2.0 */
/* What meta.json and the files beside it tell. */
#include "exchange/tables/job.h"

#include "base/dir.h"
#include "base/io.h"
#include "base/json.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REPORT_MAX = 64 << 20 };

static void add_report(struct tables_session *in, int dirfd, const char *name)
{
    int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct buf text = {0};
    struct err e = {0};
    struct stat st;

    if (fd < 0)
        return;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= REPORT_MAX && !io_read_fd(fd, &text, &e))
        *vec_push(&in->reports) =
            (struct tables_report){mem_strdup(name), mem_strdup(buf_str(&text)),
                                   (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9};
    buf_release(&text);
    close(fd);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tables_report *)a)->name, ((const struct tables_report *)b)->name);
}

void tables_meta_reports(struct tables_session *in)
{
    char *path;
    struct dirent *de;
    DIR *d;

    if (in->has_reports)
        return;
    in->has_reports = 1;
    path = mem_printf("%s/reports", session_files(in->s));
    d = dir_open(AT_FDCWD, path, 0);
    free(path);
    while ((de = dir_next(d)))
        if (de->d_name[0] != '.')
            add_report(in, dirfd(d), de->d_name);
    dir_close(d);
    if (in->reports.n)
        qsort(in->reports.a, in->reports.n, sizeof(*in->reports.a), by_name);
}

/* A JSON array of texts. */
static void list_value(struct tables_cell *c, char *const *list, size_t n)
{
    struct json_writer w = {.out = c->text};

    buf_clear(c->text);
    json_array(&w, NULL);
    for (size_t i = 0; i < n; i++)
        json_str(&w, NULL, list[i]);
    json_end_array(&w);
    tables_text(c, buf_str(c->text));
}

static void positive(struct tables_cell *c, double v)
{
    if (v > 0)
        tables_real(c, v);
}

static const char *session_text(const struct tables_cell *c)
{
    const struct meta *m = &c->s->meta;

    switch (c->column) {
    case COLUMN_sessions_session_id:
        return m->session_id;
    case COLUMN_sessions_host:
        return m->host;
    case COLUMN_sessions_workload:
        return m->workload;
    case COLUMN_sessions_kind:
        return m->kind;
    case COLUMN_sessions_agent_ver:
        return m->agent_ver;
    case COLUMN_sessions_blob_key:
        return c->s->path;
    case COLUMN_sessions_state:
        return m->state;
    case COLUMN_sessions_event:
        return m->event;
    case COLUMN_sessions_tier:
        return m->tier;
    case COLUMN_sessions_machine:
        return m->machine;
    case COLUMN_sessions_kernel:
        return m->kernel;
    default:
        return NULL;
    }
}

static void session_value(struct tables_cell *c)
{
    const struct meta *m = &c->s->meta;

    switch (c->column) {
    case COLUMN_sessions_start_ts:
        positive(c, m->start_ts);
        break;
    case COLUMN_sessions_end_ts:
    case COLUMN_sessions_created_ts:
        positive(c, m->end_ts);
        break;
    case COLUMN_sessions_languages:
        list_value(c, m->languages.a, m->languages.n);
        break;
    case COLUMN_sessions_pid:
        if (m->pid)
            tables_int(c, m->pid);
        break;
    case COLUMN_sessions_duration_s:
        positive(c, m->duration_s);
        break;
    case COLUMN_sessions_command:
        list_value(c, m->command.a, m->command.n);
        break;
    case COLUMN_sessions_frequency:
        if (m->frequency)
            tables_int(c, (int64_t)m->frequency);
        break;
    case COLUMN_sessions_exit_code:
        if (m->exit_code >= 0)
            tables_int(c, m->exit_code);
        break;
    default:
        tables_text(c, session_text(c));
    }
}

static void artifact_value(struct tables_cell *c)
{
    const struct meta_artifact *a = &c->s->meta.artifacts.a[c->row];

    switch (c->column) {
    case COLUMN_artifacts_session_id:
        tables_text(c, c->s->meta.session_id);
        break;
    case COLUMN_artifacts_kind:
        tables_text(c, a->kind);
        break;
    case COLUMN_artifacts_path:
        tables_text(c, a->path);
        break;
    case COLUMN_artifacts_size:
        tables_int(c, (int64_t)a->size);
        break;
    case COLUMN_artifacts_sha256:
        tables_text(c, *a->sha256 ? a->sha256 : NULL);
        break;
    default:
        break;
    }
}

static void report_value(struct tables_cell *c)
{
    const struct tables_report *r = &c->in->reports.a[c->row];

    switch (c->column) {
    case COLUMN_reports_session_id:
        tables_text(c, c->s->meta.session_id);
        break;
    case COLUMN_reports_mode:
        tables_text(c, r->name);
        break;
    case COLUMN_reports_content:
        tables_text(c, r->content);
        break;
    case COLUMN_reports_created_ts:
        tables_real(c, r->created);
        break;
    default:
        break;
    }
}

void tables_meta_value(struct tables_cell *c)
{
    switch (tables_column_info(c->column)->table) {
    case TABLE_sessions:
        session_value(c);
        break;
    case TABLE_artifacts:
        artifact_value(c);
        break;
    default:
        report_value(c);
        break;
    }
}
