/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library is loaded into programs with older C libraries than the one that it is built with: what moved
 * into libc.so.6 with glibc 2.34 got a new version there, and the old one is asked for, of the library that
 * had it (glibc.map, the Makefile). Included by the files that call these.
 */
#ifndef WPROF_AGENT_GLIBC_H
#define WPROF_AGENT_GLIBC_H

__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dladdr1,dladdr1@GLIBC_2.3.3");
__asm__(".symver pthread_create,pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_detach,pthread_detach@GLIBC_2.2.5");
__asm__(".symver pthread_sigmask,pthread_sigmask@GLIBC_2.2.5");

#endif
