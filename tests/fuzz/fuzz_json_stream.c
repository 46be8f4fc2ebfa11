/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON reader in pieces gives the tokens that it gives of the whole, and the same refusals. */
#include "base/json_stream.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
    const uint8_t *p;
    size_t left;
};

static ssize_t give(void *ctx, void *to, size_t n, struct err *e)
{
    struct source *s = ctx;

    n = n < s->left ? n : s->left;
    if (n)
        memcpy(to, s->p, n);
    s->p += n;
    s->left -= n;
    return (ssize_t)n;
}

static int same(const char *a, size_t an, const char *b, size_t bn)
{
    return an == bn && (!an || !memcmp(a, b, an));
}

/* The first byte is the size of the pieces. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source from;
    struct json_stream a, b;
    struct json_token ta, tb;
    struct err ea = {0}, eb = {0};
    int ra, rb;

    if (!size)
        return 0;
    from = (struct source){data + 1, size - 1};
    json_stream_init(&a, give, &from);
    json_stream_init_text(&b, (const char *)data + 1, size - 1);
    a.cap = 3 + data[0];
    do {
        ra = json_stream_next(&a, &ta, &ea);
        rb = json_stream_next(&b, &tb, &eb);
        if (ra != rb || json_stream_is_cut(&a) != json_stream_is_cut(&b) || strcmp(ea.msg, eb.msg) != 0)
            abort();
        if (ra > 0 &&
            (ta.type != tb.type || ta.ends != tb.ends || ta.boolean != tb.boolean ||
             !same(ta.key, ta.key_len, tb.key, tb.key_len) || !same(ta.text, ta.len, tb.text, tb.len)))
            abort();
    } while (ra > 0);
    if (ra < 0 && !ea.msg[0])
        abort();
    json_stream_release(&a);
    json_stream_release(&b);
    return 0;
}
