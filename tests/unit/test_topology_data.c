/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph_json.h"
#include "render/topology_data.h"
#include "render_fixture.h"
#include "topology_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* In columns, whose places no library changes. */
static struct json_doc *encode(const struct graph *g, size_t max_nodes, struct buf *out)
{
    struct json_doc *doc;

    topology_data_encode(g, &(struct topology_data_opts){"a run", "constraint", max_nodes}, out);
    assert_null(strchr(buf_str(out), '<'));
    doc = json_parse(buf_str(out), out->len, NULL);
    assert_non_null(doc);
    return doc;
}

static const struct json_value *item(const struct json_value *of, size_t i)
{
    const struct json_value *v = of->child;

    while (v && i--)
        v = v->next;
    return v;
}

/* The node or edge whose text at `at` is that. */
static const struct json_value *find(const struct json_doc *doc, const char *list, size_t at,
                                     const char *text)
{
    for (const struct json_value *v = json_get(json_root(doc), list)->child; v; v = v->next)
        if (item(v, at)->str && !strcmp(item(v, at)->str, text))
            return v;
    return NULL;
}

/* A line for each node and edge. */
static void add_lines(const struct buf *json, struct buf *out)
{
    for (const char *c = json->data; *c; c++) {
        buf_addch(out, *c);
        if (c[0] == ',' && c[1] == '[')
            buf_addch(out, '\n');
    }
    buf_addch(out, '\n');
}

static void a_small_one_is_as_it_was(void **state)
{
    struct buf text = {0}, out = {0}, lines = {0};
    struct graph g;

    graph_init(&g);
    assert_int_equal(io_read_file(AT_FDCWD, "tests/fixtures/topology/small.json", &text, NULL), 0);
    assert_int_equal(graph_json_read(&g, text.data, text.len, NULL), 0);
    json_free(encode(&g, 100, &out));
    add_lines(&out, &lines);
    assert_int_equal(fixture_golden("topology.page.json", &lines), 0);
    graph_release(&g);
    buf_release(&lines);
    buf_release(&text);
    buf_release(&out);
}

static void times_and_waits_are_told(void **state)
{
    struct buf out = {0};
    struct graph g;
    struct json_doc *doc;
    const struct json_value *trainer, *edge, *watcher;

    topology_training(&g, HOSTILE);
    doc = encode(&g, 100, &out);
    assert_int_equal(json_get(json_root(doc), "unseen")->len, 2);
    assert_string_equal(item(json_get(json_root(doc), "unseen"), 0)->str, "pipe: 2 denied");
    assert_string_equal(item(json_get(json_root(doc), "unseen"), 1)->str,
                        "gpu: timed out (the driver hangs)");
    trainer = find(doc, "nodes", 0, "python3 (100)");
    assert_int_equal(item(item(trainer, 12), 0)->integer, 7500000000);
    assert_int_equal(item(item(trainer, 12), 2)->integer, 2500000000);
    watcher = find(doc, "nodes", 1, "Process(pid=200,ppid=1)");
    assert_int_equal(item(watcher, 12)->type, JSON_NUMBER); /* was not recorded */
    edge = find(doc, "edges", 14, "1.0 MiB → 4.0 KiB ←");
    assert_int_equal(item(edge, 5)->integer, 1048576);
    assert_int_equal(item(edge, 12)->integer, 2000000000);
    assert_int_equal(item(edge, 13)->integer, 0);
    assert_int_equal(item(edge, 10)->integer - item(edge, 9)->integer, 9000000000);
    json_free(doc);
    graph_release(&g);
    buf_release(&out);
}

/* Of a kind that is in two directions each has its own. */
static void who_waited_is_kept_apart(void **state)
{
    struct buf out = {0};
    struct graph g;
    struct json_doc *doc;
    int waits = 0;

    topology_training(&g, "other");
    doc = encode(&g, 100, &out);
    for (const struct json_value *e = json_get(json_root(doc), "edges")->child; e; e = e->next)
        if (!strcmp(json_get_str(item(json_get(json_root(doc), "relations"), (size_t)item(e, 0)->integer),
                                 "id", ""),
                    "wait")) {
            waits++;
            assert_int_equal(item(e, 3)->integer, 1);
            assert_int_equal(item(e, 12)->integer + item(e, 13)->integer, 2500000000);
            assert_true(item(e, 12)->integer == 2000000000 || item(e, 13)->integer == 2000000000);
        }
    assert_int_equal(waits, 1);
    json_free(doc);
    graph_release(&g);
    buf_release(&out);
}

/* Memory of one name with the same users is one node, which names all it stands for; processes stay apart. */
static void equals_are_one(void **state)
{
    struct buf out = {0}, whole = {0};
    struct graph g;
    struct json_doc *doc;
    const struct json_value *memory, *threads;

    topology_training(&g, "other");
    doc = encode(&g, 100, &out);
    memory = find(doc, "nodes", 0, "SharedMemory ×5");
    threads = find(doc, "nodes", 0, "autograd ×3");
    assert_non_null(memory);
    assert_non_null(threads);
    assert_int_equal(item(memory, 3)->integer, 5);
    assert_int_equal(item(memory, 14)->len, 10);
    assert_int_equal(item(memory, 15)->integer, 0);
    assert_int_equal(json_get(json_root(doc), "nodes")->len, 5);
    json_free(doc);
    doc = encode(&g, 0, &whole); /* not where nothing is to be folded */
    assert_null(find(doc, "nodes", 0, "SharedMemory ×5"));
    assert_int_equal(json_get(json_root(doc), "nodes")->len, 11);
    json_free(doc);
    graph_release(&g);
    buf_release(&out);
    buf_release(&whole);
}

static void many_are_folded_and_named(void **state)
{
    struct buf out = {0};
    struct graph g;
    struct json_doc *doc;
    uint64_t named = 0, left = 0;

    topology_crowd(&g);
    doc = encode(&g, 100, &out);
    assert_true(json_get(json_root(doc), "nodes")->len <= 100);
    assert_true(json_get(json_root(doc), "notes")->len >= 1);
    for (const struct json_value *n = json_get(json_root(doc), "nodes")->child; n; n = n->next) {
        named += item(n, 14)->len ? item(n, 14)->len / 2 : 1;
        left += (uint64_t)item(n, 15)->integer;
    }
    assert_true(named + left >= 5000);
    assert_true(named > 4000);
    assert_true(out.len < 1000000);
    json_free(doc);
    graph_release(&g);
    buf_release(&out);
}

static void colours_of_all_kinds(void **state)
{
    struct buf light = {0}, dark = {0};

    topology_data_css(&light, 0);
    topology_data_css(&dark, 1);
    assert_non_null(strstr(buf_str(&light), "--node-process:#cfe8cf;"));
    assert_non_null(strstr(buf_str(&light), "--edge-wait:#b03a2e;"));
    assert_non_null(strstr(buf_str(&dark), "--node-process:#"));
    assert_null(strstr(buf_str(&dark), "#cfe8cf"));
    buf_release(&light);
    buf_release(&dark);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_one_is_as_it_was),  cmocka_unit_test(times_and_waits_are_told),
        cmocka_unit_test(who_waited_is_kept_apart),  cmocka_unit_test(equals_are_one),
        cmocka_unit_test(many_are_folded_and_named), cmocka_unit_test(colours_of_all_kinds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
