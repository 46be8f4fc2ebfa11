/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include "base/io.h"
#include "base/log.h"
#include "base/self.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The command's own options and --help, whose value lies behind the command's struct. */
struct call {
    struct opt *opts;
    size_t nopts;
    void *values;
    size_t help_at;
};

static void call_init(struct call *call, const struct command *c)
{
    size_t align = _Alignof(max_align_t);

    call->nopts = c->nopts + 1;
    call->opts = mem_calloc(call->nopts, sizeof(*call->opts));
    if (c->nopts)
        memcpy(call->opts, c->opts, c->nopts * sizeof(*c->opts));
    call->help_at = (c->values_size + align - 1) / align * align;
    call->opts[c->nopts] = command_help_option;
    call->opts[c->nopts].offset = call->help_at;
    call->values = mem_calloc(1, call->help_at + sizeof(int));
}

static void call_release(struct call *call)
{
    opt_release(call->opts, call->nopts, call->values);
    free(call->opts);
    free(call->values);
}

/* stdout is the product: a full disk or a closed pipe must not look like success. */
static int flush_product(int code)
{
    if (!fflush(stdout) && !ferror(stdout))
        return code;
    if (errno != EPIPE)
        log_error("stdout: %s", strerror(errno));
    return code ? code : EXIT_FAILED;
}

static int run_command(const struct command *c, const struct config *cfg, int argc, char **argv)
{
    struct call call;
    struct err e = {0};
    int first, code;

    call_init(&call, c);
    first = opt_parse(call.opts, call.nopts, c->stop_at_operand, cfg, argc, argv, call.values, &e);
    if (first < 0) {
        code = command_usage(c, "%s", e.msg);
    } else if (*(int *)((char *)call.values + call.help_at)) {
        struct buf text = {0};

        command_help(c, &text);
        fputs(buf_str(&text), stdout);
        buf_release(&text);
        code = EXIT_OK;
    } else {
        code = c->run(call.values, cfg, argc - first, argv + first);
    }
    call_release(&call);
    return flush_product(code);
}

/* A program wprof-NAME on PATH serves as a command. Returns only where there is none. */
static void run_external(char **argv)
{
    char *program = mem_printf("wprof-%s", argv[0]);

    if (!strchr(argv[0], '/')) {
        char *name = argv[0];

        argv[0] = program;
        execvp(program, argv);
        argv[0] = name;
        if (errno != ENOENT)
            log_error("%s: %s", program, strerror(errno));
    }
    free(program);
}

static int unknown_command(const char *name)
{
    const char *near = command_nearest(name);

    if (near)
        log_error("unknown command '%s', did you mean '%s'?", name, near);
    else
        log_error("unknown command '%s' (wprof help lists them)", name);
    return EXIT_USAGE;
}

static int dispatch(const struct global_values *g, int argc, char **argv)
{
    const struct command *c = command_find(argv[0]);
    struct config *cfg;
    struct err e = {0};
    int code;

    if (!c) {
        run_external(argv);
        return unknown_command(argv[0]);
    }
    cfg = config_load(g->config, &e);
    if (!cfg) {
        log_error("%s", e.msg);
        return c->usage_exit ? c->usage_exit : EXIT_USAGE;
    }
    code = run_command(c, cfg, argc, argv);
    config_free(cfg);
    return code;
}

static int show_commands(void)
{
    struct buf text = {0};

    command_list(&text);
    fputs(buf_str(&text), stdout);
    buf_release(&text);
    return flush_product(EXIT_OK);
}

int main(int argc, char **argv)
{
    static char version[] = "version";
    char *version_argv[] = {version, NULL};
    struct global_values g = {0};
    struct err e = {0};
    int first;

    self_begin();
    first = opt_parse(global_options, nglobal_options, 1, NULL, argc, argv, &g, &e);
    if (first < 0) {
        log_error("%s", e.msg);
        return EXIT_USAGE;
    }
    io_guard_maps();
    if (g.verbose || g.quiet)
        log_set_level(g.verbose ? LOG_DEBUG : LOG_ERROR);
    if (g.version)
        return dispatch(&g, 1, version_argv);
    if (g.help || first == argc)
        return show_commands();
    return dispatch(&g, argc - first, argv + first);
}
