/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/language.h"

#include <stddef.h>
#include <string.h>

/* Rust's v0 mangling (RFC 2603) begins with _R; the older one is C++'s with a last part of "h" and 16
 * hexadecimal digits, 17 bytes long. */
static int is_rust(const char *raw)
{
    size_t n = strlen(raw);
    const char *dot;

    if (raw[0] == '_' && raw[1] == 'R' && raw[2])
        return 1;
    if (strncmp(raw, "_ZN", 3))
        return 0;
    dot = strchr(raw, '.'); /* .llvm.1234 */
    if (dot)
        n = (size_t)(dot - raw);
    if (n < 24 || raw[n - 1] != 'E' || strncmp(raw + n - 20, "17h", 3))
        return 0;
    return strspn(raw + n - 17, "0123456789abcdef") == 16;
}

/* PACKAGE.FUNCTION, where the package's path may hold slashes and dots. C has dots only in front of what
 * compilers append (.isra.0, .cold), and never a package of these. */
static int is_go(const char *raw)
{
    static const char *const packages[] = {"runtime.", "main.", "sync.", "syscall.", "type:", "go:"};
    const char *dot = strchr(raw, '.');

    for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++)
        if (!strncmp(raw, packages[i], strlen(packages[i])))
            return 1;
    return dot && raw[0] != '_' && memchr(raw, '/', (size_t)(strrchr(raw, '.') - raw)) != NULL;
}

enum language language_of_symbol(const char *raw)
{
    if (is_rust(raw))
        return LANGUAGE_RUST;
    return is_go(raw) ? LANGUAGE_GO : LANGUAGE_C;
}

const char *language_name(enum language l)
{
    static const char *const names[LANGUAGE_N] = {
        [LANGUAGE_PYTHON] = "python", [LANGUAGE_C] = "c/c++",   [LANGUAGE_RUST] = "rust",
        [LANGUAGE_GO] = "go",         [LANGUAGE_JAVA] = "java", [LANGUAGE_JAVASCRIPT] = "javascript",
    };

    return (unsigned)l < LANGUAGE_N ? names[l] : NULL;
}
