/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "manpage.h"
#include "product.h"

#include "base/io.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int unknown(const char *name)
{
    const char *near = command_nearest(name);

    return command_usage(&cmd_help, "unknown command '%s'%s%s%s", name, near ? ", did you mean '" : "",
                         near ? near : "", near ? "'?" : "");
}

/* On a terminal man(1) shows the page, else we do. Where there is no page the text of -h serves. */
static void show(const struct command *c, const char *page, struct buf *out)
{
    struct buf roff = {0};

    if (page && isatty(STDOUT_FILENO)) {
        execlp("man", "man", page, (char *)NULL);
        log_debug("man: %s", strerror(errno));
    }
    if (page && !io_read_file(AT_FDCWD, page, &roff, NULL))
        manpage_text(buf_str(&roff), out);
    else if (c)
        command_help(c, out);
    buf_release(&roff);
}

static int help_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct command *c = argc ? command_find(argv[0]) : NULL;
    struct buf text = {0};
    char *page;

    if (argc > 1)
        return command_usage(&cmd_help, "takes one COMMAND, '%s' is too many", argv[1]);
    page = argc ? manpage_find(argv[0]) : NULL;
    if (argc && !c && !page)
        return unknown(argv[0]);
    if (argc)
        show(c, page, &text);
    else
        command_list(&text);
    free(page);
    product_print(&text);
    buf_release(&text);
    return EXIT_OK;
}

const struct command cmd_help = {
    .name = "help",
    .summary = "show a manual page, or the list of commands",
    .operands = "[COMMAND|PAGE]",
    .examples = "wprof help record\n"
                "wprof help session",
    .run = help_run,
};
