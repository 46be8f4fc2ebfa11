/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"

#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "model/session.h"
#include "model/session_dir.h"
#include "platform/clock.h"
#include "platform/http.h"
#include "platform/packed.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_NAME   "WPROF_TOKEN"
#define TOKEN_MAX    8192
#define COLLECTOR    "/api/v1/collector/upload" /* AIProf's */
#define FIRST_WAIT_S 1
#define LONGEST_S    60

struct push_opts {
    const char *to, *token_file, *ca_file;
    uint64_t retries, stall;
};

static const struct opt options[] = {
    OPT_CHOICE('t', "to", struct push_opts, to, "KIND", NULL, "collector|put",
               "what URL is: an AIProf collector, or where an object is put (default: by its path)"),
    OPT_STRING(0, "token-file", struct push_opts, token_file, "FILE",
               "send what FILE holds as a Bearer token (default for a collector: what " TOKEN_NAME " holds)"),
    OPT_STRING(0, "ca-file", struct push_opts, ca_file, "FILE",
               "certificates (PEM) to check the server's with"),
    OPT_UINT(0, "retries", struct push_opts, retries, "N", "4", NULL,
             "try so often again where nobody answers or the server is busy"),
    OPT_DURATION(0, "timeout", struct push_opts, stall, "TIME", "30s", NULL,
                 "give a try up when nothing moves for TIME"),
};

static int is_collector(const struct push_opts *o, const char *url)
{
    size_t n = strcspn(url, "?#"), end = sizeof(COLLECTOR) - 1;

    if (o->to)
        return !strcmp(o->to, "collector");
    return n >= end && !strncmp(url + n - end, COLLECTOR, end);
}

/* ---- the token: never on the command line, where everybody reads it ---- */

/* The environment's is a collector's. Whoever may put an object somewhere has that in the URL, and the token
 * of another server is not for this one. */
static int read_token(const struct push_opts *o, int collector, struct buf *out, struct err *e)
{
    const char *own = collector ? getenv(TOKEN_NAME) : NULL;

    if (!o->token_file)
        buf_addstr(out, own ? own : "");
    else if (io_read_file(AT_FDCWD, o->token_file, out, e))
        return err_wrap(e, "--token-file");
    while (out->len && isspace((unsigned char)out->data[out->len - 1]))
        out->data[--out->len] = '\0';
    if (o->token_file && !out->len)
        return err_set(e, "--token-file: %s is empty", o->token_file);
    for (size_t i = 0; i < out->len; i++)
        if (!isgraph((unsigned char)out->data[i]))
            return err_set(e, "the token is no token: it has blanks or control characters");
    return out->len > TOKEN_MAX ? err_set(e, "the token has over %d bytes", TOKEN_MAX) : 0;
}

/* ---- what is sent ---- */

struct parcel {
    int fd;
    uint64_t size;
    struct buf meta; /* the text of meta.json */
    char *name;      /* "ID.tar.zst" */
};

static void parcel_release(struct parcel *p)
{
    if (p->fd >= 0)
        close(p->fd);
    buf_release(&p->meta);
    free(p->name);
}

