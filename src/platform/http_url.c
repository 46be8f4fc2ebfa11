/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/http.h"

#include <string.h>

void http_answer_release(struct http_answer *a)
{
    buf_release(&a->body);
    buf_release(&a->location);
}

void http_shown(const char *url, struct buf *out)
{
    const char *host = strstr(url, "://"), *end, *at;

    host = host ? host + 3 : url;
    end = host + strcspn(host, "?#");
    at = memrchr(host, '@', strcspn(host, "/?#"));
    buf_add(out, url, (size_t)(host - url));
    host = at ? at + 1 : host;
    buf_add(out, host, (size_t)(end - host));
}
