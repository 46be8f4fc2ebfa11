/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of control groups and mounts: whose container, whose pod. */
#include "platform/container_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ID   "3f2a1b0000000000000000000000000000000000000000000000000000000001"
#define UID  "0d5a4e6c-1f2b-4c3d-8e9f-001122334455"
#define UID_ "0d5a4e6c_1f2b_4c3d_8e9f_001122334455"

static void path_is(const char *path, const char *engine, const char *pod, const char *qos)
{
    struct container_path c;

    assert_int_equal(container_path_parse(path, strlen(path), &c), 1);
    assert_string_equal(c.id, ID);
    assert_string_equal(c.engine, engine);
    assert_string_equal(c.pod, pod);
    assert_string_equal(c.qos, qos);
}

static void engines_and_pods(void **state)
{
    path_is("/docker/" ID, "docker", "", "");
    path_is("/system.slice/docker-" ID ".scope", "docker", "", "");
    path_is("/system.slice/nerdctl-" ID ".scope", "containerd", "", "");
    path_is("/kubepods/burstable/pod" UID "/" ID, "", UID, "burstable");
    path_is("/kubepods/pod" UID "/" ID, "", UID, "guaranteed");
    path_is("/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
            ".slice/cri-containerd-" ID ".scope",
            "containerd", UID, "besteffort");
    path_is("/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_ ".slice/crio-" ID
            ".scope/container",
            "cri-o", UID, "guaranteed");
    path_is("/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID,
            "containerd", UID, "burstable");
    path_is("/machine.slice/machine-libpod_pod_" ID ".slice/libpod-" ID ".scope", "podman", ID, "");
}

static void users(void **state)
{
    static const char path[] = "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope";
    struct container_path c;

    assert_int_equal(container_path_parse(path, strlen(path), &c), 1);
    assert_int_equal(c.user, 1000);
    assert_int_equal(c.begin, strlen(path) - strlen("libpod-" ID ".scope"));
}

static void not_one(void **state)
{
    static const char *const paths[] = {"",
                                        "/",
                                        "/init.scope",
                                        "/docker/" ID "0",
                                        "/kubepods.slice",
                                        "/a/pod12/b",
                                        "/machine.slice/libpod-conmon-" ID ".scope"};
    struct container_path c;

    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        assert_int_equal(container_path_parse(paths[i], strlen(paths[i]), &c), 0);
        assert_string_equal(c.pod, "");
    }
}

static void lines(void **state)
{
    struct container_path c;
    const char *path;

    assert_int_equal(container_path_find("3:cpu:/x\n2:pids:/docker/" ID "\n", &path, &c), 1);
    assert_memory_equal(path, "/docker/3f2a", 12);
    assert_int_equal(container_path_find("0::/\n", &path, &c), 0);
    assert_int_equal(container_path_find("nonsense", &path, &c), 0);
}

static void mounts(void **state)
{
    struct container_path c;
    char name[64];

    assert_int_equal(container_path_mounts("36 35 8:1 /var/lib/docker/containers/" ID
                                           "/hostname /etc/hostname rw - ext4 x rw\n",
                                           &c, name),
                     1);
    assert_string_equal(c.id, ID);
    assert_string_equal(c.engine, "docker");
    assert_int_equal(container_path_mounts("36 35 8:1 / / rw - ext4 x rw\n"
                                           "37 35 8:1 /kubelet/pods/" UID
                                           "/containers/web/1a2b /dev/termination-log rw - ext4 x rw\n"
                                           "38 35 8:1 /kubelet/pods/" UID
                                           "/etc-hosts /etc/hosts rw - ext4 x rw\n",
                                           &c, name),
                     1);
    assert_string_equal(c.pod, UID);
    assert_string_equal(name, "web");
    assert_string_equal(c.id, "");
    assert_int_equal(container_path_mounts("36 35 8:1 / / rw - ext4 x rw\n37\n38 35\n", &c, name), 0);
    assert_int_equal(container_path_mounts("", &c, name), 0);
    /* what is mounted there, not where: a volume that holds such names is none */
    assert_int_equal(
        container_path_mounts("36 35 8:1 /data /pods/" UID "/etc-hosts rw - ext4 x rw\n", &c, name), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_and_pods), cmocka_unit_test(users),
        cmocka_unit_test(not_one),          cmocka_unit_test(lines),
        cmocka_unit_test(mounts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
