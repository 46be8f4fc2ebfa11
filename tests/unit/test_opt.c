/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/config.h"
#include "base/mem.h"
#include "base/opt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct values {
    const char *output, *format;
    uint64_t hz, duration, size;
    struct opt_list pids;
    int all, quiet;
};

static const struct opt options[] = {
    OPT_STRING('o', "output", struct values, output, "DIR", "where to"),
    OPT_UINT('F', "frequency", struct values, hz, "HZ", "99", "record.frequency", "how often"),
    OPT_DURATION('d', "duration", struct values, duration, "TIME", NULL, NULL, "how long"),
    OPT_SIZE(0, "max-size", struct values, size, "SIZE", "1GiB", NULL, "how much"),
    OPT_CHOICE(0, "format", struct values, format, "NAME", "html", "html|svg", "which"),
    OPT_LIST('p', "pid", struct values, pids, "PID", "whom"),
    OPT_FLAG('a', "all", struct values, all, "everything"),
    OPT_FLAG('q', "quiet", struct values, quiet, "say less"),
};

/* What parsing "cmd ARGS" gave: the operands joined by spaces, or the error. */
struct result {
    struct values v;
    char operands[256];
    struct err e;
    int first;
};

static struct result parse(const char *args, int stop, const struct config *cfg)
{
    static char text[256];
    char *argv[32] = {"cmd"};
    int argc = 1;
    struct result r = {0};

    strcpy(text, args);
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
        argv[argc++] = w;
    r.first = opt_parse(options, ARRAY_SIZE(options), stop, cfg, argc, argv, &r.v, &r.e);
    for (int i = r.first; r.first > 0 && i < argc; i++) {
        strcat(r.operands, argv[i]);
        strcat(r.operands, i + 1 < argc ? " " : "");
    }
    return r;
}

static void release(struct result *r)
{
    opt_release(options, ARRAY_SIZE(options), &r->v);
}

static void every_way_to_write_an_option(void **state)
{
    static const char *const ways[] = {"-o d -F 49", "-od -F49", "--output d --frequency 49",
                                       "--output=d --frequency=49"};

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        struct result r = parse(ways[i], 0, NULL);

        assert_true(r.first > 0);
        assert_string_equal(r.v.output, "d");
        assert_int_equal(r.v.hz, 49);
        release(&r);
    }
}

static void types_and_defaults(void **state)
{
    struct result r = parse("-d 1.5s -aq -p 1 --pid=2", 0, NULL);

    assert_int_equal(r.v.hz, 99);
    assert_int_equal(r.v.duration, 1500000000);
    assert_int_equal(r.v.size, 1 << 30);
    assert_string_equal(r.v.format, "html");
    assert_true(r.v.all && r.v.quiet);
    assert_int_equal(r.v.pids.n, 2);
    assert_string_equal(r.v.pids.a[1], "2");
    assert_null(r.v.output);
    release(&r);
}

static void a_name_s_ending_says_the_format(void **state)
{
    static const struct {
        const char *args, *format;
    } ways[] = {{"-o page.svg", "svg"},
                {"-o a.b/page", "html"},
                {"-o page.txt", "html"},
                {"-o page.svg --format html", "html"},
                {"--format svg -o p.html", "svg"},
                {"-o svg", "html"},
                {"-o -", "html"}};

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        struct result r = parse(ways[i].args, 0, NULL);

        assert_true(r.first > 0);
        assert_string_equal(r.v.format, ways[i].format);
        release(&r);
    }
}

static void operands_keep_their_order(void **state)
{
    struct result r = parse("one -a two --format svg - three", 0, NULL);

    assert_string_equal(r.operands, "one two - three");
    assert_string_equal(r.v.format, "svg");
    release(&r);
    r = parse("one -a -- -q two", 0, NULL);
    assert_string_equal(r.operands, "one -q two");
    assert_int_equal(r.v.quiet, 0);
    release(&r);
}

