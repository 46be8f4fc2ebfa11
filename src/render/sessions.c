/* SPDX-License-Identifier: Apache-2.0 */
#include "render/sessions.h"

#include "base/templates.h"
#include "base/units.h"
#include "render/markup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* "2026-11-30 15:04", local time; "-" where it is not known. */
static char *when(char out[32], double ts)
{
    time_t t = (time_t)ts;
    struct tm tm;

    if (!(ts > 0) || ts > 253402300799.0 || !localtime_r(&t, &tm) ||
        !strftime(out, 32, "%Y-%m-%d %H:%M", &tm))
        snprintf(out, 32, "-");
    return out;
}

static uint64_t ns_of(double s)
{
    return s > 0 && s < 1e9 ? (uint64_t)llround(s * 1e9) : 0;
}

/* Whether it is an archive, and what became of it: its state where it is not sealed, else the command's exit
 * code where that is not 0. */
static const char *outcome(char out[64], const struct sessions *s, const struct sessions_entry *x)
{
    const char *state = sessions_text(s, x->state), *packed = x->packed ? "packed" : "";

    if (strcmp(state, "sealed") != 0)
        snprintf(out, 64, "%s%s%.40s", packed, x->packed ? ", " : "", state);
    else if (x->exit_code > 0)
        snprintf(out, 64, "%s%sexit %lld", packed, x->packed ? ", " : "", (long long)x->exit_code);
    else
        snprintf(out, 64, "%s", packed);
    return out;
}

/* ---- text ---- */

void sessions_text_table(const struct sessions *s, const struct text_style *style, struct buf *out)
{
    static const struct table_column columns[] = {
        {"started", "started", TABLE_TEXT}, {"duration", "lasted", TABLE_NS},
        {"host", "host", TABLE_TEXT},       {"workload", "workload", TABLE_TEXT},
        {"kind", "kind", TABLE_TEXT},       {"size", "size", TABLE_BYTES},
        {"state", "", TABLE_TEXT},          {"path", "session", TABLE_TEXT},
    };
    char text[64];
    struct table t;

    table_init(&t, columns, ARRAY_SIZE(columns));
    for (size_t i = 0; i < s->list.n; i++) {
        const struct sessions_entry *x = &s->list.a[i];
        union table_cell *c = table_add(&t);

        c[0].text = mem_strdup(when(text, x->start_ts));
        c[1].count = ns_of(x->duration_s);
        c[2].text = mem_strdup(sessions_text(s, x->host));
        c[3].text = mem_strdup(sessions_text(s, x->workload));
        c[4].text = mem_strdup(sessions_text(s, x->kind));
        c[5].count = x->size ? x->size : TABLE_NONE;
        c[6].text = mem_strdup(outcome(text, s, x));
        c[7].text = mem_strdup(sessions_text(s, x->path));
    }
    text_table(&t, NULL, style, out);
    table_release(&t);
}

/* ---- JSON ---- */

void sessions_json(const struct sessions *s, struct buf *out)
{
    struct json_writer w = {.out = out};

    json_object(&w, NULL);
    json_array(&w, "sessions");
    for (size_t i = 0; i < s->list.n; i++) {
        const struct sessions_entry *x = &s->list.a[i];

        buf_addch(out, '\n');
        json_object(&w, NULL);
        json_str(&w, "path", sessions_text(s, x->path));
        json_str(&w, "session_id", sessions_text(s, x->session_id));
        json_str(&w, "host", sessions_text(s, x->host));
        json_str(&w, "hosts", sessions_text(s, x->hosts));
        json_str(&w, "workload", sessions_text(s, x->workload));
        json_str(&w, "kind", sessions_text(s, x->kind));
        json_str(&w, "kinds", sessions_text(s, x->kinds));
        json_str(&w, "state", sessions_text(s, x->state));
        json_str(&w, "command", sessions_text(s, x->command));
        json_f64(&w, "start_ts", x->start_ts);
        json_f64(&w, "duration_s", x->duration_s);
        if (x->exit_code >= 0)
            json_i64(&w, "exit_code", x->exit_code);
        else
            json_null(&w, "exit_code");
        json_u64(&w, "size", x->size);
        json_bool(&w, "packed", x->packed);
        json_end_object(&w);
    }
    json_end_array(&w);
    json_u64(&w, "sessions_left_out", s->left_out);
    json_u64(&w, "directories_denied", s->denied);
    json_u64(&w, "directories_too_deep", s->too_deep);
    json_u64(&w, "damaged", s->damaged);
    json_u64(&w, "archives_denied", s->unread);
    json_u64(&w, "archives_without_session", s->foreign);
    json_end_object(&w);
    buf_addch(out, '\n');
}