/* Packed into a file without a name. */
static int pack(struct parcel *p, const struct session *s, struct err *e)
{
    const char *tmp = getenv("TMPDIR");
    int dirfd = open(session_files(s), O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
    struct packed_left left = {0};
    struct stat st;

    p->fd = open(tmp && *tmp ? tmp : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (p->fd < 0)
        p->fd = memfd_create("wprof-push", MFD_CLOEXEC);
    rc = dirfd < 0 || p->fd < 0 ? err_sys(e, errno, "%s", s->path) : product_is_whole(s, dirfd, e);
    if (rc)
        err_wrap(e, "%s", s->path);
    else
        rc = packed_write(dirfd, &s->meta, p->fd, &left, e);
    if (!rc)
        product_say_left(&left);
    buf_release(&left.names);
    if (!rc)
        rc = io_read_file(dirfd, SESSION_META, &p->meta, e);
    if (!rc && fstat(p->fd, &st))
        rc = err_sys(e, errno, "stat");
    if (!rc) {
        p->size = (uint64_t)st.st_size;
        p->name = mem_printf("%s.tar.zst", s->meta.session_id);
    }
    if (dirfd >= 0)
        close(dirfd);
    return rc;
}

/* ---- the sending ---- */

/* The server's words, on one line each and without what would move a terminal's cursor. */
static void say_body(const struct http_answer *a)
{
    const struct buf *body = &a->body;

    for (size_t i = 0; i < body->len; i++) {
        unsigned char c = (unsigned char)body->data[i];

        putchar(c >= ' ' || c == '\n' || c == '\t' ? c : '?');
    }
    if (body->len && body->data[body->len - 1] != '\n')
        putchar('\n');
    if (a->body_left)
        log_warn("the server's answer is longer: %llu bytes of it are left out",
                 (unsigned long long)a->body_left);
}

/* A collector's answer is {"ok": true, ...}: it may be false whatever the status is. A page is none: somebody
 * else answered, who asks for a login. NULL: it took it. Static. */
static const char *refusal(const struct buf *body)
{
    const char *text = buf_str(body);
    struct json_doc *doc;
    int ok;

    text += strspn(text, " \t\r\n");
    if (*text == '<')
        return "but with a page, as no collector does";
    doc = json_parse(buf_str(body), body->len, NULL);
    ok = !doc || json_get_bool(json_root(doc), "ok", 1);
    if (!doc && *text)
        log_warn("the answer is no JSON: is it a collector's?");
    json_free(doc);
    return ok ? NULL : "but says that it is not ok";
}

/* Whether it was taken: 0, -1 with `e`. */
static int judge(const struct http_request *r, const struct http_answer *a, const char *shown, struct err *e)
{
    const char *why;

    if (a->location.len)
        return err_set(e,
                       "%s: not taken, the server answers %ld: it wants it sent to %s, which is not followed",
                       shown, a->status, buf_str(&a->location));
    if (a->status < 200 || a->status > 299)
        return err_set(e, "%s: not taken, the server answers %ld", shown, a->status);
    why = r->nparts ? refusal(&a->body) : NULL;
    return why ? err_set(e, "%s: not taken, the server answers %ld, %s", shown, a->status, why) : 0;
}

/* Seconds before try number `n` + 1. */
static unsigned wait_s(unsigned n, uint64_t asked)
{
    uint64_t s = asked ? asked : (uint64_t)FIRST_WAIT_S << (n < 16 ? n : 16);

    return (unsigned)(s < LONGEST_S ? s : LONGEST_S);
}

/* The whole file each time: nothing is resumed. */
static int send_all(const struct push_opts *o, const struct http_request *r, struct http_answer *a,
                    struct err *e)
{
    for (unsigned n = 0;; n++) {
        int rc = http_send(r, a, e);
        unsigned s = wait_s(n, a->retry_after);

        if (!a->again || n >= o->retries)
            return rc;
        if (rc)
            log_warn("%s: again in %u s, from the start (%u of %llu)", e->msg, s, n + 1,
                     (unsigned long long)o->retries);
        else
            log_warn("the server answers %ld: again in %u s, from the start (%u of %llu)", a->status, s,
                     n + 1, (unsigned long long)o->retries);
        http_answer_release(a);
        *e = (struct err){0};
        sleep(s);
    }
}

static void warn_plain(const char *url, const struct buf *token)
{
    static const char *const near[] = {"http://localhost", "http://127.", "http://[::1]"};

    if (!token->len || strncmp(url, "http://", 7))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(near); i++)
        if (!strncmp(url, near[i], strlen(near[i])))
            return;
    log_warn("the token goes over http, which everybody on the way can read: https?");
}

static int push(const struct push_opts *o, const char *url, const struct session *s, const struct buf *token,
                struct err *e)
{
    struct parcel p = {.fd = -1};
    struct http_answer a = {0};
    struct http_request r = {
        .url = url, .token = token->len ? buf_str(token) : NULL, .ca_file = o->ca_file, .stall_ns = o->stall};
    struct http_part parts[] = {{.name = "meta", .file_name = "meta.json", .type = "application/json"},
                                {.name = "blob", .type = "application/zstd"}};
    struct buf shown = {0};
    char size[32];
    int rc = pack(&p, s, e);

    if (!rc) {
        parts[0].text = buf_str(&p.meta);
        parts[1].file_name = p.name;
        r.fd = p.fd;
        r.size = p.size;
        r.parts = parts;
        r.nparts = is_collector(o, url) ? ARRAY_SIZE(parts) : 0;
        http_shown(url, &shown);
        rc = send_all(o, &r, &a, e);
        if (rc)
            err_wrap(e, "%s", buf_str(&shown));
    }
    if (!rc) {
        say_body(&a);
        rc = judge(&r, &a, buf_str(&shown), e);
        if (!rc)
            log_info("%s, %s: taken (%ld)", p.name, units_size(size, sizeof(size), p.size), a.status);
    }
    http_answer_release(&a);
    parcel_release(&p);
    buf_release(&shown);
    return rc;
}

static int push_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct push_opts *o = values;
    struct session s = {0};
    struct buf token = {0};
    struct err e = {0};
    int rc;

    if (!argc || argc > 2)
        return command_usage(&cmd_push, argc ? "takes one session, '%s' is too many" : "where to? (a URL)",
                             argc ? argv[2] : "");
    if (strncmp(argv[0], "http://", 7) && strncmp(argv[0], "https://", 8))
        return command_usage(&cmd_push, "'%s' is no http:// or https:// URL", argv[0]);
    rc = read_token(o, is_collector(o, argv[0]), &token, &e);
    if (!rc) {
        warn_plain(argv[0], &token);
        rc = packed_open_meta(&s, argc > 1 ? argv[1] : NULL, &e);
    }
    if (!rc && argc == 1)
        log_info("session: %s (the newest here)", s.path);
    if (!rc)
        rc = push(o, argv[0], &s, &token, &e);
    if (rc)
        log_error("%s", e.msg);
    session_release(&s);
    if (token.data)
        explicit_bzero(token.data, token.len);
    buf_release(&token);
    return rc ? EXIT_FAILED : EXIT_OK;
}

const struct command cmd_push = {
    .name = "push",
    .summary = "send a session to a collector or an object store",
    .operands = "URL [SESSION]",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct push_opts),
    .examples = "wprof push --token-file token https://profiles.example.org/api/v1/collector/upload\n"
                "wprof push \"$PRESIGNED_URL\" wprof-train.py-20261130-101112-0a1b2c\n"
                "WPROF_TOKEN=$(pass collector) wprof push --to collector http://localhost:7101/upload",
    .run = push_run,
};