static void a_command_keeps_its_own_options(void **state)
{
    struct result r = parse("-a python -q x", 1, NULL);

    assert_string_equal(r.operands, "python -q x");
    assert_int_equal(r.v.quiet, 0);
    release(&r);
    r = parse("-a -- -q -- x", 1, NULL);
    assert_string_equal(r.operands, "-q -- x");
    release(&r);
}

static void refusals_name_the_option(void **state)
{
    static const struct {
        const char *args, *says;
    } cases[] = {
        {"--frequncy 3", "unknown option --frequncy, did you mean --frequency?"},
        {"--zzz", "unknown option --zzz"},
        {"-x", "unknown option -x"},
        {"-o", "--output needs an argument DIR"},
        {"--all=1", "--all takes no argument"},
        {"-F many", "--frequency: 'many' is not a whole number"},
        {"--format pdf", "--format: 'pdf' is none of html|svg"},
        {"-d soon", "--duration: 'soon' is not a duration"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct result r = parse(cases[i].args, 0, NULL);

        assert_int_equal(r.first, -1);
        if (strncmp(r.e.msg, cases[i].says, strlen(cases[i].says)))
            fail_msg("'%s' said '%s'", cases[i].args, r.e.msg);
        release(&r);
    }
}

static void settings_stand_under_the_command_line(void **state)
{
    struct config *cfg;
    struct err e = {0};
    struct result r;

    setenv("WPROF_RECORD_FREQUENCY", "250", 1);
    cfg = config_load("/dev/null", &e);
    unsetenv("WPROF_RECORD_FREQUENCY");
    assert_non_null(cfg);
    r = parse("", 0, cfg);
    assert_int_equal(r.v.hz, 250);
    release(&r);
    r = parse("-F 7", 0, cfg);
    assert_int_equal(r.v.hz, 7);
    release(&r);
    config_free(cfg);
}

static void nearest_names(void **state)
{
    static const char *const names[] = {"record", "render", "report", "version", "show"};

    assert_string_equal(opt_nearest("recrod", names, ARRAY_SIZE(names)), "record");
    assert_string_equal(opt_nearest("vresion", names, ARRAY_SIZE(names)), "version");
    assert_string_equal(opt_nearest("shwo", names, ARRAY_SIZE(names)), "show");
    assert_null(opt_nearest("frobnicate", names, ARRAY_SIZE(names)));
    assert_null(opt_nearest("", names, ARRAY_SIZE(names)));
    assert_int_equal(opt_distance("ab", "ba"), 1);
    assert_int_equal(opt_distance("kitten", "sitting"), 3);
    assert_int_equal(opt_distance("", "abc"), 3);
}

static void spelled_options_give_the_same_again(void **state)
{
    struct result r = parse("-o a=b -F 7 -d 1.5s --max-size 3k --format svg -p 1 -p 2 -q", 0, NULL), again;
    struct opt_args args = {0};
    struct buf text = {0};

    opt_spell(options, ARRAY_SIZE(options), &r.v, &args);
    for (size_t i = 0; i < args.list.n; i++) {
        buf_addf(&text, "%s%s", i ? " " : "", args.list.a[i]);
        free(args.list.a[i]);
    }
    vec_release(&args.list);
    assert_string_equal(buf_str(&text), "--output=a=b --frequency=7 --duration=1500000000ns --max-size=3072 "
                                        "--format=svg --pid=1 --pid=2 --quiet");
    release(&r);
    again = parse(buf_str(&text), 0, NULL);
    assert_int_equal(again.v.duration, 1500000000);
    assert_int_equal(again.v.size, 3072);
    assert_int_equal(again.v.pids.n, 2);
    assert_int_equal(again.v.all, 0);
    release(&again);
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_write_an_option),          cmocka_unit_test(types_and_defaults),
        cmocka_unit_test(a_name_s_ending_says_the_format),       cmocka_unit_test(operands_keep_their_order),
        cmocka_unit_test(a_command_keeps_its_own_options),       cmocka_unit_test(refusals_name_the_option),
        cmocka_unit_test(settings_stand_under_the_command_line), cmocka_unit_test(nearest_names),
        cmocka_unit_test(spelled_options_give_the_same_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
