/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of http.c where libcurl is left out. */
#include "platform/http.h"

int http_send(const struct http_request *r, struct http_answer *a, struct err *e)
{
    *a = (struct http_answer){0};
    return err_set(
        e, "this wprof was built without libcurl (libcurl4-openssl-dev, then make): `wprof pack` and curl do "
           "the same");
}
