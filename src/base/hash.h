/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WPROF_BASE_HASH_H
#define WPROF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* A good 64-bit mixer of one word: the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
static inline uint64_t hash_u64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Two words folded by a 128-bit product, the step that wyhash and rapidhash are built on. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 m = (unsigned __int128)(a ^ 0xa0761d6478bd642fu) * (b ^ 0xe7037ed1a0b428dbu);

    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

uint64_t hash_bytes(const void *p,
                    size_t n); /* in-memory tables only: the value may change between versions */

/* CRC-32C (Castagnoli, RFC 3720 B.4) of p[0..n), continuing from crc (0 to start). It is what wlog blocks
 * carry. */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);

#endif
