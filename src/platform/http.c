/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/http.h"

#include "base/mem.h"
#include "base/units.h"
#include "platform/clock.h"
#include "platform/symbols.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of what libcurl's makers and Debian call it. */
static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

#define FUNCTIONS(X)                                                                                         \
    X(global_init)                                                                                           \
    X(easy_init)                                                                                             \
    X(easy_setopt)                                                                                           \
    X(easy_perform)                                                                                          \
    X(easy_getinfo)                                                                                          \
    X(easy_strerror)                                                                                         \
    X(easy_cleanup)                                                                                          \
    X(slist_append)                                                                                          \
    X(slist_free_all)                                                                                        \
    X(mime_init)                                                                                             \
    X(mime_addpart)                                                                                          \
    X(mime_name)                                                                                             \
    X(mime_filename)                                                                                         \
    X(mime_type)                                                                                             \
    X(mime_data)                                                                                             \
    X(mime_data_cb)                                                                                          \
    X(mime_free)

struct api {
#define X(name) __typeof__(curl_##name) *name;
    FUNCTIONS(X)
#undef X
};

struct sending {
    struct api api;
    CURL *curl;
    curl_mime *form;
    struct curl_slist *headers;
    const struct http_request *request;
    struct http_answer *answer;
    uint64_t at; /* bytes of the file that were read */
    curl_off_t moved;
    uint64_t moved_at; /* CLOCK_MONOTONIC; 0: nothing began yet */
    char why[CURL_ERROR_SIZE];
};

static int load(struct api *api, struct err *e)
{
#define X(name) {offsetof(struct api, name), "curl_" #name, 1},
    static const struct symbol symbols[] = {FUNCTIONS(X)};
#undef X
    const char *missing;
    void *library;
    int rc = 1;

    for (size_t i = 0; i < ARRAY_SIZE(libraries) && rc > 0; i++)
        rc = symbols_open(&library, libraries[i], e);
    if (rc)
        return rc > 0
                   ? err_set(e,
                             "there is no libcurl.so.4 (Debian: libcurl4): `wprof pack` and curl do the same")
                   : err_wrap(e, "libcurl");
    missing = symbols_load(api, library, symbols, ARRAY_SIZE(symbols));
    if (missing)
        return err_set(e, "libcurl has no curl_%s: it is too old", missing);
    return api->global_init(CURL_GLOBAL_DEFAULT) ? err_set(e, "libcurl does not start") : 0;
}

/* ---- what goes, and what comes ---- */

static size_t give(char *to, size_t size, size_t n, void *arg)
{
    struct sending *s = arg;
    ssize_t got = pread(s->request->fd, to, size * n, (off_t)s->at);

    if (got < 0)
        return CURL_READFUNC_ABORT;
    s->at += (uint64_t)got;
    return (size_t)got;
}

/* Where a connection that was kept turns out to be dead, libcurl begins again. */
static int go_to(void *arg, curl_off_t offset, int whence)
{
    struct sending *s = arg;

    if (whence != SEEK_SET || offset < 0)
        return CURL_SEEKFUNC_CANTSEEK;
    s->at = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

static size_t take(char *p, size_t size, size_t n, void *arg)
{
    struct http_answer *a = ((struct sending *)arg)->answer;
    size_t all = size * n, room = a->body.len < HTTP_BODY_MAX ? HTTP_BODY_MAX - a->body.len : 0;
    size_t kept = all < room ? all : room;

    buf_add(&a->body, p, kept);
    a->body_left += all - kept;
    return all;
}

/* About once a second, and whenever something moves. Not 0: given up, as nothing did for long. (libcurl's own
 * limit, CURLOPT_LOW_SPEED_TIME, looks at an average of the last seconds: it would wait for those, too.) */
static int watch(void *arg, curl_off_t all_in, curl_off_t in, curl_off_t all_out, curl_off_t out)
{
    struct sending *s = arg;
    uint64_t now = clock_monotonic();

    (void)all_in, (void)all_out;
    if (!s->moved_at || s->moved != in + out) {
        s->moved = in + out;
        s->moved_at = now;
    }
    return now - s->moved_at > s->request->stall_ns;
}

/* ---- the request ---- */

static void set_file(struct sending *s)
{
    s->api.easy_setopt(s->curl, CURLOPT_UPLOAD, 1L);
    s->api.easy_setopt(s->curl, CURLOPT_READFUNCTION, give);
    s->api.easy_setopt(s->curl, CURLOPT_READDATA, s);
    s->api.easy_setopt(s->curl, CURLOPT_SEEKFUNCTION, go_to);
    s->api.easy_setopt(s->curl, CURLOPT_SEEKDATA, s);
    s->api.easy_setopt(s->curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)s->request->size);
}

