#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Other kernels, under qemu: Debian's packages in $WPROF_TEST_KERNELS (make kernels fetches one). tests/tools/boot-kernel.sh
# says what has to hold.
load common

@test "a Debian kernel with perf_event_paranoid 3: root by tier A, an ordinary user by tier C, and doctor says so" {
    need_command qemu-system-x86_64
    need_command cpio
    need_command busybox
    need_command dpkg-deb
    local kernel found=
    for kernel in "${WPROF_TEST_KERNELS:-$BUILD/kernels}"/linux-image-*.deb; do
        [ -e "$kernel" ] || continue
        found=1
        run "$ROOT/tests/tools/boot-kernel.sh" -u "$kernel"
        echo "$output"
        [ "$status" = 0 ]
    done
    [ -n "$found" ] || skip "needs a kernel's package (make kernels)"
}
