/* SPDX-License-Identifier: Apache-2.0 */
#include "model/redact.h"

#include "base/buf.h"
#include "model/redact_pairs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int contains(const char *s, size_t n, const char *word)
{
    size_t len = strlen(word);

    for (size_t i = 0; i + len <= n; i++) {
        if (!strncasecmp(s + i, word, len))
            return 1;
    }
    return 0;
}

int redact_is_secret_name(const char *s, size_t n)
{
    static const char *const words[] = {"TOKEN",      "SECRET",     "PASSWORD", "PASSWD",
                                        "PASSPHRASE", "CREDENTIAL", "KEY"};

    if (contains(s, n, "TOKENIZER"))
        return 0;
    if (n >= 4 && !strncasecmp(s + n - 4, "pass", 4) && (n == 4 || !isalpha((unsigned char)s[n - 5])))
        return 1; /* --db-pass, DB_PASS */
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (contains(s, n, words[i]))
            return 1;
    }
    return 0;
}

/* --max-tokens 512, --num-key-value-heads=8: a short number or a switch is no secret. */
int redact_is_plain_value(const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && isdigit((unsigned char)s[i]))
        i++;
    if (n && i == n && n <= 7)
        return 1;
    return (n == 4 && (!strncasecmp(s, "true", 4) || !strncasecmp(s, "none", 4))) ||
           (n == 5 && !strncasecmp(s, "false", 5));
}

/* What the words before this one say of it. */
enum expect { EXPECT_NOTHING, EXPECT_SECRET, EXPECT_BEARER, EXPECT_USER };

static void add_value(struct buf *out, const char *s, size_t n)
{
    if (redact_is_plain_value(s, n))
        buf_add(out, s, n);
    else if (n)
        buf_addstr(out, REDACTED);
}

/* scheme://user:password@host: the password goes. 1 when it was one. */
static int add_url(struct buf *out, const char *s, size_t n)
{
    const char *scheme = memmem(s, n, "://", 3), *host, *at, *colon;
    size_t authority;

    if (!scheme)
        return 0;
    host = scheme + 3;
    authority = 0;
    while (host + authority < s + n && !strchr("/?#", host[authority]))
        authority++;
    at = memrchr(host, '@', authority);
    colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
    if (!colon)
        return 0;
    buf_add(out, s, (size_t)(colon + 1 - s));
    buf_addstr(out, REDACTED);
    buf_add(out, at, (size_t)(s + n - at));
    return 1;
}

/* curl's -u USER:PASSWORD; ids of docker's are numbers. */
static void add_user(struct buf *out, const char *s, size_t n)
{
    const char *colon = memchr(s, ':', n);
    size_t name = colon ? (size_t)(colon + 1 - s) : n;

    buf_add(out, s, name);
    add_value(out, s + name, n - name);
}

static int is_user_option(const char *s, size_t n)
{
    return (n == 2 && !strncmp(s, "-u", 2)) || (n == 6 && !strncmp(s, "--user", 6));
}

/* One word without blanks; gives what it says of the next. */
static enum expect add_word(struct buf *out, const char *s, size_t n, enum expect expect)
{
    const char *eq = memchr(s, '=', n);
    size_t name = eq ? (size_t)(eq - s) : n;

    if (expect == EXPECT_BEARER) {
        if (n >= 5 && (!strncasecmp(s, "bearer", 6) || !strncasecmp(s, "basic", 5))) {
            buf_add(out, s, n);
            return EXPECT_BEARER;
        }
        buf_addstr(out, REDACTED);
        return EXPECT_NOTHING;
    }
    if (expect == EXPECT_SECRET && s[0] != '-') {
        add_value(out, s, n);
        return EXPECT_NOTHING;
    }
    if (expect == EXPECT_USER && s[0] != '-') {
        add_user(out, s, n);
        return EXPECT_NOTHING;
    }
    if (is_user_option(s, n)) {
        buf_add(out, s, n);
        return EXPECT_USER;
    }
    if (eq && redact_is_secret_name(s, name)) {
        buf_add(out, s, name + 1);
        add_value(out, eq + 1, n - name - 1);
        return EXPECT_NOTHING;
    }
    if (!add_url(out, s, n))
        buf_add(out, s, n);
    if (n == 6 && !strncasecmp(s, "bearer", 6))
        return EXPECT_BEARER;
    if (n >= 14 && !strncasecmp(s + n - 14, "authorization:", 14))
        return EXPECT_BEARER;
    return !eq && s[0] == '-' && redact_is_secret_name(s, n) ? EXPECT_SECRET : EXPECT_NOTHING;
}

