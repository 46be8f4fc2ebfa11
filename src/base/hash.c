/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <string.h>

static uint64_t load(const uint8_t *p, size_t n)
{
    uint64_t v = 0;

    memcpy(&v, p, n);
    return v;
}

uint64_t hash_bytes(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t h = n * 0x9e3779b97f4a7c15u;

    for (; n > 16; p += 16, n -= 16)
        h = hash_mix(load(p, 8) ^ h, load(p + 8, 8));
    if (n > 8)
        return hash_mix(load(p, 8) ^ h, load(p + 8, n - 8));
    return hash_mix(load(p, n) ^ h, 0x8ebc6af09c88c6e3u);
}

static uint32_t crc_soft(uint32_t crc, const uint8_t *p, size_t n)
{
    for (; n; p++, n--) {
        crc ^= *p;
        for (int k = 0; k < 8; k++)
            crc = (crc >> 1) ^ (0x82f63b78u & -(crc & 1));
    }
    return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const uint8_t *p, size_t n)
{
    uint64_t c = crc;

    for (; n >= 8; p += 8, n -= 8)
        c = __builtin_ia32_crc32di(c, load(p, 8));
    for (; n; p++, n--)
        c = __builtin_ia32_crc32qi((uint32_t)c, *p);
    return (uint32_t)c;
}
#endif

uint32_t crc32c(uint32_t crc, const void *p, size_t n)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2"))
        return ~crc_sse42(~crc, p, n);
#endif
    return ~crc_soft(~crc, p, n);
}
