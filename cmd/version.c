/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"

#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/self.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

struct version_opts {
    int json;
};

static const struct opt options[] = {
    OPT_FLAG(0, "json", struct version_opts, json, "as JSON"),
};

struct feature {
    const char *name;
    int present;
    const char *version, *gives;
};

static const struct feature features[] = {
#define FEATURE(name, present, version, gives) {name, present, version, gives},
#include "features.def"
#undef FEATURE
};

/* The portable build's line about itself into out, which stays empty in others. */
static void about_portable(struct buf *out)
{
    char *path = self_part(SELF_ABOUT);
    struct err e = {0};

    if (path && io_read_file(AT_FDCWD, path, out, &e))
        buf_addf(out, "%s", e.msg);
    while (out->len && out->data[out->len - 1] == '\n')
        out->data[--out->len] = '\0';
    free(path);
}

static void print_json(const char *portable)
{
    struct buf out = {0};
    struct json_writer w = {.out = &out, .indent = 2};

    json_object(&w, NULL);
    json_str(&w, "version", VERSION);
    json_str(&w, "license", "Apache-2.0");
    if (*portable)
        json_str(&w, "portable", portable);
    json_object(&w, "features");
    for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
        json_object(&w, features[i].name);
        json_bool(&w, "present", features[i].present);
        json_str(&w, "version", features[i].version);
        json_str(&w, "gives", features[i].gives);
        json_end_object(&w);
    }
    json_end_object(&w);
    json_end_object(&w);
    buf_addch(&out, '\n');
    product_print(&out);
    buf_release(&out);
}

static void print_text(const char *portable)
{
    printf("wprof " VERSION "\nlicense: Apache-2.0 (BPF programs: GPL-2.0-only OR BSD-2-Clause)\n");
    if (*portable)
        printf("portable: %s\n", portable);
    printf("features, with what they were built with:\n");
    for (size_t i = 0; i < ARRAY_SIZE(features); i++)
        printf("  %-10s %-4s %-18s %s\n", features[i].name, features[i].present ? "yes" : "no",
               features[i].version, features[i].gives);
}

static int version_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct version_opts *o = values;
    struct buf portable = {0};

    if (argc)
        return command_usage(&cmd_version, "takes no operand, '%s' was given", argv[0]);
    about_portable(&portable);
    if (o->json)
        print_json(buf_str(&portable));
    else
        print_text(buf_str(&portable));
    buf_release(&portable);
    return EXIT_OK;
}

const struct command cmd_version = {
    .name = "version",
    .summary = "show the version and the features compiled in",
    .operands = "",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct version_opts),
    .examples = "wprof version\nwprof version --json",
    .run = version_run,
};
