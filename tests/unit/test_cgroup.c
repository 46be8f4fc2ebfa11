/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups and containers by what people call them, on made-up trees. */
#include "platform/container_path.h"
#include "record/cgroup_container.h"
#include "record/cgroup_find.h"

#include "base/io.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ID_A "3f2a1b00000000000000000000000000000000000000000000000000000000aa"
#define ID_B "3f2a77000000000000000000000000000000000000000000000000000000ffbb"
#define ID_C "99c0ffee000000000000000000000000000000000000000000000000000000cc"

static int make_root(void **state)
{
    char *root = mem_strdup("/tmp/wprof-test-XXXXXX");

    *state = root;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    char *command = mem_printf("rm -r '%s'", (char *)*state);
    int rc = system(command);

    free(command);
    free(*state);
    return rc;
}

static void put(const char *root, const char *path, const char *text)
{
    char *name = mem_printf("%s/%s", root, path), *slash = strrchr(name, '/');
    struct err e = {0};
    FILE *f;

    *slash = '\0';
    assert_int_equal(io_mkdirs(name, 0755, &e), 0);
    *slash = '/';
    f = fopen(name, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    free(name);
}

/* ---- groups ---- */

/* What --cgroup TEXT finds, below the root; or the error. */
static const char *found(const char *root, const char *text)
{
    static char out[1200];
    struct cgroup_procs g;
    struct err e = {0};

    if (cgroup_find(&g, root, text, &e)) {
        snprintf(out, sizeof(out), "%s", e.msg);
        return out;
    }
    snprintf(out, sizeof(out), "%s (%s)", g.dir + strlen(root), g.name);
    cgroup_procs_release(&g);
    return out;
}

static void version_2(void **state)
{
    const char *root = *state;
    char *absolute = mem_printf("%s/system.slice/nginx.service", root);

    put(root, "cgroup.procs", "");
    put(root, "system.slice/cgroup.procs", "");
    put(root, "system.slice/nginx.service/cgroup.procs", "1\n");
    put(root, "system.slice/ssh.service/cgroup.procs", "1\n");
    assert_string_equal(found(root, "system.slice/nginx.service"),
                        "/system.slice/nginx.service (nginx.service)");
    assert_string_equal(found(root, "/system.slice/nginx.service/"),
                        "/system.slice/nginx.service (nginx.service)");
    assert_string_equal(found(root, absolute), "/system.slice/nginx.service (nginx.service)");
    assert_string_equal(found(root, "/"), "/ (cgroup)");
    assert_non_null(strstr(found(root, "system.slice/ngin.service"),
                           "/system.slice has no 'ngin.service'; did you mean 'nginx.service'? (there: "
                           "nginx.service, ssh.service)"));
    assert_non_null(strstr(found(root, "a/../.."), "leads out"));
    free(absolute);
}

static void version_1(void **state)
{
    const char *root = *state;

    put(root, "cpu/cgroup.procs", "1\n");
    put(root, "cpu/job/cgroup.procs", "");
    put(root, "memory/cgroup.procs", "1\n");
    put(root, "memory/job/cgroup.procs", "1\n");
    assert_string_equal(found(root, "job"), "/memory/job (job)"); /* where processes are */
    assert_string_equal(found(root, "cpu/job"), "/cpu/job (job)");
    assert_non_null(strstr(found(root, "jib"), "did you mean 'job'? (there: job)"));
    assert_non_null(strstr(found("/nowhere/at/all", "x"), "no control groups are mounted"));
}

static void processes(void **state)
{
    const char *root = *state;
    struct cgroup_procs g;
    struct pid_list all = {0};
    char *own = mem_printf("0\n%d\n11\n", (int)getpid());

    put(root, "cgroup.procs", "");
    put(root, "a/cgroup.procs", own); /* 0: of another pid namespace; and ourselves */
    put(root, "a/b/cgroup.procs", "12\n13\n");
    put(root, "a/b/c/cgroup.threads", "14\n"); /* threaded */
    put(root, "other/cgroup.procs", "15\n");
    assert_int_equal(cgroup_find(&g, root, "a", NULL), 0);
    assert_int_equal(cgroup_procs_list(&g, &all), 0);
    assert_int_equal(all.list.n, 4);
    for (size_t i = 0; i < all.list.n; i++)
        assert_in_range(all.list.a[i], 11, 14);
    vec_release(&all.list);
    cgroup_procs_release(&g);
    g.dir = mem_strdup("/nowhere/at/all");
    assert_int_equal(cgroup_procs_list(&g, &all), -1);
    cgroup_procs_release(&g);
    free(own);
}

static void lines(void **state)
{
    const char *text = "3:cpu,cpuacct:/a/b\n0::/x/y\n";

    assert_true(cgroup_procs_has(text, "/a"));
    assert_true(cgroup_procs_has(text, "/a/b"));
    assert_true(cgroup_procs_has(text, "/x/y"));
    assert_false(cgroup_procs_has(text, "/x/yy"));
    assert_false(cgroup_procs_has(text, "/x/"));
    assert_false(cgroup_procs_has(text, "/b"));
    assert_false(cgroup_procs_has("nonsense", "/a"));
}

/* ---- containers ---- */

static void is(const char *path, const char *id, size_t length)
{
    struct container_path got;

    assert_int_equal(container_path_parse(path, strlen(path), &got), id != NULL);
    if (id) {
        assert_string_equal(got.id, id);
        assert_int_equal(got.end, length);
    }
}

static void paths_of_containers(void **state)
{
    is("/docker/" ID_A, ID_A, 8 + 64);
    is("/system.slice/docker-" ID_A ".scope", ID_A, 14 + 7 + 64 + 6);
    is("/system.slice/docker-" ID_A ".scope/init.scope", ID_A, 14 + 7 + 64 + 6);
    is("/kubepods.slice/kubepods-podaa.slice/cri-containerd-" ID_B ".scope", ID_B, 37 + 15 + 64 + 6);
    is("/kubepods/besteffort/pod12/" ID_B, ID_B, 27 + 64);
    is("/machine.slice/libpod-" ID_C ".scope/container", ID_C, 15 + 7 + 64 + 6);
    is("/machine.slice/libpod-conmon-" ID_C ".scope", NULL, 0);
    is("/docker/" ID_A "/docker/" ID_B, ID_B, 8 + 64 + 8 + 64);
    is("/lxc.payload.web/system.slice", "web", 16);
    is("/lxc/web", "web", 8);
    is("/machine.slice/machine-debian.scope", "debian", 35);
    is("/user.slice/user-1000.slice", NULL, 0);
    is("/", NULL, 0);
    is("", NULL, 0);
}

/* What --container TEXT finds; or the error. */
static const char *container(const char *root, const char *text)
{
    static char out[1200];
    struct cgroup_procs g;
    struct err e = {0};

    if (cgroup_container(&g, root, text, &e)) {
        snprintf(out, sizeof(out), "%s", e.msg);
        return out;
    }
    snprintf(out, sizeof(out), "%s %s %s", g.name, g.path, g.dir ? g.dir + strlen(root) : "-");
    cgroup_procs_release(&g);
    return out;
}

static void containers(void **state)
{
    const char *root = *state;

    assert_non_null(strstr(container(root, "x"), "no container's processes are in /proc here"));
    put(root, "proc/1/cgroup", "0::/init.scope\n");
    put(root, "proc/10/cgroup", "0::/system.slice/docker-" ID_A ".scope\n");
    put(root, "proc/11/cgroup", "0::/system.slice/docker-" ID_A ".scope/below\n");
    put(root, "proc/12/cgroup", "5:memory:/x\n0::/machine.slice/libpod-" ID_B ".scope/container\n");
    put(root, "proc/13/cgroup", "0::/kubepods.slice/cri-containerd-" ID_C ".scope\n");
    put(root, "proc/14/cgroup", "0::/lxc.payload.box\n");
    put(root, "var/lib/docker/containers/" ID_A "/config.v2.json", "{\"Name\": \"/web\"}");
    put(root, "var/lib/containers/storage/overlay-containers/containers.json",
        "[{\"id\": \"" ID_B "\", \"names\": [\"db\"]}]");
    put(root, "run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID_C "/config.json",
        "{\"annotations\": {\"io.kubernetes.cri.container-name\": \"side\"}}");
    put(root, "sys/fs/cgroup/cgroup.procs", "");
    put(root, "sys/fs/cgroup/system.slice/docker-" ID_A ".scope/cgroup.procs", "10\n");
    assert_string_equal(container(root, "web"), "web /system.slice/docker-" ID_A
                                                ".scope /sys/fs/cgroup/system.slice/docker-" ID_A ".scope");
    assert_string_equal(container(root, "3f2a1"), container(root, ID_A));
    assert_string_equal(container(root, "db"), "db /machine.slice/libpod-" ID_B ".scope -");
    assert_string_equal(container(root, "side"), "side /kubepods.slice/cri-containerd-" ID_C ".scope -");
    assert_string_equal(container(root, "box"), "box /lxc.payload.box -");
    assert_non_null(strstr(container(root, "3f2a"), "several containers begin so: 3f2a"));
    assert_non_null(strstr(container(root, "wob"), "none of that id or name runs here (there are: "));
    assert_non_null(strstr(container(root, "wob"), "3f2a1b000000 (web)"));
    assert_non_null(strstr(container(root, ""), "none of that id or name"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(version_2, make_root, remove_root),
        cmocka_unit_test_setup_teardown(version_1, make_root, remove_root),
        cmocka_unit_test_setup_teardown(processes, make_root, remove_root),
        cmocka_unit_test(lines),
        cmocka_unit_test(paths_of_containers),
        cmocka_unit_test_setup_teardown(containers, make_root, remove_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
