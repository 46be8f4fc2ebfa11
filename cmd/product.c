/* SPDX-License-Identifier: Apache-2.0 */
#include "product.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct winsize screen(void)
{
    struct winsize w = {0};

    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w))
        w = (struct winsize){0};
    return w;
}

int product_color(void)
{
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

    return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb");
}

size_t product_width(void)
{
    return screen().ws_col;
}

static int is_long(const struct buf *text)
{
    size_t lines = 0, rows = screen().ws_row;

    for (size_t i = 0; i < text->len; i++)
        lines += text->data[i] == '\n';
    return rows && lines + 1 > rows;
}

static int page(const struct buf *text)
{
    const char *pager = getenv("PAGER");
    void (*before)(int);
    FILE *f;

    if (!is_long(text) || (pager && (!*pager || !strcmp(pager, "cat"))))
        return -1;
    setenv("LESS", "FRX", 0);
    f = popen(pager ? pager : "less", "we");
    if (!f)
        return -1;
    before = signal(SIGPIPE, SIG_IGN); /* quitting the pager early is no failure */
    fwrite(text->data, 1, text->len, f);
    if (pclose(f) == 127 << 8) {
        signal(SIGPIPE, before);
        return -1;
    }
    signal(SIGPIPE, before);
    return 0;
}

void product_print(const struct buf *text)
{
    if (text->len && page(text))
        fwrite(text->data, 1, text->len, stdout);
}
