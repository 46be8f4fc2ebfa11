# SPDX-License-Identifier: Apache-2.0
# Targets: all (the default), check, deps, demo, bench, lint, install, clean. O=DIR builds elsewhere than build/.

O      ?= build
CC     ?= cc
CLANG  ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
CFLAGS ?= -O2 -g
WARN   := -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wno-unused-parameter -Wno-missing-field-initializers
CPPFLAGS += -D_GNU_SOURCE -Isrc -Icmd -I. -I$(O)
ALL_CFLAGS := -std=gnu11 $(CFLAGS) $(WARN) -MMD -MP $(if $(SAN),-fsanitize=address -fsanitize=undefined -fno-omit-frame-pointer)
LDLIBS := -lbpf -ldw -lelf -lzstd -lmd -linih -liberty -lm -ldl -lpthread
LDFLAGS += $(if $(SAN),-fsanitize=address -fsanitize=undefined)

SRC  := $(wildcard src/*/*.c)
CMD  := $(wildcard cmd/*.c)
LIB  := $(O)/libwprof.a
BPFO := $(patsubst bpf/%.bpf.c,$(O)/bpf/%.o,$(wildcard bpf/*.bpf.c))
SKEL := $(if $(BPFO),$(O)/wprof.skel.h)

all: $(O)/wprof

$(O)/wprof: $(CMD:%.c=$(O)/%.o) $(LIB)
	$(CC) $(LDFLAGS) -o $@ $(CMD:%.c=$(O)/%.o) $(LIB) $(LDLIBS)

$(LIB): $(SRC:%.c=$(O)/%.o)
	rm -f $@ && $(AR) rcs $@ $^

$(O)/%.o: %.c $(SKEL)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(O)/bpf/%.o: bpf/%.bpf.c $(wildcard bpf/*.h)
	@mkdir -p $(@D)
	$(CLANG) -O2 -g -target bpf -D__TARGET_ARCH_x86 -mcpu=v3 -I. -Wall -c -o $@ $<

$(O)/wprof.bpf.o: $(BPFO)
	$(BPFTOOL) gen object $@ $^

$(O)/wprof.skel.h: $(O)/wprof.bpf.o
	$(BPFTOOL) gen skeleton $< name wprof_bpf > $@.tmp && mv $@.tmp $@

UNIT := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(wildcard tests/unit/test_*.c))

$(O)/tests/unit/%: tests/unit/%.c $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS) -lcmocka

unit: $(UNIT)
	@for t in $(UNIT); do CMOCKA_MESSAGE_OUTPUT=TAP $$t || exit 1; done

clean:
	rm -rf $(O)

-include $(patsubst %.c,$(O)/%.d,$(SRC) $(CMD))
.PHONY: all unit clean
.SECONDARY:
