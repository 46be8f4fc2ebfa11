/* SPDX-License-Identifier: Apache-2.0 */
/* Whose mutex a futex is: the words as glibc and the kernel lay them out. */
#include "bpf/mutex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WAIT_PRIVATE = 128, WAIT_BITSET_PRIVATE = 128 | 9, LOCK_PI_PRIVATE = 128 | 6 };

static void plain(void **state)
{
    const uint32_t held[MUTEX_WORDS] = {2, 0, 4711, 1, 0};
    const uint32_t not_waited_for[MUTEX_WORDS] = {1, 0, 4711, 1, 0};
    const uint32_t free_by_now[MUTEX_WORDS] = {0, 0, 0, 0, 0};
    const uint32_t other[MUTEX_WORDS] = {2, 0, 4711, 1, 0x400};

    assert_int_equal(mutex_owner(held, WAIT_PRIVATE, 2), 4711);
    assert_int_equal(mutex_owner(held, 0, 2), 4711);
    assert_int_equal(mutex_owner(held, WAIT_PRIVATE, 0), 0);
    assert_int_equal(mutex_owner(held, WAIT_BITSET_PRIVATE, 2),
                     0); /* a condition variable's, a semaphore's */
    assert_int_equal(mutex_owner(not_waited_for, WAIT_PRIVATE, 2), 0);
    assert_int_equal(mutex_owner(free_by_now, WAIT_PRIVATE, 2), 0);
    assert_int_equal(mutex_owner(other, WAIT_PRIVATE, 2), 0); /* no kind of mutex has such a number */
}

static void in_the_word(void **state)
{
    const uint32_t robust[MUTEX_WORDS] = {MUTEX_WAITERS | 4711, 0, 0, 0, 16};
    const uint32_t pi[MUTEX_WORDS] = {4711};

    assert_int_equal(mutex_owner(robust, WAIT_PRIVATE, robust[0]), 4711);
    assert_int_equal(mutex_owner(pi, LOCK_PI_PRIVATE, 0), 4711);
    assert_int_equal(mutex_owner(pi, WAIT_PRIVATE, 4711), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plain), cmocka_unit_test(in_the_word)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
