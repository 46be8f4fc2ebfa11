/* SPDX-License-Identifier: Apache-2.0 */
/* Names of what is in no file on disk: the kernel, the vdso, JIT code. */
#include "base/log.h"
#include "symbolize_case.h"

#include <sys/auxv.h>
#include <time.h>

static uint64_t boot_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void test_kernel(void **state)
{
    struct store s = {0};
    struct module vmlinux = {.kind = MODULE_KERNEL, .fd = -1, .path = strtab_add(&s.strings, "[kernel]")};
    struct module kmod = {.kind = MODULE_KMOD, .fd = -1, .path = strtab_add(&s.strings, "[nf_tables]")};
    struct symbolize_opts o = {.proc_root = dir, .same_boot = 0};
    struct symbolize_stats stats;
    uint32_t work, ret, hook, low;
    const struct frame_name *names;
    struct frame_name self;

    put_file("kallsyms",
             "ffffffff81000000 T startup_64\nffffffff81000100 T do_work\n"
             "ffffffff81000200 t finish_task_switch.isra.0\nffffffffc0001000 t nf_hook\t[nf_tables]\n");
    work = add_frame(&s, &vmlinux, FRAME_KERNEL, 0, 0xffffffff81000108);
    ret = add_frame(&s, &vmlinux, FRAME_KERNEL, FRAME_RETURN, 0xffffffff81000200);
    hook = add_frame(&s, &kmod, FRAME_KERNEL, 0, 0xffffffffc0001010);
    low = add_frame(&s, &vmlinux, FRAME_KERNEL, 0, 0x1000);
    assert_int_equal(run(&s, &o).named, 0); /* another boot: the addresses mean nothing here */
    o.same_boot = 1;
    stats = run(&s, &o);
    assert_int_equal(stats.named, 3);
    assert_int_equal(stats.modules, 1); /* the kernel's are looked up together */
    expect_names(&s, work, "do_work");
    expect_names(&s, ret, "do_work");
    expect_names(&s, hook, "nf_hook");
    expect_names(&s, low, "");
    assert_int_equal(frames_names(&s.frames, hook, &self, &names), 1);
    assert_string_equal(strtab_get(&s.strings, names[0].file), "[nf_tables]");
    store_release(&s);
}

static void test_kernel_hidden(void **state)
{
    struct store s = {0};
    struct module vmlinux = {.kind = MODULE_KERNEL, .fd = -1, .path = strtab_add(&s.strings, "[kernel]")};
    struct symbolize_opts o = {.proc_root = dir, .same_boot = 1};

    put_file("kallsyms", "0000000000000000 T startup_64\n");
    add_frame(&s, &vmlinux, FRAME_KERNEL, 0, 0xffffffff81000108);
    assert_int_equal(run(&s, &o).modules_without_symbols, 1);
    store_release(&s);
}

static void test_vdso(void **state)
{
    const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
    struct module m = {.kind = MODULE_VDSO, .fd = -1};
    struct symbolize_opts o = {.same_boot = 1};
    struct store s = {0};
    struct elf_sym sym;
    uint32_t known, other, unknown;
    struct elf f;

    if (!image)
        skip();
    assert_int_equal(elf_open_mem(&f, image, 2 * 4096, NULL), 0);
    assert_int_equal(elf_find_symbol(&f, "__vdso_clock_gettime", &sym), 0);
    m.path = strtab_add(&s.strings, "[vdso]");
    unknown = add_frame(&s, &m, FRAME_NATIVE, 0, sym.value + 1);
    m.build_id_len = (uint8_t)elf_build_id(&f, m.build_id);
    known = add_frame(&s, &m, FRAME_NATIVE, 0, sym.value + 1);
    m.build_id[0] ^= 1;
    other = add_frame(&s, &m, FRAME_NATIVE, 0, sym.value + 1);
    run(&s, &o);
    expect_names(&s, known, "clock_gettime"); /* its weak alias without underscores */
    expect_names(&s, unknown, "clock_gettime");
    expect_names(&s, other, "");
    elf_close(&f);
    store_release(&s);
}

