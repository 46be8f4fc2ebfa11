/* SPDX-License-Identifier: Apache-2.0 */
#include "record_rank.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/units.h"
#include "model/rank_env.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What launchers set besides the rank (model/rank_env.h), the most particular first. NULL ends a list. */
static const char *const local_names[] = {"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK",
                                          "MPI_LOCALRANKID", NULL};
static const char *const size_names[] = {"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                         NULL};
static const char *const job_names[] = {"SLURM_JOB_ID",        "PBS_JOBID",      "LSB_JOBID", "JOB_ID",
                                        "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", NULL};

static const char *first_set(const char *const *names)
{
    const char *value = NULL;

    for (; *names && !(value && *value); names++)
        value = getenv(*names);
    return value && *value ? value : NULL;
}

/* As part of a file's name. */
static void add_plain(struct buf *out, const char *s)
{
    for (; *s; s++)
        buf_addch(out, isalnum((unsigned char)*s) || strchr("._-", *s) ? *s : '_');
}

static void add_number(struct buf *out, const char *const *names, uint64_t otherwise)
{
    const char *text = first_set(names);
    uint64_t n;

    buf_addf(out, "%llu", (unsigned long long)(text && !units_parse_uint(text, &n, NULL) ? n : otherwise));
}

static void add_job(struct buf *out)
{
    const char *job = first_set(job_names);

    if (job && strcmp(job, "none") != 0) /* torchrun's, where no --rdzv-id is given */
        add_plain(out, job);
    else
        buf_addf(out, "j%lld", (long long)getppid());
}

static void add_host(struct buf *out)
{
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = '\0';
    add_plain(out, host[0] ? host : "host");
}

static void add_time(struct buf *out)
{
    char text[32];
    time_t now = time(NULL);
    struct tm t;

    strftime(text, sizeof(text), "%Y%m%d-%H%M%S", localtime_r(&now, &t));
    buf_addstr(out, text);
}

static int add(struct buf *out, char letter)
{
    switch (letter) {
    case 'r':
        add_number(out, rank_env_names, 0);
        return 0;
    case 'l':
        add_number(out, local_names, 0);
        return 0;
    case 'n':
        add_number(out, size_names, 1);
        return 0;
    case 'h':
        add_host(out);
        return 0;
    case 'j':
        add_job(out);
        return 0;
    case 'p':
        buf_addf(out, "%lld", (long long)getpid());
        return 0;
    case 't':
        add_time(out);
        return 0;
    case '%':
        buf_addch(out, '%');
        return 0;
    default:
        return -1;
    }
}

char *record_rank_name(const char *pattern, struct err *e)
{
    struct buf out = {0};

    for (const char *p = pattern; *p; p++) {
        if (*p != '%') {
            buf_addch(&out, *p);
        } else if (add(&out, *++p)) {
            err_set(
                e, "-o %s: %%%.1s is none of %%r %%l %%n %%h %%j %%p %%t, and a percent sign is written %%%%",
                pattern, p);
            buf_release(&out);
            return NULL;
        }
    }
    return buf_detach(&out);
}

int record_rank_parents(const char *dir, struct err *e)
{
    const char *slash = strrchr(dir, '/');
    char *parent;
    int rc;

    if (!slash || slash == dir)
        return 0;
    parent = mem_strndup(dir, (size_t)(slash - dir));
    rc = io_mkdirs(parent, 0777, e);
    free(parent);
    return rc;
}

int record_rank_chosen(const char *list, struct err *e)
{
    struct buf own = {0};
    char *copy = mem_strdup(list), *rest = copy, *one;
    uint64_t rank, from, to;
    int chosen = 0;

    add_number(&own, rank_env_names, 0);
    units_parse_uint(buf_str(&own), &rank, NULL);
    while (chosen >= 0 && (one = strsep(&rest, ","))) {
        char *dash = strchr(one, '-');

        if (dash)
            *dash = '\0';
        if (units_parse_uint(one, &from, NULL) || units_parse_uint(dash ? dash + 1 : one, &to, NULL) ||
            from > to)
            chosen = err_set(e, "--ranks %s: not a list of ranks, such as 0,7-8", list);
        else
            chosen |= rank >= from && rank <= to;
    }
    free(copy);
    buf_release(&own);
    return chosen;
}
