/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose functions do a known amount of work, in turn, for known parts of its CPU time, the same in
 * every run: what recordings of it differ by is what recording and the machine do. Rounds are of several
 * lengths, as those of programs are: none keeps step with the clocks that samples are taken by.
 *
 *     shares ROUNDS [PERCENT]    the first function does PERCENT more
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone, no_icf))

/* Each is one step longer than the one before in its code alone: compilers fold what is equal. */
#define WORK(name, seed)                                                                                     \
    NOINLINE static uint64_t name(uint64_t n)                                                                \
    {                                                                                                        \
        uint64_t x = (seed);                                                                                 \
                                                                                                             \
        for (uint64_t i = 0; i < n; i++)                                                                     \
            x = x * 6364136223846793005u + (seed);                                                           \
        return x;                                                                                            \
    }

WORK(first, 1)
WORK(second, 3)
WORK(third, 5)
WORK(fourth, 7)
WORK(fifth, 9)
WORK(sixth, 11)
WORK(seventh, 13)
WORK(eighth, 15)

/* Of a round of mean length, in steps of the multiplication above: 2 ms or so together. */
static const struct {
    uint64_t (*work)(uint64_t n);
    uint64_t steps;
} all[] = {{first, 600000}, {second, 400000}, {third, 300000},   {fourth, 200000},
           {fifth, 200000}, {sixth, 100000},  {seventh, 100000}, {eighth, 100000}};

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    unsigned long more = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    uint64_t sum = 0;

    for (unsigned long r = 0; r < rounds; r++) {
        uint64_t part = 50 + r * 61 % 101; /* percent of the mean: each from 50 to 150 as often */

        for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
            sum += all[i].work(all[i].steps * part / 100 * (i ? 100 : 100 + more) / 100);
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
