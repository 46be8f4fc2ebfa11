/* SPDX-License-Identifier: Apache-2.0 */
/* The name of what runs: the script or module that an interpreter is given, else the command. */
#ifndef WPROF_RECORD_WORKLOAD_H
#define WPROF_RECORD_WORKLOAD_H

/* "train.py" of {"env", "A=1", "python3", "-u", "src/train.py", "--lr", "1"}. Only letters, digits and ._+-
 * stay, at most 48 of them, none of . and - in front. Owned by the caller; never empty. */
char *workload_name(char *const *argv);

#endif
