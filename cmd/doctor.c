/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include "base/json.h"
#include "base/log.h"
#include "doctor_python.h"
#include "platform/probe.h"
#include "product.h"
#include "render/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct doctor_opts {
    int json;
    const char *root;
};

static const struct opt options[] = {
    OPT_FLAG(0, "json", struct doctor_opts, json, "as JSON"),
    OPT_STRING(0, "root", struct doctor_opts, root, "DIR",
               "look at a copy of a machine's /proc and /sys in DIR, not at this machine"),
};

/* ---- JSON ---- */

static void tier_json(struct json_writer *w, const struct probe_tier *t)
{
    char letter[2] = {t->letter, '\0'};

    json_object(w, NULL);
    json_str(w, "tier", letter);
    json_str(w, "name", t->name);
    json_bool(w, "in_build", t->in_build);
    json_str(w, "state", probe_state_name(t->state));
    json_str(w, "why", t->why);
    json_str(w, "grant", t->grant);
    json_end_object(w);
}

static void item_json(struct json_writer *w, const struct probe_item *it)
{
    json_object(w, NULL);
    json_str(w, "id", it->id);
    json_str(w, "state", probe_state_name(it->state));
    json_str(w, "seen", it->seen);
    json_str(w, "costs", it->costs);
    json_str(w, "grant", it->grant);
    json_end_object(w);
}

static void add_json(struct buf *out, const struct probe *p)
{
    const struct probe_tier *best = probe_best(p);
    struct json_writer w = {.out = out, .indent = 2};

    json_object(&w, NULL);
    json_u64(&w, "version", 1);
    json_bool(&w, "records", best != NULL);
    json_str(&w, "tier", best ? (char[2]){best->letter, '\0'} : NULL);
    json_array(&w, "tiers");
    for (size_t i = 0; i < PROBE_TIERS; i++)
        tier_json(&w, &p->tiers[i]);
    json_end_array(&w);
    json_array(&w, "items");
    for (size_t i = 0; i < p->items.n; i++)
        item_json(&w, &p->items.a[i]);
    json_end_array(&w);
    json_object(&w, "calls");
    for (size_t i = 0; i < PROBE_CALLS; i++)
        json_str(&w, probe_call_name((enum probe_call)i), probe_answer_name(p->calls.answers[i]));
    json_end_object(&w);
    json_end_object(&w);
    buf_addch(out, '\n');
}

/* ---- text ---- */

enum { NAME_WIDTH = 15, STATE_WIDTH = 9, INDENT = 2 + NAME_WIDTH + STATE_WIDTH, WIDTH = 110, WIDTH_MIN = 60 };

struct page {
    struct buf *out;
    int color;
    size_t width;
    VEC(const char *) grants; /* each once, numbered from 1; borrowed */
};

static void add_state(const struct page *p, enum probe_state s)
{
    static const char *const colors[] = {[PROBE_OK] = "\033[32m",
                                         [PROBE_LIMITED] = "\033[33m",
                                         [PROBE_NO] = "\033[31m",
                                         [PROBE_UNKNOWN] = "\033[2m"};

    buf_addf(p->out, "%s%-*s%s", p->color ? colors[s] : "", STATE_WIDTH, probe_state_name(s),
             p->color ? "\033[0m" : "");
}

/* The text from column INDENT on, broken between words. */
static void add_wrapped(const struct page *p, const char *text)
{
    text_wrap(p->out, text, p->width, INDENT, INDENT);
}

/* Its number: what is said below once is needed by several. */
static size_t grant_number(struct page *p, const char *grant)
{
    for (size_t i = 0; i < p->grants.n; i++)
        if (!strcmp(p->grants.a[i], grant))
            return i + 1;
    *vec_push(&p->grants) = grant;
    return p->grants.n;
}

static void add_mark(struct page *p, struct buf *text, const char *grant)
{
    if (grant)
        buf_addf(text, " [%zu]", grant_number(p, grant));
}

static void add_tier(struct page *p, const struct probe_tier *t)
{
    struct buf text = {0};

    buf_addf(p->out, "  %c %-*s", t->letter, NAME_WIDTH - 2, t->name);
    add_state(p, t->state);
    buf_addf(&text, "%s%s", t->why, t->in_build ? "" : "; not in this build of wprof");
    add_mark(p, &text, t->in_build ? t->grant : NULL);
    add_wrapped(p, buf_str(&text));
    buf_release(&text);
}

static void add_item(struct page *p, const struct probe_item *it)
{
    size_t at = p->out->len;
    struct buf text = {0};

    buf_addf(p->out, "  %-*s", NAME_WIDTH, it->id);
    for (char *c = p->out->data + at; (c = strchr(c, '_'));)
        *c = ' ';
    add_state(p, it->state);
    add_wrapped(p, it->seen);
    if (it->costs) {
        buf_addf(&text, "costs: %s", it->costs);
        add_mark(p, &text, it->grant);
        buf_addf(p->out, "%*s", INDENT, "");
        add_wrapped(p, buf_str(&text));
    }
    buf_release(&text);
}

static void add_text(struct page *p, const struct probe *probe)
{
    const struct probe_tier *best = probe_best(probe);
    const char *bold = p->color ? "\033[1m" : "", *plain = p->color ? "\033[0m" : "";

    if (best)
        buf_addf(p->out, "%swprof records here, with tier %c%s\n\n", bold, best->letter, plain);
    else
        buf_addf(p->out, "%swprof cannot record here%s\n\n", bold, plain);
    for (size_t i = 0; i < PROBE_TIERS; i++)
        add_tier(p, &probe->tiers[i]);
    buf_addch(p->out, '\n');
    for (size_t i = 0; i < probe->items.n; i++)
        add_item(p, &probe->items.a[i]);
    if (p->grants.n)
        buf_addstr(p->out, "\nWhat grants it:\n");
    for (size_t i = 0; i < p->grants.n; i++) /* in one piece, to be copied */
        buf_addf(p->out, "  [%zu] %s\n", i + 1, p->grants.a[i]);
}

/* ---- the command ---- */

static int check_root(const char *root)
{
    struct stat st;

    if (stat(root, &st) < 0 || !S_ISDIR(st.st_mode)) {
        log_error("doctor: --root %s is no directory", root);
        return -1;
    }
    return 0;
}

static void print_text(const struct probe *p)
{
    size_t width = product_width();
    struct buf out = {0};
    struct page page = {.out = &out,
                        .color = product_color(),
                        .width = !width              ? WIDTH
                                 : width < WIDTH_MIN ? WIDTH_MIN
                                                     : width};

    add_text(&page, p);
    fputs(buf_str(&out), stdout);
    vec_release(&page.grants);
    buf_release(&out);
}

static void print_json(const struct probe *p)
{
    struct buf out = {0};

    add_json(&out, p);
    fputs(buf_str(&out), stdout);
    buf_release(&out);
}

static int doctor_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct doctor_opts *o = values;
    struct probe p;
    int code;

    if (argc)
        return command_usage(&cmd_doctor, "takes no operands, '%s' is too many", argv[0]);
    if (o->root && check_root(o->root))
        return EXIT_FAILED;
    probe_run(&p, o->root);
    if (!o->root)
        doctor_python(&p);
    if (o->json)
        print_json(&p);
    else
        print_text(&p);
    code = probe_best(&p) ? EXIT_OK : EXIT_FAILED;
    probe_release(&p);
    return code;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "tell what can be recorded here, what not, why, and what grants it",
    .operands = "",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct doctor_opts),
    .examples = "wprof doctor\nsudo wprof doctor\nwprof doctor --json",
    .run = doctor_run,
};
