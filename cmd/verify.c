/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"
#include "command.h"
#include "product.h"

#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "collect/gpu_rest.h"
#include "model/session_dir.h"
#include "model/session_extra.h"
#include "platform/packed.h"
#include "render/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct opt options[] = {
    OPT_FLAG(0, "repair", struct verify_opts, repair,
             "write what can be read as a new, whole session beside it"),
    OPT_STRING('o', "output", struct verify_opts, output, "DIR",
               "the repaired session (default: SESSION-repaired)"),
    OPT_FLAG(0, "force", struct verify_opts, force, "replace DIR where it is a wprof session"),
    OPT_FLAG('j', "json", struct verify_opts, json, "as JSON"),
};

static const char *const words[] = {"whole", "missing", "changed", "no sum"};

/* ---- what is found ---- */

/* Of the log itself, besides its sum. */
static void check_log(struct verified *v, const struct session *s, const struct store_load *load)
{
    v->events = s->store.events.n;
    if (s->bad_bytes)
        v->log = mem_printf("damaged after %llu bytes: %s; the %llu bytes behind are lost",
                            (unsigned long long)load->good_bytes,
                            *load->why.msg ? load->why.msg : "it goes on behind its end",
                            (unsigned long long)s->bad_bytes);
    else if (load->lost_blocks)
        v->log = mem_printf("%llu damaged block%s of events: lost", (unsigned long long)load->lost_blocks,
                            load->lost_blocks == 1 ? "" : "s");
    else if (!load->ended)
        v->log = mem_strdup("cut off: its recorder did not come to the end");
}

static void check_files(struct verified *v, struct session *s, int dirfd)
{
    for (size_t i = 0; i < s->meta.artifacts.n; i++) {
        enum session_file f = session_check(dirfd, &s->meta.artifacts.a[i]);

        *vec_push(&v->files) = f;
        v->damaged |= f != SESSION_FILE_OK;
    }
    session_list(s, SESSION_EXTRA);
    session_list(s, SESSION_REPORTS);
    while (v->files.n < s->meta.artifacts.n)
        *vec_push(&v->files) = SESSION_FILE_UNSUMMED;
}

void verify_session(struct verified *v, struct session *s)
{
    struct err e = {0};
    int dirfd = open(session_files(s), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    *v = (struct verified){0};
    if (dirfd >= 0) {
        session_dir_holds(dirfd, &v->recording);
        check_files(v, s, dirfd);
        close(dirfd);
    }
    if (session_salvage(s, &v->load, &e)) {
        v->unreadable = 1;
        v->log = mem_strdup(e.msg);
    } else {
        gpu_rest_take(s);
        check_log(v, s, &v->load);
    }
    v->damaged |= v->log && !v->recording;
}

void verified_release(struct verified *v)
{
    free(v->log);
    vec_release(&v->files);
}

/* ---- what is said ---- */

static void text_of_events(const struct verified *v, const struct session *s, struct buf *out)
{
    buf_addf(out, "  %-20s %llu readable\n", "events", (unsigned long long)v->events);
    if (s->agent_events)
        buf_addf(out, "  %-20s %llu of them in logs of GPU agents, which the recorder had not read\n",
                 SESSION_AGENTS, (unsigned long long)s->agent_events);
    if (s->agent_bytes)
        buf_addf(out, "  %-20s %llu bytes of GPU records can't be read\n", SESSION_AGENTS,
                 (unsigned long long)s->agent_bytes);
}

static void text_of(const struct verified *v, const struct session *s, const char *path, struct buf *out)
{
    char size[32];

    buf_addf(out, "%s: %s\n", path, v->recording ? "still being recorded" : v->damaged ? "damaged" : "whole");
    if (v->log)
        buf_addf(out, "  %-20s %s\n", SESSION_LOG, v->log);
    if (!v->unreadable)
        text_of_events(v, s, out);
    for (size_t i = 0; i < v->files.n; i++) {
        const struct meta_artifact *a = &s->meta.artifacts.a[i];
        struct buf name = {0};

        text_clean(a->path ? a->path : "", 0, &name); /* whoever gave it */
        buf_addf(out, "  %-20s %-8s %s\n", buf_str(&name), words[v->files.a[i]],
                 units_size(size, sizeof(size), a->size));
        buf_release(&name);
    }
}

static void json_of(struct json_writer *w, const struct verified *v, const struct session *s,
                    const char *path)
{
    json_object(w, NULL);
    json_str(w, "session", path);
    json_bool(w, "whole", !v->damaged);
    json_bool(w, "recording", v->recording);
    json_str(w, "log", v->log);
    json_u64(w, "events", v->events);
    json_u64(w, "lost_blocks", v->load.lost_blocks);
    json_u64(w, "lost_bytes", s->bad_bytes);
    json_array(w, "files");
    for (size_t i = 0; i < v->files.n; i++) {
        json_object(w, NULL);
        json_str(w, "path", s->meta.artifacts.a[i].path);
        json_str(w, "state", words[v->files.a[i]]);
        json_end_object(w);
    }
    json_end_array(w);
    json_end_object(w);
}

/* ---- the command ---- */

struct verifying {
    const struct verify_opts *opts;
    struct buf text;
    struct json_writer json;
    int damaged, failed;
};

/* -1 with `e`: it could not be looked at, or not be repaired. */
static int verify_one(struct verifying *x, const char *path, struct err *e)
{
    struct session s;
    struct verified v;
    char *name;
    int rc = 0;

    if (packed_open_damaged(&s, path, e))
        return -1;
    name = mem_strdup(s.path);
    verify_session(&v, &s);
    if (x->opts->json)
        json_of(&x->json, &v, &s, name);
    else
        text_of(&v, &s, name, &x->text);
    x->damaged |= v.damaged && !x->opts->repair;
    if (x->opts->repair && !v.damaged)
        log_info("%s is %s: nothing is to be repaired", name, v.recording ? "still being recorded" : "whole");
    else if (x->opts->repair)
        rc = verify_repair(x->opts, &s, &v, e);
    session_release(&s);
    verified_release(&v);
    free(name);
    return rc;
}

static int verify_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct verify_opts *o = values;
    struct verifying x = {.opts = o, .json = {.out = &x.text, .indent = 2}};
    struct err e;

    if (o->output && (!o->repair || argc > 1))
        return command_usage(&cmd_verify, "-o names the one session that --repair makes");
    if (o->json)
        json_array(&x.json, NULL);
    for (int i = 0; i < argc || i < 1; i++) {
        e = (struct err){0};
        if (verify_one(&x, i < argc ? argv[i] : NULL, &e)) {
            log_error("%s", e.msg);
            x.failed = 1;
        }
    }
    if (o->json) {
        json_end_array(&x.json);
        buf_addch(&x.text, '\n');
    }
    product_print(&x.text);
    buf_release(&x.text);
    return x.failed ? EXIT_FAILED : x.damaged ? EXIT_GATE : EXIT_OK;
}

const struct command cmd_verify = {
    .name = "verify",
    .summary = "check every block and file of a session; save what is left of a damaged one",
    .operands = "[SESSION...]",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct verify_opts),
    .examples = "wprof verify\n"
                "wprof verify --json run-*/ | jq '.[] | select(.whole | not)'\n"
                "wprof verify --repair -o saved wprof-train.py-20261130-101112-0a1b2c",
    .run = verify_run,
};
