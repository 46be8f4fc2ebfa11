/* SPDX-License-Identifier: Apache-2.0 */
/* Which branch and commit a work tree is at, read from git's files: gitrepository-layout(5). */
#ifndef WPROF_PLATFORM_GIT_HEAD_H
#define WPROF_PLATFORM_GIT_HEAD_H

struct git_head {
    char *branch; /* NULL: none is checked out */
    char *commit; /* 40 or 64 hexadecimal digits; NULL: no commit yet */
};

/* Of the work tree that holds `dir`. Where there is none both are NULL. Release with git_head_release(). */
void git_head_read(struct git_head *h, const char *dir);
void git_head_release(struct git_head *h);

#endif