/* Up to the next blank outside quotes: TOKEN='a b' is one word of a shell's text. */
static size_t word_length(const char *s)
{
    size_t n = 0;
    char quote = 0;

    for (; s[n] && (quote || !strchr(" \t\n", s[n])); n++) {
        if (quote)
            quote = s[n] == quote ? 0 : quote;
        else if (s[n] == '\'' || s[n] == '"')
            quote = s[n];
    }
    return n;
}

static enum expect add_arg(struct buf *out, const char *arg, enum expect expect)
{
    const char *p = arg;

    /* The whole argument is the value: also when it holds blanks. */
    if (expect == EXPECT_SECRET && arg[0] != '-') {
        add_value(out, arg, strlen(arg));
        return EXPECT_NOTHING;
    }
    if (arg[0] == '-' || !strpbrk(arg, " \t\n")) {
        const char *eq = strchr(arg, '=');

        if (eq && redact_is_secret_name(arg, (size_t)(eq - arg)) && !memchr(arg, ' ', (size_t)(eq - arg))) {
            buf_add(out, arg, (size_t)(eq + 1 - arg));
            add_value(out, eq + 1, strlen(eq + 1));
            return EXPECT_NOTHING;
        }
    }
    while (*p) {
        size_t blanks = strspn(p, " \t\n"), n;

        buf_add(out, p, blanks);
        p += blanks;
        n = word_length(p);
        if (n)
            expect = add_word(out, p, n, expect);
        p += n;
    }
    return expect;
}

void redact_command(struct redacted *out, char *const *argv)
{
    enum expect expect = EXPECT_NOTHING;

    for (; *argv; argv++) {
        struct buf b = {0}, all = {0};

        expect = add_arg(&b, *argv, expect);
        redact_pairs(buf_str(&b), &all);
        *vec_push(&out->args) = all.data ? buf_detach(&all) : mem_strdup("");
        buf_release(&b);
    }
}

void redacted_release(struct redacted *r)
{
    for (size_t i = 0; i < r->args.n; i++)
        free(r->args.a[i]);
    vec_release(&r->args);
}

size_t redact_env(char *const *env, const char **out, size_t max)
{
    static const char *const listed[] = {
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "NODE_RANK",
        "GROUP_RANK",
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "CUDA_VISIBLE_DEVICES",
        "NVIDIA_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES",
        "ASCEND_VISIBLE_DEVICES",
        "ASCEND_RT_VISIBLE_DEVICES",
        "SLURM_JOB_ID",
        "SLURM_PROCID",
        "SLURM_LOCALID",
        "SLURM_NODEID",
        "SLURM_NTASKS",
        "SLURM_NNODES",
        "PMI_RANK",
        "PMI_SIZE",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        /* switches that make a run slow, and those that choose its network */
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_MODULE_LOADING",
        "PYTORCH_NO_CUDA_MEMORY_CACHING",
        "TORCH_DISTRIBUTED_DEBUG",
        "TORCH_SHOW_CPP_STACKTRACES",
        "TOKENIZERS_PARALLELISM",
        "PYTHONDEVMODE",
        "PYTHONMALLOC",
        "PYTHONTRACEMALLOC",
        "MALLOC_CHECK_",
        "MALLOC_PERTURB_",
        "NCCL_DEBUG",
        "NCCL_IB_DISABLE",
        "NCCL_NET",
    };
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(listed) && n < max; i++) {
        size_t len = strlen(listed[i]);

        for (char *const *p = env; *p; p++) {
            if (!strncmp(*p, listed[i], len) && (*p)[len] == '=') {
                out[n++] = *p;
                break;
            }
        }
    }
    return n;
}
