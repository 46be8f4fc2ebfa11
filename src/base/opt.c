/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt.h"

#include "base/config.h"
#include "base/mem.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

/* ---- values ---- */

/* Is `text` one of "a|b|c"? */
static int is_choice(const char *choices, const char *text)
{
    size_t n = strlen(text);

    for (const char *p = choices;; p++) {
        size_t len = strcspn(p, "|");

        if (len == n && !memcmp(p, text, n))
            return 1;
        p += len;
        if (!*p)
            return 0;
    }
}

/* The choice nearest to `text` into e, where one is near. */
static int no_choice(const char *choices, const char *text, struct err *e)
{
    VEC(const char *) names = {0};
    char *list = mem_strdup(choices), *rest = list, *one;
    const char *near;

    while ((one = strsep(&rest, "|")))
        *vec_push(&names) = one;
    near = opt_nearest(text, names.a, names.n);
    err_set(e, "'%s' is none of %s%s%s%s", text, choices, near ? ", did you mean '" : "", near ? near : "",
            near ? "'?" : "");
    vec_release(&names);
    free(list);
    return -1;
}

static int store(const struct opt *o, const char *text, void *values, struct err *e)
{
    void *field = (char *)values + o->offset;
    struct opt_list *list = field;

    switch (o->type) {
    case OPT_TYPE_FLAG:
        *(int *)field = 1;
        return 0;
    case OPT_TYPE_CHOICE:
        if (!is_choice(o->choices, text))
            return no_choice(o->choices, text, e);
        *(const char **)field = text;
        return 0;
    case OPT_TYPE_STRING:
        *(const char **)field = text;
        return 0;
    case OPT_TYPE_UINT:
        return units_parse_uint(text, field, e);
    case OPT_TYPE_DURATION:
        return units_parse_duration(text, field, e);
    case OPT_TYPE_SIZE:
        return units_parse_size(text, field, e);
    case OPT_TYPE_LIST:
        *vec_push(list) = text;
        return 0;
    }
    return err_set(e, "option of unknown type");
}

static int store_default(const struct opt *o, const struct config *cfg, void *values, struct err *e)
{
    const char *text = o->value, *origin = "default";

    if (o->setting && cfg) {
        text = config_get(cfg, o->setting, &origin);
        if (!text)
            return err_set(e, "setting %s of --%s is missing in config.def", o->setting, o->name);
    }
    if (!text || !*text)
        return 0;
    if (store(o, text, values, e))
        return err_wrap(e, "%s: --%s", origin, o->name);
    return 0;
}

void opt_release(const struct opt *opts, size_t n, void *values)
{
    for (size_t i = 0; i < n; i++) {
        if (opts[i].type == OPT_TYPE_LIST) {
            struct opt_list *list = (void *)((char *)values + opts[i].offset);

            vec_release(list);
        }
    }
}

static void spell(const struct opt *o, const void *field, struct opt_args *out)
{
    const struct opt_list *list = field;
    const char *text;

    switch (o->type) {
    case OPT_TYPE_FLAG:
        if (*(const int *)field)
            *vec_push(&out->list) = mem_printf("--%s", o->name);
        break;
    case OPT_TYPE_STRING:
    case OPT_TYPE_CHOICE:
        text = *(const char *const *)field;
        if (text)
            *vec_push(&out->list) = mem_printf("--%s=%s", o->name, text);
        break;
    case OPT_TYPE_UINT:
    case OPT_TYPE_SIZE:
    case OPT_TYPE_DURATION:
        *vec_push(&out->list) =
            mem_printf("--%s=%llu%s", o->name, (unsigned long long)*(const uint64_t *)field,
                       o->type == OPT_TYPE_DURATION ? "ns" : "");
        break;
    case OPT_TYPE_LIST:
        for (size_t i = 0; i < list->n; i++)
            *vec_push(&out->list) = mem_printf("--%s=%s", o->name, list->a[i]);
        break;
    }
}

void opt_spell(const struct opt *opts, size_t n, const void *values, struct opt_args *out)
{
    for (size_t i = 0; i < n; i++)
        spell(&opts[i], (const char *)values + opts[i].offset, out);
}

/* ---- parsing ---- */

struct parse {
    const struct opt *opts;
    size_t nopts;
    int argc, at; /* at: the next argument */
    char **argv;
    void *values;
    struct err *e;
    int format; /* --format was given */
};

