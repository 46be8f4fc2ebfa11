/* SPDX-License-Identifier: Apache-2.0 */
/* What of a command line and an environment may stand in a session. */
#ifndef WPROF_MODEL_REDACT_H
#define WPROF_MODEL_REDACT_H

#include "base/vec.h"

/* What stands for a secret. */
#define REDACTED "[redacted]"

/*
 * Copies argv with its secrets replaced: NAME=value, --name=value and the word behind --name where the name
 * contains TOKEN, SECRET, PASSWORD, PASSWD, PASSPHRASE, CREDENTIAL or KEY in any case, or ends with PASS; the
 * value behind `name:`, as in JSON and headers; user:password@ in URLs, the password of -u user:password;
 * what follows "Authorization:" or "Bearer"; access keys that begin as such. Words inside an argument ("sh -c
 * 'TOKEN=x run'") are treated alike. Strings in `out` are owned by the caller. Counts (--max-tokens 512) and
 * --tokenizer are no secrets.
 */
struct redacted {
    VEC(char *) args;
};

void redact_command(struct redacted *out, char *const *argv);
void redacted_release(struct redacted *r);

/* The listed few "NAME=value" of `env` that tell ranks, threads, visible devices, networks and switches for
 * debugging; borrowed. Returns how many, <= max. */
size_t redact_env(char *const *env, const char **out, size_t max);

#endif
