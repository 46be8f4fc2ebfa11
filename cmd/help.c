/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"

#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The page beside the program: in a build folder man/, when installed ../share/man/man1/. NULL where neither
 * is there.
 */
static char *find_page(const char *name)
{
    char dir[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
    char *slash;

    if (n < 0)
        return NULL;
    dir[n] = '\0';
    slash = strrchr(dir, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    for (size_t i = 0; i < 2; i++) {
        struct buf path = {0};

        buf_addf(&path, i ? "%s/../share/man/man1/wprof-%s.1" : "%s/man/wprof-%s.1", dir, name);
        if (!access(path.data, R_OK))
            return buf_detach(&path);
        buf_release(&path);
    }
    return NULL;
}

/* On a terminal man(1) shows the page; elsewhere, or without man, the text of -h serves. */
static int help_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct command *c;
    struct buf text = {0};
    char *page;

    if (argc > 1)
        return command_usage(&cmd_help, "takes one COMMAND, '%s' is too many", argv[1]);
    c = argc ? command_find(argv[0]) : NULL;
    if (argc && !c) {
        const char *near = command_nearest(argv[0]);

        return command_usage(&cmd_help, "unknown command '%s'%s%s%s", argv[0], near ? ", did you mean '" : "",
                             near ? near : "", near ? "'?" : "");
    }
    page = c && isatty(STDOUT_FILENO) ? find_page(c->name) : NULL;
    if (page) {
        execlp("man", "man", page, (char *)NULL);
        log_debug("man: %s", strerror(errno));
        free(page);
    }
    if (c)
        command_help(c, &text);
    else
        command_list(&text);
    product_print(&text);
    buf_release(&text);
    return EXIT_OK;
}

const struct command cmd_help = {
    .name = "help",
    .summary = "show a command's manual page, or the list of commands",
    .operands = "[COMMAND]",
    .examples = "wprof help record",
    .run = help_run,
};