static int unknown_long(const struct parse *ps, const char *name, size_t n)
{
    VEC(const char *) names = {0};
    char *word = mem_strndup(name, n);
    const char *near;

    for (size_t i = 0; i < ps->nopts; i++)
        *vec_push(&names) = ps->opts[i].name;
    near = opt_nearest(word, names.a, names.n);
    if (near)
        err_set(ps->e, "unknown option --%s, did you mean --%s?", word, near);
    else
        err_set(ps->e, "unknown option --%s", word);
    vec_release(&names);
    free(word);
    return -1;
}

static int takes_many(const struct opt *o)
{
    size_t n = o->type == OPT_TYPE_LIST ? strlen(o->arg) : 0;

    return n > 3 && !strcmp(o->arg + n - 3, "...");
}

/* Takes the option's argument from behind "=" or the letter (inlined), or from the next word. */
static int take(struct parse *ps, const struct opt *o, const char *inlined)
{
    const char *text = inlined;

    if (o->type != OPT_TYPE_FLAG && !text) {
        if (ps->at == ps->argc)
            return err_set(ps->e, "--%s needs an argument %s", o->name, o->arg);
        text = ps->argv[ps->at++];
    }
    if (store(o, text, ps->values, ps->e))
        return err_wrap(ps->e, "--%s", o->name);
    ps->format |= o->type == OPT_TYPE_CHOICE && !strcmp(o->name, "format");
    while (takes_many(o) && !inlined && ps->at < ps->argc && ps->argv[ps->at][0] != '-')
        if (store(o, ps->argv[ps->at++], ps->values, ps->e))
            return err_wrap(ps->e, "--%s", o->name);
    return 0;
}

static int parse_long(struct parse *ps, const char *name)
{
    size_t n = strcspn(name, "=");

    for (size_t i = 0; i < ps->nopts; i++) {
        const struct opt *o = &ps->opts[i];

        if (strlen(o->name) != n || memcmp(o->name, name, n))
            continue;
        if (o->type == OPT_TYPE_FLAG && name[n])
            return err_set(ps->e, "--%s takes no argument", o->name);
        return take(ps, o, name[n] ? name + n + 1 : NULL);
    }
    return unknown_long(ps, name, n);
}

/* "-ab", "-F99", "-F 99". */
static int parse_letters(struct parse *ps, const char *letters)
{
    for (const char *p = letters; *p; p++) {
        const struct opt *o = NULL;

        for (size_t i = 0; i < ps->nopts && !o; i++)
            if (ps->opts[i].letter == *p)
                o = &ps->opts[i];
        if (!o)
            return err_set(ps->e, "unknown option -%c", *p);
        if (o->type != OPT_TYPE_FLAG)
            return take(ps, o, p[1] ? p + 1 : NULL);
        if (take(ps, o, NULL))
            return -1;
    }
    return 0;
}

static const struct opt *find(const struct parse *ps, enum opt_type type, const char *name)
{
    for (size_t i = 0; i < ps->nopts; i++)
        if (ps->opts[i].type == type && !strcmp(ps->opts[i].name, name))
            return &ps->opts[i];
    return NULL;
}

/* The format that was not given is what the file's name ends with, where there is such a one. */
static int take_ending(struct parse *ps)
{
    const struct opt *format = find(ps, OPT_TYPE_CHOICE, "format"),
                     *output = find(ps, OPT_TYPE_STRING, "output");
    const char *path = output ? *(const char **)((char *)ps->values + output->offset) : NULL,
               *dot = path ? strrchr(path, '.') : NULL;

    if (!format || !dot || ps->format || !is_choice(format->choices, dot + 1))
        return 0;
    return store(format, dot + 1, ps->values, ps->e);
}

int opt_parse(const struct opt *opts, size_t n, int stop_at_operand, const struct config *cfg, int argc,
              char **argv, void *values, struct err *e)
{
    struct parse ps = {opts, n, argc, 1, argv, values, e, 0};
    VEC(char *) operands = {0};
    int rc = 0, first;

    for (size_t i = 0; i < n && !rc; i++)
        rc = store_default(&opts[i], cfg, values, e);
    while (!rc && ps.at < argc) {
        char *arg = argv[ps.at];

        if (arg[0] != '-' || !arg[1]) {
            if (stop_at_operand)
                break;
            *vec_push(&operands) = arg;
            ps.at++;
            continue;
        }
        ps.at++;
        if (!strcmp(arg, "--"))
            break;
        rc = arg[1] == '-' ? parse_long(&ps, arg + 2) : parse_letters(&ps, arg + 1);
    }
    rc = rc ? rc : take_ending(&ps);
    first = ps.at - (int)operands.n; /* operands found so far move to just before the rest */
    for (size_t i = 0; i < operands.n && !rc; i++)
        argv[first + (int)i] = operands.a[i];
    vec_release(&operands);
    return rc ? -1 : first;
}
