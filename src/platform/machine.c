/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/machine.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The rest of the first line that starts with `key`, without blanks, separators and quotes around it; NULL:
 * none. */
static char *value_of(const char *text, const char *key, const char *around)
{
    const char *p = text;
    size_t n = strlen(key), len;

    while (p && strncmp(p, key, n)) {
        p = strchr(p, '\n');
        p = p ? p + 1 : NULL;
    }
    if (!p || !*p)
        return NULL;
    p += n;
    p += strspn(p, around);
    len = strcspn(p, "\n");
    while (len && strchr(around, p[len - 1]))
        len--;
    return len ? mem_strndup(p, len) : NULL;
}

static char *value_in_file(const char *path, const char *key, const char *around)
{
    struct buf b = {0};
    char *v = NULL;

    if (!io_read_file(AT_FDCWD, path, &b, NULL))
        v = value_of(buf_str(&b), key, around);
    buf_release(&b);
    return v;
}

/* "bba9d8ae-... time:[4026531834]": boots count from 0, time namespaces from what they are told. */
static char *clock_id(void)
{
    char ns[64] = "";
    char *boot = value_in_file("/proc/sys/kernel/random/boot_id", "", " \t"), *id = NULL;
    ssize_t n = readlink("/proc/self/ns/time", ns, sizeof(ns) - 1);

    if (n < 0)
        ns[0] = '\0'; /* before Linux 5.6 there is one for all */
    if (boot)
        id = mem_printf("%s%s%s", boot, *ns ? " " : "", ns);
    free(boot);
    return id;
}

void machine_read(struct machine *m)
{
    struct utsname u;
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    *m = (struct machine){.ncpus = n > 0 ? (uint32_t)n : 1};
    if (!uname(&u)) {
        m->host = mem_strdup(u.nodename);
        m->arch = mem_strdup(u.machine);
        m->kernel = mem_strdup(u.release);
    }
    m->os = value_in_file("/etc/os-release", "PRETTY_NAME=", "\"' ");
    if (!m->os)
        m->os = value_in_file("/usr/lib/os-release", "PRETTY_NAME=", "\"' ");
    m->clock = clock_id();
    m->cpu_model = value_in_file("/proc/cpuinfo", "model name", " \t:");
}

void machine_release(struct machine *m)
{
    free(m->host);
    free(m->arch);
    free(m->kernel);
    free(m->os);
    free(m->cpu_model);
    free(m->clock);
    *m = (struct machine){0};
}
