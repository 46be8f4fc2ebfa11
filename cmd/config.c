/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"

#include "base/json.h"

#include <stdio.h>

struct config_opts {
    int list, json;
};

static const struct opt options[] = {
    OPT_FLAG('l', "list", struct config_opts, list, "list every setting, its value and where it comes from"),
    OPT_FLAG(0, "json", struct config_opts, json, "as JSON"),
};

static void print_text(const struct config *cfg)
{
    const struct config_pair *rules;

    for (size_t i = 0; i < config_count(); i++) {
        const char *origin, *value = config_get(cfg, config_key(i), &origin);

        printf("%-24s %-14s ; %s (%s)\n", config_key(i), value, config_help(i), origin);
    }
    for (size_t i = 0; i < config_pairs(cfg, "rules", &rules); i++)
        printf("rules.%-18s %-14s ; of wprof report (%s)\n", rules[i].key, rules[i].text, rules[i].origin);
}

static void print_json(const struct config *cfg)
{
    struct buf out = {0};
    struct json_writer w = {.out = &out, .indent = 2};
    const struct config_pair *rules;

    json_array(&w, NULL);
    for (size_t i = 0; i < config_count(); i++) {
        const char *origin, *value = config_get(cfg, config_key(i), &origin);

        json_object(&w, NULL);
        json_str(&w, "key", config_key(i));
        json_str(&w, "value", value);
        json_str(&w, "origin", origin);
        json_str(&w, "help", config_help(i));
        json_end_object(&w);
    }
    for (size_t i = 0; i < config_pairs(cfg, "rules", &rules); i++) {
        char *key = mem_printf("rules.%s", rules[i].key);

        json_object(&w, NULL);
        json_str(&w, "key", key);
        json_str(&w, "value", rules[i].text);
        json_str(&w, "origin", rules[i].origin);
        json_str(&w, "help", "of wprof report");
        json_end_object(&w);
        free(key);
    }
    json_end_array(&w);
    buf_addch(&out, '\n');
    product_print(&out);
    buf_release(&out);
}

static int config_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct config_opts *o = values;
    const char *origin, *value;

    if (argc > 1)
        return command_usage(&cmd_config, "takes one KEY, '%s' is too many", argv[1]);
    if (argc) {
        value = config_get(cfg, argv[0], &origin);
        if (!value)
            return command_usage(&cmd_config, "unknown setting '%s' (see: wprof config --list)", argv[0]);
        printf("%s\n", value);
        return EXIT_OK;
    }
    if (!o->list && !o->json)
        return command_usage(&cmd_config, "nothing to do: give --list or a KEY");
    if (o->json)
        print_json(cfg);
    else
        print_text(cfg);
    return EXIT_OK;
}

const struct command cmd_config = {
    .name = "config",
    .summary = "show the settings and where each comes from",
    .operands = "[KEY]",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct config_opts),
    .examples = "wprof config --list\nWPROF_RECORD_FREQUENCY=999 wprof config record.frequency",
    .run = config_run,
};
