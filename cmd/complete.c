/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include "base/dir.h"
#include "exchange/tables/sql.h"
#include "platform/pfm.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void offer(const char *word, const char *what, const char *cur)
{
    if (!strncmp(word, cur, strlen(cur)))
        printf("%s%s%s\n", word, what ? "\t" : "", what ? what : "");
}

static void offer_options(const struct opt *opts, size_t n, const char *cur)
{
    for (size_t i = 0; i < n; i++) {
        char *name = mem_printf("--%s", opts[i].name);

        if (opts[i].help)
            offer(name, opts[i].help, cur);
        free(name);
    }
}

static void offer_commands(const char *cur)
{
    for (size_t i = 0; i < ncommands; i++)
        offer(commands[i]->name, commands[i]->summary, cur);
}

static void offer_settings(const char *cur)
{
    for (size_t i = 0; i < config_count(); i++)
        offer(config_key(i), config_help(i), cur);
}

static void offer_events(const char *cur)
{
    struct pfm_list l = {0};

    if (!pfm_list(&l, NULL))
        for (size_t i = 0; i < l.items.n; i++)
            offer(l.items.a[i].name, l.items.a[i].desc, cur);
    pfm_list_release(&l);
}

static void offer_queries(const char *cur)
{
    for (size_t i = 0; i < tables_nqueries; i++)
        offer(tables_queries[i].name, tables_queries[i].what, cur);
}

static void offer_pids(const char *cur)
{
    DIR *proc = dir_open(AT_FDCWD, "/proc", 0);

    for (struct dirent *ent; (ent = dir_next(proc));) {
        char path[300], comm[32] = "";
        FILE *f;

        if (!isdigit((unsigned char)ent->d_name[0]))
            continue;
        snprintf(path, sizeof(path), "/proc/%s/comm", ent->d_name);
        f = fopen(path, "re");
        if (!f)
            continue;
        if (fgets(comm, sizeof(comm), f))
            comm[strcspn(comm, "\n")] = '\0';
        fclose(f);
        offer(ent->d_name, comm, cur);
    }
    dir_close(proc);
}

/* What a name in the help stands for. The shell itself does the kinds that begin with a colon. */
static const struct {
    const char *name, *shell;
    void (*words)(const char *cur);
} kinds[] = {
    {"STATEMENT", ":dirs", offer_queries},
    {"SESSION", ":dirs", NULL},
    {"DIR", ":dirs", NULL},
    {"FILE", ":files", NULL},
    {"EVENT", NULL, offer_events},
    {"PATTERN", NULL, offer_events},
    {"COMMAND", NULL, offer_commands},
    {"PID", NULL, offer_pids},
    {"KEY", NULL, offer_settings},
};

static void offer_kind(const char *name, const char *cur)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (!strstr(name, kinds[i].name))
            continue;
        if (kinds[i].words)
            kinds[i].words(cur);
        if (kinds[i].shell)
            puts(kinds[i].shell);
        return;
    }
}

/* prefix: "" or "--name=", which stays in front of the words. */
static void offer_argument(const struct opt *o, const char *prefix, const char *cur)
{
    for (const char *p = o->choices; p && *p;) {
        size_t n = strcspn(p, "|");
        char *word = mem_printf("%s%.*s", prefix, (int)n, p);

        offer(word, NULL, cur);
        free(word);
        p += n + (p[n] == '|');
    }
    if (!o->choices && !*prefix)
        offer_kind(o->arg, cur);
}

/* The option that `word` names, "--name", "--name=..." or letters of which the last counts; NULL where there
 * is none. */
static const struct opt *find_option(const struct opt *opts, size_t n, const char *word)
{
    size_t len = strcspn(word, "=");
    char last = word[strlen(word) - 1];

    for (size_t i = 0; i < n; i++) {
        if (word[1] == '-' ? strlen(opts[i].name) == len - 2 && !memcmp(opts[i].name, word + 2, len - 2)
                           : opts[i].letter && opts[i].letter == last)
            return &opts[i];
    }
    return NULL;
}

static int takes_next(const struct opt *o, const char *word)
{
    return o && o->type != OPT_TYPE_FLAG && !(word[1] == '-' && strchr(word, '='));
}

/* What is being completed: operands of the kind `operands` after options; stop: the first of them ends the
 * options. */
struct context {
    const struct opt *opts;
    size_t nopts;
    int stop;
    const char *operands;
};

/*
 * Goes over words[from..n - 2] and offers words for the last. Returns the index of the first operand where
 * `stop` is set and that operand lies before the last word: what follows belongs to it.
 */
static int complete(const struct context *c, int from, int n, char **words)
{
    const char *cur = words[n - 1];
    const struct opt *o;

    for (int i = from; i < n - 1; i++) {
        if (!strcmp(words[i], "--")) {
            if (c->stop)
                return i + 1;
            offer_kind(c->operands, cur);
            return -1;
        }
        if (words[i][0] != '-' || !words[i][1]) {
            if (c->stop)
                return i;
            continue;
        }
        o = find_option(c->opts, c->nopts, words[i]);
        if (!takes_next(o, words[i]))
            continue;
        if (++i == n - 1) {
            offer_argument(o, "", cur);
            return -1;
        }
    }
    if (cur[0] != '-') {
        if (c->stop)
            return n - 1;
        offer_kind(c->operands, cur);
    } else if (strchr(cur, '=') && (o = find_option(c->opts, c->nopts, cur))) {
        char *prefix = mem_printf("--%s=", o->name);

        offer_argument(o, prefix, cur);
        free(prefix);
    } else {
        offer_options(c->opts, c->nopts, cur);
    }
    return -1;
}

static int complete_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    struct context global = {global_options, nglobal_options, 1, ""}, own = {0};
    const struct command *c;
    struct opt *opts;
    int at;

    if (!argc)
        return command_usage(&cmd_complete, "needs the words of the command line");
    at = complete(&global, 0, argc, argv);
    if (at == argc - 1)
        offer_commands(argv[at]);
    c = at >= 0 && at < argc - 1 ? command_find(argv[at]) : NULL;
    if (!c)
        return EXIT_OK;
    opts = mem_calloc(c->nopts + 1, sizeof(*opts));
    if (c->nopts)
        memcpy(opts, c->opts, c->nopts * sizeof(*opts));
    opts[c->nopts] = command_help_option;
    own = (struct context){opts, c->nopts + 1, c->stop_at_operand, c->operands ? c->operands : ""};
    at = complete(&own, at + 1, argc, argv);
    if (at >= 0)
        printf(":command %d\n", at);
    free(opts);
    return EXIT_OK;
}

const struct command cmd_complete = {
    .name = "complete",
    .summary = "print the words that the shells' completion offers",
    .operands = "-- WORD...",
    .stop_at_operand = 1,
    .examples = "wprof complete -- record --fr\nwprof complete -- render --format \"\"",
    .run = complete_run,
};