/* ---- a page ---- */

/* `to` as it is reached from the directory `from`, both absolute. */
static void relative(const char *from, const char *to, struct buf *out)
{
    size_t same = 0;

    for (size_t i = 0; from[i] == to[i] || (!from[i] && to[i] == '/'); i++) {
        if (!from[i] || from[i] == '/')
            same = i;
        if (!from[i] || !to[i])
            break;
    }
    for (from += same; *from; from++)
        if (*from == '/' && from[1])
            buf_addstr(out, "../");
    buf_addstr(out, to[same] == '/' ? to + same + 1 : to + same);
}

/* As RFC 3986 has it in a path. */
static void escape(const char *path, struct buf *out)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";

    for (; *path; path++) {
        if (strchr(plain, *path))
            buf_addch(out, *path);
        else
            buf_addf(out, "%%%02X", (unsigned char)*path);
    }
}

static void link_to(const struct sessions *s, const struct sessions_entry *x, const char *from,
                    const char *here, struct buf *out)
{
    const char *path = sessions_text(s, x->path), *page = sessions_text(s, x->page);
    char *absolute;
    struct buf way = {0};

    if (x->packed && !strcmp(path, "-"))
        return; /* it came by stdin: the link leads to the page itself */
    absolute = mem_printf("%s%s%s%s%s", *path == '/' ? "" : here, *path == '/' ? "" : "/", path,
                          x->packed ? "" : "/", page);
    relative(from, absolute, &way);
    escape(buf_str(&way), out);
    buf_release(&way);
    free(absolute);
}

static void cell(struct buf *out, const char *class, const char *text)
{
    buf_addf(out, "<td%s%s%s>", *class ? " class=\"" : "", class, *class ? "\"" : "");
    markup_text(out, text);
    buf_addstr(out, "</td>");
}

/* Names of any length: cut where they are too wide, and whole when they are pointed at. */
static void name_cell(struct buf *out, const char *text)
{
    buf_addstr(out, "<td class=\"cut\" title=\"");
    markup_text(out, text);
    buf_addstr(out, "\">");
    markup_text(out, text);
    buf_addstr(out, "</td>");
}

static void row(const struct sessions *s, const struct sessions_entry *x, const char *from, const char *here,
                struct buf *out)
{
    char text[64];

    buf_addf(out, "<tr data-start=\"%.0f\"", x->start_ts > 0 ? x->start_ts : 0);
    if (*sessions_text(s, x->hosts)) {
        buf_addstr(out, " data-hosts=\"");
        markup_text(out, sessions_text(s, x->hosts));
        buf_addch(out, '"');
    }
    buf_addch(out, '>');
    cell(out, "n", when(text, x->start_ts));
    cell(out, "n", ns_of(x->duration_s) ? units_duration(text, sizeof(text), ns_of(x->duration_s)) : "-");
    name_cell(out, sessions_text(s, x->host));
    name_cell(out, sessions_text(s, x->workload));
    cell(out, "", sessions_text(s, x->kind));
    cell(out, "", outcome(text, s, x));
    buf_addf(out, "<td><a%s href=\"", x->page ? " class=\"page\"" : "");
    link_to(s, x, from, here, out);
    buf_addstr(out, "\">");
    markup_text(out, sessions_text(s, x->path));
    buf_addstr(out, "</a></td>");
    cell(out, "name", sessions_text(s, x->command));
    buf_addstr(out, "</tr>\n");
}

static void left_out(const struct sessions *s, struct buf *out)
{
    if (s->left_out)
        buf_addf(out, "<p>%llu more were left out (--limit).</p>", (unsigned long long)s->left_out);
}

void sessions_page(const struct sessions *s, const char *from, const char *here, struct buf *out)
{
    const char *text = template_get("sessions.html", NULL), *open, *close;

    while ((open = strstr(text, "{{")) && (close = strstr(open, "}}"))) {
        buf_add(out, text, (size_t)(open - text));
        if (!strncmp(open, "{{rows}}", 8))
            for (size_t i = 0; i < s->list.n; i++)
                row(s, &s->list.a[i], from, here, out);
        else if (!strncmp(open, "{{count}}", 9))
            buf_addf(out, "%zu", s->list.n);
        else if (!strncmp(open, "{{left_out}}", 12))
            left_out(s, out);
        text = close + 2;
    }
    buf_addstr(out, text);
}