static void set_form(struct sending *s)
{
    s->form = s->api.mime_init(s->curl);
    for (size_t i = 0; i < s->request->nparts; i++) {
        const struct http_part *p = &s->request->parts[i];
        curl_mimepart *part = s->api.mime_addpart(s->form);

        s->api.mime_name(part, p->name);
        s->api.mime_filename(part, p->file_name);
        s->api.mime_type(part, p->type);
        if (p->text)
            s->api.mime_data(part, p->text, CURL_ZERO_TERMINATED);
        else
            s->api.mime_data_cb(part, (curl_off_t)s->request->size, give, go_to, NULL, s);
    }
    s->api.easy_setopt(s->curl, CURLOPT_MIMEPOST, s->form);
}

static void set_headers(struct sending *s)
{
    char *line;

    s->headers = s->api.slist_append(NULL, "Expect:"); /* no pause for "100 Continue" */
    if (s->request->token) {
        line = mem_printf("Authorization: Bearer %s", s->request->token);
        s->headers = s->api.slist_append(s->headers, line);
        explicit_bzero(line, strlen(line));
        free(line);
    }
    s->api.easy_setopt(s->curl, CURLOPT_HTTPHEADER, s->headers);
}

static void set(struct sending *s)
{
    const struct http_request *r = s->request;

    s->api.easy_setopt(s->curl, CURLOPT_URL, r->url);
#if LIBCURL_VERSION_NUM >= 0x075500
    s->api.easy_setopt(s->curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    s->api.easy_setopt(s->curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    s->api.easy_setopt(s->curl, CURLOPT_NOSIGNAL, 1L);
    s->api.easy_setopt(s->curl, CURLOPT_USERAGENT, "wprof");
    s->api.easy_setopt(s->curl, CURLOPT_ERRORBUFFER, s->why);
    s->api.easy_setopt(s->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)(r->stall_ns / 1000000));
    s->api.easy_setopt(s->curl, CURLOPT_NOPROGRESS, 0L);
    s->api.easy_setopt(s->curl, CURLOPT_XFERINFOFUNCTION, watch);
    s->api.easy_setopt(s->curl, CURLOPT_XFERINFODATA, s);
    s->api.easy_setopt(s->curl, CURLOPT_WRITEFUNCTION, take);
    s->api.easy_setopt(s->curl, CURLOPT_WRITEDATA, s);
    if (r->ca_file)
        s->api.easy_setopt(s->curl, CURLOPT_CAINFO, r->ca_file);
    set_headers(s);
    if (r->nparts)
        set_form(s);
    else
        set_file(s);
}

/* A certificate, a name or a URL that is wrong will be wrong again. */
static int may_help(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_ABORTED_BY_CALLBACK: /* watch() */
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_COULDNT_RESOLVE_HOST:
        return 1;
    default:
        return 0;
    }
}

static int perform(struct sending *s, struct err *e)
{
    struct http_answer *a = s->answer;
    CURLcode code = s->api.easy_perform(s->curl);
    curl_off_t after = 0;
    char ns[32], *to = NULL;

    if (code) {
        a->again = may_help(code);
        if (code == CURLE_ABORTED_BY_CALLBACK)
            return err_set(e, "nothing moved for %s", units_duration(ns, sizeof(ns), s->request->stall_ns));
        return err_set(e, "%s", s->why[0] ? s->why : s->api.easy_strerror(code));
    }
    s->api.easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &a->status);
    s->api.easy_getinfo(s->curl, CURLINFO_RETRY_AFTER, &after);
    s->api.easy_getinfo(s->curl, CURLINFO_REDIRECT_URL, &to);
    if (to)
        http_shown(to, &a->location);
    a->retry_after = after > 0 ? (uint64_t)after : 0;
    a->again = a->status == 429 || a->status >= 500;
    return 0;
}

int http_send(const struct http_request *r, struct http_answer *a, struct err *e)
{
    struct sending s = {.request = r, .answer = a};
    int rc;

    *a = (struct http_answer){0};
    if (load(&s.api, e))
        return -1;
    s.curl = s.api.easy_init();
    if (!s.curl)
        return err_set(e, "libcurl does not start");
    set(&s);
    rc = perform(&s, e);
    s.api.mime_free(s.form);
    s.api.slist_free_all(s.headers);
    s.api.easy_cleanup(s.curl);
    return rc;
}
