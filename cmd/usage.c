/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts from the tables: commands, options. */
#include "command.h"

#include <stdio.h>
#include <string.h>

const struct command *const commands[] = {
#define COMMAND(name) &cmd_##name,
#include "commands.def"
#undef COMMAND
};
const size_t ncommands = ARRAY_SIZE(commands);

const struct opt command_help_option = {'h',  "help", OPT_TYPE_FLAG,   0, NULL, NULL,
                                        NULL, NULL,   "show this help"};

const struct opt global_options[] = {
    OPT_STRING(0, "config", struct global_values, config, "FILE",
               "settings from FILE, not from the user's file"),
    OPT_FLAG('v', "verbose", struct global_values, verbose, "say more on stderr"),
    OPT_FLAG('q', "quiet", struct global_values, quiet, "say only errors on stderr"),
    OPT_FLAG(0, "version", struct global_values, version, "show the version and leave"),
    OPT_FLAG('h', "help", struct global_values, help, "show this help"),
};
const size_t nglobal_options = ARRAY_SIZE(global_options);

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < ncommands; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

const char *command_nearest(const char *name)
{
    const char *names[ARRAY_SIZE(commands)];

    for (size_t i = 0; i < ncommands; i++)
        names[i] = commands[i]->name;
    return opt_nearest(name, names, ncommands);
}

int command_usage(const struct command *c, const char *fmt, ...)
{
    struct buf b = {0};
    va_list ap;

    va_start(ap, fmt);
    buf_vaddf(&b, fmt, ap);
    va_end(ap);
    fprintf(stderr, "wprof %s: %s\nTry: wprof %s -h\n", c->name, buf_str(&b), c->name);
    buf_release(&b);
    return c->usage_exit ? c->usage_exit : EXIT_USAGE;
}

enum { HELP_AT = 26, HELP_WIDTH = 100 }; /* columns */

/* What fits into a line: words, and of a list of choices those that do; at least one of them. */
static size_t line_length(const char *text)
{
    size_t fits = 0, n = strlen(text);

    if (n <= HELP_WIDTH - HELP_AT)
        return n;
    for (size_t i = 0; i < n && (!fits || i < HELP_WIDTH - HELP_AT); i++)
        if (text[i] == ' ' || (text[i] == '|' && text[i + 1] != ' '))
            fits = i + 1;
    return fits ? fits : n;
}

static void add_wrapped(const char *text, struct buf *out)
{
    while (*text) {
        size_t n = line_length(text);

        buf_addf(out, "%.*s", (int)(n - (text[n - 1] == ' ')), text);
        text += n;
        buf_addch(out, '\n');
        if (*text)
            buf_addf(out, "%*s", HELP_AT, "");
    }
}

static void add_help(const struct opt *o, struct buf *out)
{
    struct buf text = {0};

    buf_addstr(&text, o->help);
    if (o->choices)
        buf_addf(&text, ": %s", o->choices);
    if (o->value && *o->value)
        buf_addf(&text, " (default: %s%s%s)", o->value, o->setting ? ", setting " : "",
                 o->setting ? o->setting : "");
    else if (o->setting)
        buf_addf(&text, " (setting %s)", o->setting);
    add_wrapped(buf_str(&text), out);
    buf_release(&text);
}

static void add_options(const struct opt *opts, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct opt *o = &opts[i];
        size_t from = out->len;

        if (!o->help)
            continue;
        buf_addstr(out, "  ");
        if (o->letter)
            buf_addf(out, "-%c, ", o->letter);
        else
            buf_addstr(out, "    ");
        buf_addf(out, "--%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
        if (out->len - from < HELP_AT)
            buf_addf(out, "%*s", (int)(HELP_AT - (out->len - from)), "");
        else
            buf_addf(out, "\n%*s", HELP_AT, "");
        add_help(o, out);
    }
}

void command_list(struct buf *out)
{
    buf_addstr(out, "usage: wprof [options] COMMAND [...]\n\nCommands:\n");
    for (size_t i = 0; i < ncommands; i++)
        buf_addf(out, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    buf_addstr(out, "\nOptions before the command:\n");
    add_options(global_options, nglobal_options, out);
    buf_addstr(out, "\nwprof COMMAND -h shows a command's options, wprof help COMMAND its manual page.\n");
}

void command_help(const struct command *c, struct buf *out)
{
    buf_addf(out, "usage: wprof %s [options]%s%s\n\n%s\n\nOptions:\n", c->name,
             c->operands && *c->operands ? " " : "", c->operands ? c->operands : "", c->summary);
    add_options(c->opts, c->nopts, out);
    add_options(&command_help_option, 1, out);
    if (!c->examples || !*c->examples)
        return;
    buf_addstr(out, "\nExamples:\n");
    for (const char *p = c->examples; *p;) {
        size_t n = strcspn(p, "\n");

        buf_addf(out, "  %.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
}
