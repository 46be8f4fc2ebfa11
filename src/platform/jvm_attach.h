/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a live HotSpot JVM for something, as jcmd(1) does, without needing a JDK beside it: a file named
 * .attach_pidPID in its /tmp and a SIGQUIT make it listen on the socket .java_pidPID there; then one request,
 * one answer (src/jdk.attach and src/hotspot/os/posix/attachListener_posix.cpp of OpenJDK). Pids in the names
 * are those of the JVM's own pid namespace, /tmp is that of its own root.
 */
#ifndef WPROF_PLATFORM_JVM_ATTACH_H
#define WPROF_PLATFORM_JVM_ATTACH_H

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

/* Is libjvm.so mapped into the process? */
int jvm_is(pid_t pid);

/*
 * Has JVM `pid` write /tmp/perf-PID.map (Compiler.perfmap, JDK 17 and later). Takes timeout_ms at most. -1
 * with `e`: no such process or no JVM; another user's; it doesn't listen (-Xrs, -XX:+DisableAttachMechanism,
 * stopped); an older one. Nothing is sent to a process that would die of SIGQUIT, or print its threads.
 */
int jvm_write_perf_map(pid_t pid, int timeout_ms, struct err *e);

#endif
