/* SPDX-License-Identifier: Apache-2.0 */
#include "base/config.h"

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/units.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum setting_type { UINT, DURATION, SIZE, TEXT };

struct setting {
    const char *key;
    enum setting_type type;
    const char *value, *help;
};

static const struct setting settings[] = {
#define SETTING(key, type, value, help) {key, type, value, help},
#include "base/config.def"
#undef SETTING
};

/* Names in the environment that begin like settings and are none: what other parts of wprof and its tests
 * read. */
static const char *const internal_env[] = {"WPROF_MARKS", "WPROF_GPU",   "WPROF_GPU_TICK_MS",
                                           "WPROF_FLOWS", "WPROF_TOKEN", "WPROF_SHARED_DATA"};

struct value {
    char *text, *origin; /* NULL: the default */
};

#define OPEN_SECTION "rules" /* the one whose keys the table does not list */

struct config {
    struct value values[ARRAY_SIZE(settings)];
    VEC(struct config_pair) pairs;
};

size_t config_pairs(const struct config *c, const char *section, const struct config_pair **pairs)
{
    *pairs = c->pairs.a;
    return strcmp(section, OPEN_SECTION) ? 0 : c->pairs.n;
}

size_t config_count(void)
{
    return ARRAY_SIZE(settings);
}

const char *config_key(size_t i)
{
    return settings[i].key;
}

const char *config_help(size_t i)
{
    return settings[i].help;
}

static int find_setting(const char *key)
{
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
        if (!strcmp(settings[i].key, key))
            return (int)i;
    return -1;
}

static const char *nearest_key(const char *key)
{
    const char *keys[ARRAY_SIZE(settings)];

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
        keys[i] = settings[i].key;
    return opt_nearest(key, keys, ARRAY_SIZE(settings));
}

static int check_value(const struct setting *s, const char *text, struct err *e)
{
    uint64_t v;

    switch (s->type) {
    case UINT:
        return units_parse_uint(text, &v, e);
    case DURATION:
        return units_parse_duration(text, &v, e);
    case SIZE:
        return units_parse_size(text, &v, e);
    case TEXT:
        break;
    }
    return 0;
}

/* Takes `origin` over. */
static int set_value(struct config *c, size_t i, const char *text, char *origin, struct err *e)
{
    struct value *v = &c->values[i];

    if (check_value(&settings[i], text, e)) {
        err_wrap(e, "%s: %s", origin, settings[i].key);
        free(origin);
        return -1;
    }
    free(v->text);
    free(v->origin);
    *v = (struct value){mem_strdup(text), origin};
    return 0;
}

/* ---- the file ---- */

struct file {
    struct config *config;
    const char *path, *text;
    int line;
    int failed;
    struct err *e;
};

/*
 * Gives inih the next line, as fgets would. Two things inih lets pass are faults here: an indented key, which
 * it takes for more of the value above, and a line that its buffer cuts.
 */
static char *next_line(char *out, int size, void *ctx)
{
    struct file *f = ctx;
    size_t n = strcspn(f->text, "\n");

    if (!*f->text || f->failed)
        return NULL;
    f->line++;
    if (n + 2 > (size_t)size) {
        f->failed = 1;
        err_set(f->e, "%s:%d: the line is longer than %d bytes", f->path, f->line, size - 2);
        return NULL;
    }
    if ((*f->text == ' ' || *f->text == '\t') && !strchr(";#\r\n", f->text[strspn(f->text, " \t")])) {
        f->failed = 1;
        err_set(f->e, "%s:%d: a key or section must begin in the first column", f->path, f->line);
        return NULL;
    }
    memcpy(out, f->text, n);
    f->text += n;
    if (*f->text) {
        out[n++] = '\n';
        f->text++;
    }
    out[n] = '\0';
    return out;
}

