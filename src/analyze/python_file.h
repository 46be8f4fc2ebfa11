/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a Python file is, by its path. */
#ifndef WPROF_ANALYZE_PYTHON_FILE_H
#define WPROF_ANALYZE_PYTHON_FILE_H

#include <string.h>

static inline int python_file_is_package(const char *file)
{
    return strstr(file, "/site-packages/") || strstr(file, "/dist-packages/");
}

/* ".../lib/python3.11/queue.py", "<frozen importlib._bootstrap>" */
static inline int python_file_is_standard(const char *file)
{
    return !python_file_is_package(file) && (strstr(file, "/lib/python") || !strncmp(file, "<frozen ", 8));
}

/* What imports modules. */
static inline int python_file_is_importer(const char *file)
{
    return !strncmp(file, "<frozen importlib", 17) || !strncmp(file, "<frozen zipimport", 17) ||
           strstr(file, "/importlib/_bootstrap") != NULL;
}

#endif
