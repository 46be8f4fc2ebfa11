/* SPDX-License-Identifier: Apache-2.0 */
/* Thresholds as the table has them, as they are set, as they are shown; rules of the user's. */
#include "analyze/rule.h"

#include "base/opt.h"

#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest first where one is the end of another. */
static const struct unit_factor {
    const char *suffix;
    double factor;
} factors[] = {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"%", 1e-2}, {"s", 1}, {"", 1}};

void rule_settings_release(struct rule_settings *x)
{
    for (size_t i = 0; i < x->values.n; i++)
        free(x->values.a[i].name);
    for (size_t i = 0; i < x->own.n; i++) {
        free(x->own.a[i].name);
        free(x->own.a[i].pattern);
        free(x->own.a[i].advice);
    }
    vec_release(&x->values);
    vec_release(&x->own);
    vec_release(&x->only);
}

/* "25%", "10 ms", "3". The suffix, NULL: it is no number. */
static const struct unit_factor *parse_number(const char *text, size_t n, double *value)
{
    char copy[64], *end;

    if (!n || n >= sizeof(copy))
        return NULL;
    memcpy(copy, text, n);
    copy[n] = '\0';
    *value = strtod(copy, &end);
    if (end == copy || !isfinite(*value) || *value < 0)
        return NULL;
    end += strspn(end, " ");
    for (size_t i = 0; i < ARRAY_SIZE(factors); i++) {
        if (strcmp(end, factors[i].suffix))
            continue;
        *value *= factors[i].factor;
        return &factors[i];
    }
    return NULL;
}

/* Where a threshold stands in the rule's text: its value; NULL: it has none of that name. */
static const char *find_threshold(const struct rule *rule, const char *name, size_t n)
{
    const char *p = rule->thresholds;

    while (*p) {
        size_t word = strcspn(p, " ");

        if (word > n && !strncmp(p, name, n) && p[n] == '=')
            return p + n + 1;
        p += word + strspn(p + word, " ");
    }
    return NULL;
}

size_t rule_threshold_name(const struct rule *rule, size_t i, char *name, size_t n)
{
    const char *p = rule->thresholds;
    size_t len;

    while (i-- > 0 && *p) {
        p += strcspn(p, " ");
        p += strspn(p, " ");
    }
    len = strcspn(p, "=");
    if (!*p || len >= n)
        return 0;
    memcpy(name, p, len);
    name[len] = '\0';
    return len;
}

double rule_setting(const struct rule_settings *x, const struct rule *rule, const char *threshold)
{
    const char *text = find_threshold(rule, threshold, strlen(threshold));
    size_t id = strlen(rule->id);
    double value = 0;

    for (size_t i = x ? x->values.n : 0; i > 0; i--) {
        const char *name = x->values.a[i - 1].name;

        if (!strncmp(name, rule->id, id) && name[id] == '.' && !strcmp(name + id + 1, threshold))
            return x->values.a[i - 1].value;
    }
    if (text)
        parse_number(text, strcspn(text, " "), &value);
    return value;
}

char *rule_spell(char *out, size_t n, const struct rule *rule, const char *threshold, double value)
{
    const char *text = find_threshold(rule, threshold, strlen(threshold));
    double number = 0;
    const struct unit_factor *f = text ? parse_number(text, strcspn(text, " "), &number) : NULL;

    if (!f || !*f->suffix)
        snprintf(out, n, "%.10g", value);
    else
        snprintf(out, n, "%.10g %s", value / f->factor, f->suffix);
    return out;
}

/* ---- setting ---- */

static int no_rule(const char *id, size_t n, struct err *e)
{
    const char **ids = mem_alloc(nrules * sizeof(*ids));
    char *name = mem_strndup(id, n);
    const char *near;

    for (size_t i = 0; i < nrules; i++)
        ids[i] = rules[i].id;
    near = opt_nearest(name, ids, nrules);
    err_set(e, "no rule '%s'%s%s%s", name, near ? ", did you mean '" : " (wprof-rules(7) lists them)",
            near ? near : "", near ? "'?" : "");
    free(ids);
    free(name);
    return -1;
}