static uint32_t add_jit(struct store *s, const char *path, uint32_t task, int fd, uint64_t addr)
{
    struct module m = {.kind = MODULE_JIT, .fd = fd, .path = strtab_add(&s->strings, path), .task = task};

    return add_frame(s, &m, FRAME_JIT, 0, addr);
}

static void test_perf_map_kept_open(void **state)
{
    struct symbolize_opts o = {.same_boot = 0};
    struct store s = {0};
    uint32_t known, beyond;

    put_file("map", "1000 100 _ZN3Foo3barEv\n2000 10 LazyCompile:*go /srv/app.js:1:3\nnot a line\n");
    known = add_jit(&s, "[jit]", 0, open(at("map"), O_RDONLY | O_CLOEXEC), 0x1050);
    beyond = add_jit(&s, "[jit]", 0, -1, 0x1100); /* the same module */
    unlink(at("map"));
    run(&s, &o);
    expect_names(&s, known, "Foo::bar");
    expect_names(&s, beyond, "");
    store_release(&s);
}

static void test_perf_map_by_path(void **state)
{
    struct symbolize_opts o = {.same_boot = 1};
    struct task old = {.pid = 7, .tid = 7, .start_ns = 1}, young = {.pid = 8, .tid = 8};
    struct store s = {0};
    uint32_t js, stale, none, link;

    put_file("map", "1000 100 one\n2000 10 LazyCompile:*go /srv/app.js:1:3\n");
    assert_int_equal(symlink(at("map"), at("link")), 0);
    young.start_ns = boot_ns() + 3600 * 1000000000ull; /* the map is older than the process */
    js = add_jit(&s, at("map"), tasks_add(&s.tasks, &old), -1, 0x2001);
    stale = add_jit(&s, at("map"), tasks_add(&s.tasks, &young), -1, 0x2001);
    link = add_jit(&s, at("link"), 0, -1, 0x2001);
    none = add_jit(&s, "[jit]", 0, -1, 0x2001);
    run(&s, &o);
    expect_names(&s, js, "go");
    expect_names(&s, stale, "");
    expect_names(&s, link, "");
    expect_names(&s, none, "");
    store_release(&s);
}

/* Its /tmp was kept, since it ends with the process. */
static void test_perf_map_in_a_kept_directory(void **state)
{
    struct symbolize_opts o = {.same_boot = 0};
    struct task t = {.pid = 9, .tid = 9, .own_pid = 3};
    struct store s = {0};
    char dir[256], *slash;
    uint32_t id, other;

    put_file("perf-3.map", "2000 10 void app.Main.go()\n");
    snprintf(dir, sizeof(dir), "%s", at("perf-3.map"));
    slash = strrchr(dir, '/');
    *slash = '\0';
    id = add_jit(&s, "[jit]", tasks_add(&s.tasks, &t), open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), 0x2001);
    t.pid = t.tid = t.own_pid = 4;
    other =
        add_jit(&s, "[jit]", tasks_add(&s.tasks, &t), open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), 0x2001);
    run(&s, &o);
    expect_names(&s, id, "app.Main.go");
    expect_names(&s, other, "");
    store_release(&s);
}

/* Of a process in a container: the file is under its root, named by the pid that it has there. */
static void test_perf_map_of_live_process(void **state)
{
    struct symbolize_opts o = {.proc_root = at("proc"), .same_boot = 1};
    struct task t = {.pid = 5000, .tid = 5000, .start_ns = 1, .ns_pid = 4000, .own_pid = 17};
    struct store s = {0};
    uint32_t id;

    sh("mkdir -p proc/4000/root/real && ln -s /real proc/4000/root/tmp && "
       "echo '1000 100 in_container' >proc/4000/root/real/perf-17.map");
    id = add_jit(&s, "[jit]", tasks_add(&s.tasks, &t), -1, 0x1001);
    run(&s, &o);
    expect_names(&s, id, "in_container");
    store_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_kernel_hidden),
        cmocka_unit_test(test_vdso),
        cmocka_unit_test(test_perf_map_kept_open),
        cmocka_unit_test(test_perf_map_by_path),
        cmocka_unit_test(test_perf_map_in_a_kept_directory),
        cmocka_unit_test(test_perf_map_of_live_process),
    };

    log_set_level(LOG_ERROR);
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
