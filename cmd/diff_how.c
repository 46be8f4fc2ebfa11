/* SPDX-License-Identifier: Apache-2.0 */
#include "diff.h"

#include "command.h"
#include "product.h"

#include "base/log.h"
#include "base/write_behind.h"
#include "render/diff_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "5%", "5 %", "0.05". */
static int parse_share(const char *option, const char *text, double *share, struct err *e)
{
    char *end;

    if (!text)
        return 0;
    *share = strtod(text, &end);
    if (end > text && !strcmp(end + strspn(end, " "), "%")) {
        *share /= 100;
        end += strlen(end);
    }
    if (end == text || *end || !(*share >= 0) || *share > 1000)
        return err_set(e, "%s %s: a share is wanted, such as 5%% or 0.05", option, text);
    return 0;
}

int diff_how(struct compare_opts *how, const struct diff_opts_how *o, struct err *e)
{
    how->per = o->per;
    how->only = o->only;
    how->self = o->self;
    for (int l = 0; l < COMPARISON_LEVELS; l++)
        if (!strcmp(comparison_level_name((enum comparison_level)l), o->by))
            how->by = (enum comparison_level)l;
    if (parse_share("--min-share", o->min_share, &how->min_share, e) ||
        parse_share("--alpha", o->alpha, &how->alpha, e) ||
        parse_share("--fail-above", o->fail_above, &how->fail_above, e))
        return -1;
    if (!(how->alpha > 0 && how->alpha < 1))
        return err_set(e, "--alpha %s: between 0 and 1 is wanted", o->alpha);
    if (o->fail_above && !(how->fail_above > 0))
        return err_set(e, "--fail-above %s: above 0 is wanted", o->fail_above);
    return 0;
}

const struct diff_renderer *diff_how_renderer(const struct diff_opts_how *o)
{
    return diff_renderer_find(o->json ? "json" : o->format);
}

int diff_compare(struct comparison *out, struct compare_opts *how,
                 const struct diff_paths side[COMPARISON_SIDES], const struct diff_renderer *r, struct err *e)
{
    struct compare *c;
    int rc;

    how->tree = r->wants_tree || how->by == COMPARISON_STACKS;
    how->tree_alone = r->tree_alone && !(how->fail_above > 0);
    how->self_alone = how->tree_alone && r->self_alone;
    how->single = side[0].list.n == 1 && side[1].list.n == 1;
    c = compare_new(how);
    rc = diff_load(c, side, e);
    if (!rc)
        rc = compare_finish(c, out, e);
    compare_free(c);
    return rc;
}

static int write_file(void *arg, const struct buf *text, struct err *e)
{
    return product_add(arg, text, e);
}

static int write_stdout(void *arg, const struct buf *text, struct err *e)
{
    return fwrite(text->data, 1, text->len, stdout) == text->len ? 0 : err_sys(e, errno, "stdout");
}

static int put_behind(void *arg, struct buf *text, struct err *e)
{
    return write_behind_put(arg, text, e);
}

/* What is not in `out` when it is done went to `write`. */
static int render(const struct diff_product *p, const struct comparison *c, struct diff_style *style,
                  write_behind_fn write, void *arg, struct buf *out, struct err *e)
{
    struct write_behind behind;
    struct profile_folded_sink sink = {put_behind, &behind};
    int rc;

    write_behind_init(&behind, write, arg);
    style->sink = &sink;
    rc = p->renderer->render(c, style, out, e);
    return write_behind_finish(&behind, rc, e);
}

static int put_file(const struct diff_product *p, const struct comparison *c, struct err *e)
{
    struct product_file f;
    struct diff_style style = p->style;
    struct buf out = {0};
    int rc = product_open(&f, p->output, e);

    if (!rc)
        rc = render(p, c, &style, write_file, &f, &out, e);
    if (!rc)
        rc = product_add(&f, &out, e);
    buf_release(&out);
    return product_close(&f, rc, e);
}

static int put_stdout(const struct diff_product *p, const struct comparison *c, struct err *e)
{
    struct diff_style style = p->style;
    struct buf out = {0};
    int rc;

    style.text = (struct text_style){product_color(), product_width(), 0};
    rc = render(p, c, &style, write_stdout, NULL, &out, e);
    if (!rc)
        product_print(&out);
    buf_release(&out);
    return rc;
}

/* Beside what was written: on standard output where that is free for it. */
static void say(const struct diff_product *p, char *sentence)
{
    if (sentence && p->output)
        printf("%s\n", sentence);
    else if (sentence && p->renderer != &diff_text)
        log_info("%s", sentence);
    free(sentence);
}

int diff_put(const struct diff_product *p, const struct comparison *c, struct err *e)
{
    int rc = p->output ? put_file(p, c, e) : put_stdout(p, c, e);

    for (size_t i = 0; !rc && i < c->steps.n; i++)
        say(p, diff_step(&c->steps.a[i]));
    if (!rc)
        say(p, diff_verdict(c));
    return rc;
}

int diff_code(const struct comparison *c, int bisect)
{
    switch (c->verdict) {
    case COMPARISON_FAILS:
        return EXIT_GATE;
    case COMPARISON_NO_JUDGEMENT:
        return bisect ? DIFF_BISECT_SKIP : EXIT_FAILED;
    default:
        return EXIT_OK;
    }
}