static const struct rule *find_rule(const char *id, size_t n)
{
    for (size_t i = 0; i < nrules; i++)
        if (strlen(rules[i].id) == n && !memcmp(rules[i].id, id, n))
            return &rules[i];
    return NULL;
}

static char *trimmed(const char *s, size_t n)
{
    while (n && strchr(" \t", *s)) {
        s++;
        n--;
    }
    while (n && strchr(" \t\r\n", s[n - 1]))
        n--;
    return mem_strndup(s, n);
}

/* "PATTERN > SHARE : ADVICE" */
static int set_own(struct rule_settings *x, const char *name, const char *value, struct err *e)
{
    const char *more = NULL, *colon;
    struct rule_own own = {0};
    regex_t re;

    for (const char *p = value; (p = strstr(p, " > ")); p++)
        more = p;
    colon = more ? strchr(more, ':') : NULL;
    if (!colon || !parse_number(more + 3, strcspn(more + 3, " :"), &own.share) || own.share > 1)
        return err_set(
            e, "%s: want PATTERN > SHARE : ADVICE, as in 'json[.]loads > 5%% : parse it once', not '%s'",
            name, value);
    own.pattern = trimmed(value, (size_t)(more - value));
    own.advice = trimmed(colon + 1, strlen(colon + 1));
    if (!*own.pattern || regcomp(&re, own.pattern, REG_EXTENDED | REG_NOSUB)) {
        err_set(e, "%s: '%s' is no extended regular expression", name, own.pattern);
        free(own.pattern);
        free(own.advice);
        return -1;
    }
    regfree(&re);
    own.name = mem_strdup(name);
    for (size_t i = 0; i < x->own.n; i++) {
        struct rule_own *old = &x->own.a[i];

        if (strcmp(old->name, name))
            continue;
        free(old->name);
        free(old->pattern);
        free(old->advice);
        *old = own;
        return 0;
    }
    *vec_push(&x->own) = own;
    return 0;
}

int rule_set(struct rule_settings *x, const char *name, const char *value, struct err *e)
{
    const char *dot = strchr(name, '.'), *text;
    const struct rule *rule;
    double number;

    if (!dot || !dot[1])
        return err_set(e, "'%s': want RULE.THRESHOLD, as in gil-wait.share", name);
    if (!strncmp(name, "own.", 4))
        return set_own(x, name, value, e);
    rule = find_rule(name, (size_t)(dot - name));
    if (!rule)
        return no_rule(name, (size_t)(dot - name), e);
    text = find_threshold(rule, dot + 1, strlen(dot + 1));
    if (!text)
        return err_set(e, "rule %s has no threshold '%s'%s%s", rule->id, dot + 1,
                       *rule->thresholds ? "; it has " : ": it has none", rule->thresholds);
    if (!parse_number(value, strlen(value), &number))
        return err_set(e, "%s: '%s' is no number with a unit, as in %.*s", name, value,
                       (int)strcspn(text, " "), text);
    if (strchr(text, '%') && (size_t)(strchr(text, '%') - text) < strcspn(text, " ") && !strchr(value, '%') &&
        number > 1)
        return err_set(e, "%s: %s is more than all; want %s%% or a share from 0 to 1", name, value, value);
    *vec_push(&x->values) = (struct rule_value){mem_strdup(name), number};
    return 0;
}

int rule_only(struct rule_settings *x, const char *id, struct err *e)
{
    int own = 0;

    for (size_t i = 0; i < x->own.n; i++)
        own |= !strcmp(x->own.a[i].name, id);
    if (!own && !rule_find(id))
        return no_rule(id, strlen(id), e);
    *vec_push(&x->only) = id;
    return 0;
}
