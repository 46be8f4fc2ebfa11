/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/mcp/fit.h"

#include "base/utf8.h"
#include "base/vec.h"

#include <string.h>

enum { CUTS_MAX = 32, NOTE_BYTES = 4096 /* what "cut_to_fit" may take */ };

/* How much stays, step by step less. */
static const struct step {
    size_t items, bytes; /* of an array, of a string; 0: all */
} steps[] = {{0, 0},      {2000, 0},   {1000, 0},  {500, 0},   {300, 4000}, {200, 4000},
             {150, 2000}, {100, 2000}, {70, 2000}, {50, 2000}, {30, 1000},  {20, 1000},
             {10, 1000},  {5, 500},    {3, 300},   {2, 200},   {1, 100}};

/* An array that lost its end; those at the same place in other objects are one. */
struct cut {
    char *at;
    uint64_t left_out;
};

struct fit {
    struct json_writer w;
    struct step step;
    size_t max;
    struct buf path;
    VEC(struct cut) cuts;
    uint64_t more_cuts, strings;
};

static int is_too_long(const struct fit *f)
{
    return f->w.out->len > f->max;
}

static void note_cut(struct fit *f, size_t left_out)
{
    for (size_t i = 0; i < f->cuts.n; i++) {
        if (!strcmp(f->cuts.a[i].at, buf_str(&f->path))) {
            f->cuts.a[i].left_out += left_out;
            return;
        }
    }
    if (f->cuts.n < CUTS_MAX && f->path.len < NOTE_BYTES / CUTS_MAX)
        *vec_push(&f->cuts) = (struct cut){mem_strdup(buf_str(&f->path)), left_out};
    else
        f->more_cuts += left_out;
}

/* Both halves end where characters do. */
static void put_string(struct fit *f, const char *key, const struct json_value *v)
{
    size_t head = f->step.bytes / 2, tail = v->len - head;
    struct buf text = {0};

    if (!f->step.bytes || v->len <= f->step.bytes) {
        json_strn(&f->w, key, v->str, v->len);
        return;
    }
    while (head && ((unsigned char)v->str[head] & 0xc0) == 0x80)
        head--;
    while (tail < v->len && ((unsigned char)v->str[tail] & 0xc0) == 0x80)
        tail++;
    buf_add(&text, v->str, head);
    buf_addf(&text, " [... %zu bytes left out ...] ", tail - head);
    buf_add(&text, v->str + tail, v->len - tail);
    json_strn(&f->w, key, text.data, text.len);
    buf_release(&text);
    f->strings++;
}

static void put(struct fit *f, const char *key, const struct json_value *v);

static void put_array(struct fit *f, const char *key, const struct json_value *v)
{
    size_t n = 0;

    json_array(&f->w, key);
    for (const struct json_value *c = v->child; c && !is_too_long(f); c = c->next, n++) {
        if (f->step.items && n == f->step.items) {
            note_cut(f, v->len - n);
            break;
        }
        put(f, NULL, c);
    }
    json_end_array(&f->w);
}

static void put_object(struct fit *f, const char *key, const struct json_value *v)
{
    size_t path = f->path.len;

    json_object(&f->w, key);
    for (const struct json_value *c = v->child; c && !is_too_long(f); c = c->next) {
        buf_addf(&f->path, "%s%s", f->path.len ? "." : "", c->key);
        put(f, c->key, c);
        f->path.len = path;
        f->path.data[path] = '\0';
    }
    json_end_object(&f->w);
}

static void put(struct fit *f, const char *key, const struct json_value *v)
{
    switch (v->type) {
    case JSON_STRING:
        put_string(f, key, v);
        break;
    case JSON_ARRAY:
        put_array(f, key, v);
        break;
    case JSON_OBJECT:
        put_object(f, key, v);
        break;
    default:
        json_copy(&f->w, key, v);
    }
}

static void put_note(struct fit *f)
{
    if (!f->cuts.n && !f->more_cuts && !f->strings)
        return;
    json_object(&f->w, "cut_to_fit");
    json_str(&f->w, "why", "the whole result is too long: ask for less, or for a part");
    json_array(&f->w, "arrays");
    for (size_t i = 0; i < f->cuts.n; i++) {
        json_object(&f->w, NULL);
        json_str(&f->w, "at", f->cuts.a[i].at);
        json_u64(&f->w, "left_out", f->cuts.a[i].left_out);
        json_end_object(&f->w);
    }
    json_end_array(&f->w);
    json_u64(&f->w, "elsewhere_left_out", f->more_cuts);
    json_u64(&f->w, "strings_cut", f->strings);
    json_end_object(&f->w);
}

static void fit_release(struct fit *f)
{
    for (size_t i = 0; i < f->cuts.n; i++)
        free(f->cuts.a[i].at);
    vec_release(&f->cuts);
    buf_release(&f->path);
}

/* 1: it fits. */
static int try(const struct json_value *v, const struct step *step, size_t max, struct buf *out)
{
    struct buf raw = {0};
    struct fit f = {.w = {.out = &raw}, .step = *step, .max = max - NOTE_BYTES};
    int fits;

    json_object(&f.w, NULL);
    for (const struct json_value *c = v->child; c && !is_too_long(&f); c = c->next) {
        buf_clear(&f.path);
        buf_addstr(&f.path, c->key);
        put(&f, c->key, c);
    }
    fits = !is_too_long(&f);
    if (fits) {
        put_note(&f);
        json_end_object(&f.w);
        mcp_quiet_json(&raw, out);
    }
    fit_release(&f);
    buf_release(&raw);
    return fits;
}

int mcp_fit(const struct json_value *v, size_t max, struct buf *out, struct err *e)
{
    size_t before = out->len;

    if (v->type != JSON_OBJECT)
        return err_set(e, "the result is no object");
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        if (try(v, &steps[i], max, out) && out->len - before <= max)
            return 0;
        out->len = before;
        if (out->data)
            out->data[before] = '\0';
    }
    return err_set(e, "the result does not fit into %zu bytes, however much of it is left out", max);
}

/* ---- what acts on a terminal ---- */

/* RFC 8259, section 7: beyond U+FFFF as a surrogate pair. */
static void put_escape(const char *p, size_t len, struct buf *out)
{
    uint32_t c = len == 1   ? (unsigned char)p[0]
                 : len == 2 ? p[0] & 0x1fu
                 : len == 3 ? p[0] & 0x0fu
                            : p[0] & 0x07u;

    for (size_t i = 1; i < len; i++)
        c = c << 6 | (p[i] & 0x3fu);
    if (c > 0xffff)
        buf_addf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + ((c - 0x10000) & 0x3ff));
    else
        buf_addf(out, "\\u%04x", c);
}

void mcp_quiet_json(const struct buf *json, struct buf *out)
{
    buf_reserve(out, json->len);
    for (size_t i = 0, len; i < json->len; i += len) {
        len = utf8_len(json->data + i, json->len - i);
        if (len && utf8_acts(json->data + i, len))
            put_escape(json->data + i, len, out);
        else
            buf_add(out, json->data + i, len = len ? len : 1);
    }
}

void mcp_quiet_text(const char *p, size_t n, struct buf *out)
{
    for (size_t i = 0, len; i < n; i += len ? len : 1) {
        len = utf8_len(p + i, n - i);
        if (len && (p[i] == '\n' || !utf8_acts(p + i, len)))
            buf_add(out, p + i, len);
        else
            buf_addch(out, '?');
    }
}
