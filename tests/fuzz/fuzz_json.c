/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON reader: no crash; what it takes, written and read again, is the same. */
#include "base/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_value(struct json_writer *w, const struct json_value *v)
{
    switch (v->type) {
    case JSON_NULL:
        json_null(w, v->key);
        break;
    case JSON_BOOL:
        json_bool(w, v->key, v->boolean);
        break;
    case JSON_NUMBER:
        if (v->is_integer)
            json_i64(w, v->key, v->integer);
        else
            json_f64(w, v->key, v->number);
        break;
    case JSON_STRING:
        json_strn(w, v->key, v->str, v->len);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        v->type == JSON_ARRAY ? json_array(w, v->key) : json_object(w, v->key);
        for (const struct json_value *c = v->child; c; c = c->next)
            write_value(w, c);
        v->type == JSON_ARRAY ? json_end_array(w) : json_end_object(w);
        break;
    }
}

static void write_doc(const struct json_doc *doc, struct buf *out, int indent)
{
    struct json_writer w = {.out = out, .indent = indent};

    write_value(&w, json_root(doc));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf once = {0}, twice = {0};
    struct err e = {0};
    struct json_doc *doc = json_parse((const char *)data, size, &e), *again;

    if (!doc) {
        if (!e.msg[0])
            abort();
        return 0;
    }
    write_doc(doc, &once, 1);
    again = json_parse(once.data, once.len, &e);
    if (!again)
        abort();
    write_doc(again, &twice, 1);
    if (once.len != twice.len || memcmp(once.data, twice.data, once.len))
        abort();
    json_free(again);
    json_free(doc);
    buf_release(&once);
    buf_release(&twice);
    return 0;
}
