/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP request, through libcurl, which is loaded when it is needed. TLS certificates are checked, no
 * redirect is followed (what was meant for one server goes to no other), no other protocol is spoken.
 */
#ifndef WPROF_PLATFORM_HTTP_H
#define WPROF_PLATFORM_HTTP_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

struct http_part { /* of a form */
    const char *name, *file_name, *type;
    const char *text; /* NULL: the content of the request's file */
};

struct http_request {
    const char *url;
    const char *token;   /* "Authorization: Bearer ..."; NULL: none */
    const char *ca_file; /* certificates to believe in besides the system's; NULL */
    int fd;              /* what is sent, from its start */
    uint64_t size;
    const struct http_part *parts; /* POST as multipart/form-data; none: PUT of the file */
    size_t nparts;
    uint64_t stall_ns; /* give up when nothing moves for so long */
};

struct http_answer {
    long status;          /* 0: there was none */
    uint64_t retry_after; /* seconds that the server asks for; 0: it asks for none */
    struct buf body;      /* at most HTTP_BODY_MAX bytes */
    uint64_t body_left;   /* that came beyond them */
    struct buf location;  /* where a redirect, which is not followed, leads, as http_shown(); else empty */
    int again;            /* another try may do: nobody answered, or the server is busy (429, 5xx) */
};

#define HTTP_BODY_MAX 65536

/* 0: answered, whatever the status. -1 with `e`: not; a->again tells whether to try again. Release the answer
 * in any case. */
int http_send(const struct http_request *r, struct http_answer *a, struct err *e);
void http_answer_release(struct http_answer *a);

/* The URL without what may be secret, user and query: "https://host/path". */
void http_shown(const char *url, struct buf *out);

#endif
