/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run-times that make code at run time, known by the file that holds them, and whether that code keeps frame
 * pointers: what decides how walks go through it.
 */
#ifndef WPROF_UNWIND_JIT_RUNTIME_H
#define WPROF_UNWIND_JIT_RUNTIME_H

#include <stddef.h>
#include <sys/types.h>

enum jit_runtime {
    JIT_NONE,
    JIT_ONEDNN, /* its kernels take rbp for data */
    JIT_V8,  /* all of its code keeps frame pointers, and so do the built-in functions inside of its binary,
                which have no unwind tables */
    JIT_JVM, /* HotSpot: only with -XX:+PreserveFramePointer */
};

/* By the base name of a mapped file. */
enum jit_runtime jit_runtime_of(const char *path);

/* Does this JVM run with -XX:+PreserveFramePointer, as far as its command line and environment tell? What it
 * reads from files (@argfiles, -XX:Flags=) isn't looked at. */
int jit_jvm_keeps_fp(pid_t pid);

/* The same of a command line and an environment as /proc has them: each string ends in a NUL. */
int jit_jvm_options_keep_fp(const char *cmdline, size_t cmdline_n, const char *env, size_t env_n);

#endif