static int on_pair(void *ctx, const char *section, const char *name, const char *value)
{
    struct file *f = ctx;
    char *key;
    int i;

    if (f->failed)
        return 0;
    if (!strcmp(section, OPEN_SECTION)) {
        *vec_push(&f->config->pairs) =
            (struct config_pair){mem_strdup(name), mem_strdup(value), mem_printf("%s:%d", f->path, f->line)};
        return 1;
    }
    key = mem_printf("%s.%s", section, name);
    i = find_setting(key);
    if (i >= 0) {
        f->failed = set_value(f->config, (size_t)i, value, mem_printf("%s:%d", f->path, f->line), f->e) != 0;
    } else {
        const char *near = nearest_key(key);

        f->failed = 1;
        err_set(f->e, "%s:%d: unknown setting '%s'%s%s%s", f->path, f->line, key,
                near ? ", did you mean '" : "", near ? near : " (see: wprof config --list)",
                near ? "'?" : "");
    }
    free(key);
    return !f->failed;
}

static int load_file(struct config *c, const char *path, int must_exist, struct err *e)
{
    struct file f = {.config = c, .path = path, .e = e};
    struct buf text = {0};
    int line, rc = 0;

    if (!must_exist && access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
        return 0;
    if (io_read_file(AT_FDCWD, path, &text, e)) {
        buf_release(&text);
        return err_wrap(e, "settings");
    }
    f.text = buf_str(&text);
    if (strlen(f.text) != text.len) {
        buf_release(&text);
        return err_set(e, "%s: not a text file", path);
    }
    line = ini_parse_stream(next_line, &f, on_pair, &f);
    if (f.failed && (!line || line >= f.line))
        rc = -1;
    else if (line) /* the first line that inih did not understand */
        rc = err_set(e, "%s:%d: neither [section] nor key = value", path, line);
    buf_release(&text);
    return rc;
}

static char *user_file(void)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (xdg && xdg[0] == '/')
        return mem_printf("%s/wprof/config", xdg);
    return home && home[0] == '/' ? mem_printf("%s/.config/wprof/config", home) : NULL;
}

/* ---- the environment ---- */

static char *env_name(const char *key)
{
    char *name = mem_printf("WPROF_%s", key);

    for (char *p = name; *p; p++) {
        if (*p == '.' || *p == '-')
            *p = '_';
        else if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - 'a' + 'A');
    }
    return name;
}

/* A misspelled name would be lost in silence otherwise. */
static void warn_unknown_env(const char *name, size_t n)
{
    for (size_t i = 0; i < ARRAY_SIZE(internal_env); i++)
        if (strlen(internal_env[i]) == n && !memcmp(internal_env[i], name, n))
            return;
    log_warn("%.*s in the environment is no setting (see: wprof config --list)", (int)n, name);
}

static int load_env(struct config *c, struct err *e)
{
    char *names[ARRAY_SIZE(settings)];
    int rc = 0;

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
        names[i] = env_name(settings[i].key);
    for (char **env = environ; *env && !rc; env++) {
        size_t n = strcspn(*env, "="), i = 0;

        if (strncmp(*env, "WPROF_", 6) || (*env)[n] != '=')
            continue;
        while (i < ARRAY_SIZE(settings) && (strlen(names[i]) != n || memcmp(names[i], *env, n)))
            i++;
        if (i == ARRAY_SIZE(settings))
            warn_unknown_env(*env, n);
        else
            rc = set_value(c, i, *env + n + 1, mem_printf("environment %s", names[i]), e);
    }
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
        free(names[i]);
    return rc;
}

struct config *config_load(const char *file, struct err *e)
{
    struct config *c = mem_calloc(1, sizeof(*c));
    char *user = file ? NULL : user_file();
    int rc = 0;

    if (file || user)
        rc = load_file(c, file ? file : user, file != NULL, e);
    if (!rc)
        rc = load_env(c, e);
    free(user);
    if (!rc)
        return c;
    config_free(c);
    return NULL;
}

void config_free(struct config *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        free(c->values[i].text);
        free(c->values[i].origin);
    }
    for (size_t i = 0; i < c->pairs.n; i++) {
        free(c->pairs.a[i].key);
        free(c->pairs.a[i].text);
        free(c->pairs.a[i].origin);
    }
    vec_release(&c->pairs);
    free(c);
}

const char *config_get(const struct config *c, const char *key, const char **origin)
{
    int i = find_setting(key);
    const struct value *v;

    if (i < 0)
        return NULL;
    v = &c->values[i];
    if (origin)
        *origin = v->origin ? v->origin : "default";
    return v->text ? v->text : settings[i].value;
}
