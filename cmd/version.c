/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"

#include "base/json.h"

#include <stdio.h>

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

static void print_json(void)
{
    struct buf out = {0};
    struct json_writer w = {.out = &out, .indent = 2};

    json_object(&w, NULL);
    json_str(&w, "version", VERSION);
    json_str(&w, "license", "Apache-2.0");
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

static int version_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct version_opts *o = values;

    if (argc)
        return command_usage(&cmd_version, "takes no operand, '%s' was given", argv[0]);
    if (o->json) {
        print_json();
        return EXIT_OK;
    }
    printf("wprof " VERSION "\nlicense: Apache-2.0 (BPF programs: GPL-2.0-only OR BSD-2-Clause)\n"
           "features, with what they were built with:\n");
    for (size_t i = 0; i < ARRAY_SIZE(features); i++)
        printf("  %-10s %-4s %-18s %s\n", features[i].name, features[i].present ? "yes" : "no",
               features[i].version, features[i].gives);
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
