# SPDX-License-Identifier: Apache-2.0
# The targets: all (the default), demo, check, deps, unit, lint, cli, browser, fuzz, bench, install, clean.
#   O=DIR      build there and not in build/ (build-san/ with SAN=1)
#   SAN=1      AddressSanitizer and UndefinedBehaviorSanitizer
#   NO_PFM=1   leave libpfm4 out, even where it is installed; NO_LZMA=1 the same for liblzma
#   NO_GRAPHVIZ=1  without libcgraph and libgvc: the topology without pictures
#   NO_CMARK=1  without libcmark: wprof report without its HTML page
#   NO_ARCHIVE=1  without libarchive: no pack, unpack, and no packed sessions as operands
#   NO_CURL=1  without libcurl: no push
#   NO_SQLITE=1  without SQLite: no query, no databases in or out
#   NO_BPF=1   without recording in the kernel (tier A): needs no clang, bpftool, libbpf
#   V=1        show the commands
#   TORCH=no   demo and check do without PyTorch
# portable: a tarball for machines without packages, in the build folder; portable-check: runs it in other suites of Debian.

VERSION := 0.1.0

O       ?= $(if $(SAN),build-san,build)
CC      ?= cc
CLANG   ?= clang
# Ubuntu's bpftool is a script that looks for one of the running kernel; any will do.
BPFTOOL ?= $(firstword $(lastword $(wildcard /usr/lib/linux-tools*/*/bpftool)) $(wildcard /usr/sbin/bpftool) bpftool)
PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wno-unused-parameter \
           -Wno-missing-field-initializers
SANITIZE = $(if $(SAN),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
comma   := ,
hash    := \#
CPPFLAGS += -D_GNU_SOURCE -Isrc -Icmd -I. -I$(O)
# Hidden: a library that calls its own graph_init() must not get ours of that name.
ALL_CFLAGS = -std=gnu11 -fvisibility=hidden $(CFLAGS) $(WARN) -MMD -MP $(SANITIZE)
LDFLAGS += $(SANITIZE)
# In debug information: a build is the same wherever the sources lie.
ANYWHERE := -ffile-prefix-map=$(CURDIR)=.

# Goals that work before anything is installed, or that call make again once it is.
LATER := help deps deps-check demo check bench pythons fuzz clean portable-pack install-files portable-check
ifneq ($(filter-out $(LATER),$(or $(MAKECMDGOALS),all)),)
include $(O)/features.mk
endif

LDLIBS := $(if $(NO_BPF),,-lbpf) -ldw -lelf $(if $(HAVE_LZMA),-llzma) -lzstd -lz -lmd -linih -liberty $(if $(HAVE_PFM),-lpfm) \
          $(if $(HAVE_GRAPHVIZ),-lgvc -lcgraph) $(if $(HAVE_CMARK),-lcmark) $(if $(HAVE_SQLITE),-lsqlite3) \
          -lm -ldl -lpthread

# A library left out takes its one file with it; the other file of the pair then gives what is there without it.
# $(call left_out,WANTED,FILE): FILE_none where FILE is wanted, else FILE.
left_out = src/$(2)$(if $(1),_none).c
ABSENT := $(call left_out,$(HAVE_PFM),platform/pfm) $(call left_out,$(HAVE_LZMA),platform/debugfile_mini) \
          $(call left_out,$(if $(NO_BPF),,1),platform/bpf) \
          $(call left_out,$(HAVE_GRAPHVIZ),model/graph_cgraph) $(call left_out,$(HAVE_GRAPHVIZ),render/gvc) \
          $(call left_out,$(HAVE_CMARK),render/markdown) $(call left_out,$(HAVE_SQLITE),platform/sqlite) \
          $(call left_out,$(HAVE_ARCHIVE),platform/archive) $(call left_out,$(HAVE_CURL),platform/http)
SRC  := $(filter-out $(ABSENT) src/agent/%,$(wildcard src/*/*.c src/*/*/*.c))
CMD  := $(wildcard cmd/*.c)
LIB  := $(O)/libwprof.a
# What the agent shares with the program: nothing that aborts, which the link would tell (-z defs, without mem.c).
AGENT := $(O)/libwprof-cuda.so
AGENT_SRC := $(wildcard src/agent/*.c) $(addprefix src/,base/err.c base/hash.c unwind/ehframe.c unwind/ehframe_run.c \
             unwind/ehframe_row.c unwind/py_layout.c unwind/py_merge.c unwind/py_walk.c)
BPFO := $(if $(NO_BPF),,$(patsubst bpf/%.bpf.c,$(O)/bpf/%.o,$(wildcard bpf/*.bpf.c)))
SKEL := $(if $(BPFO),$(O)/wprof.skel.h)
UNIT := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(wildcard tests/unit/test_*.c))
FUZZ := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
MAN  := $(patsubst man/%.md,$(O)/man/%,$(wildcard man/*.[1-8].md))

# $(call quiet,WHAT): a short line for the command that follows, which V=1 shows instead.
quiet = $(if $(V),,@printf '  %-4s %s\n' '$(1)' '$@';)

all: $(O)/wprof $(AGENT) man

help:
	@sed -n '/^# The targets/,/^$$/s/^# //p' Makefile

# ---- what this machine has, and the flags: a change in either rebuilds what it touches ----

# $(call probe,HEADER,LIBS): "1" where a program with HEADER links with LIBS.
probe = $(shell printf '$(hash)include <stdio.h>\n$(hash)include <%s>\nint main(void) { return 0; }\n' '$(1)' | \
	$(CC) $(CPPFLAGS) -x c - -o /dev/null $(LDFLAGS) $(2) 2>/dev/null && echo 1)
# $(call need,HEADER,LIBS) and $(call tool,PROGRAM): name what is missing.
need = $(if $(call probe,$(1),$(2)),,$(1))
tool = $(if $(shell command -v $(1)),,$(1))
pkg = $(shell pkg-config --modversion $(1) 2>/dev/null)

# $(call remember,TEXT): writes TEXT to the target where it says something else.
remember = @mkdir -p $(@D); echo '$(1)' | cmp -s - $@ || echo '$(1)' >$@
$(O)/flags: force
	$(call remember,$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(LDFLAGS) NO_PFM=$(NO_PFM) NO_LZMA=$(NO_LZMA) NO_BPF=$(NO_BPF) NO_GRAPHVIZ=$(NO_GRAPHVIZ) NO_CMARK=$(NO_CMARK) NO_SQLITE=$(NO_SQLITE) NO_ARCHIVE=$(NO_ARCHIVE) NO_CURL=$(NO_CURL))
$(O)/version: force
	$(call remember,$(VERSION))
$(O)/sources: force
	$(call remember,$(SRC) $(CMD))

$(O)/features.mk: Makefile $(O)/flags
	@missing='$(strip $(if $(NO_BPF),,$(call need,bpf/libbpf.h,-lbpf) $(call tool,$(CLANG)) $(call tool,$(BPFTOOL))) \
		$(call need,elfutils/libdw.h,-ldw) $(call need,gelf.h,-lelf) \
		$(call need,zstd.h,-lzstd) $(call need,zlib.h,-lz) $(call need,sha256.h,-lmd) $(call need,ini.h,-linih) \
		$(call need,libiberty/demangle.h,-liberty))'; \
	if [ -n "$$missing" ]; then \
		echo "missing: $$missing (headers with their libraries, programs): run \`make deps\`" >&2; exit 1; fi
	@{ echo 'HAVE_PFM := $(if $(NO_PFM),,$(call probe,perfmon/pfmlib.h,-lpfm))'; \
	echo 'HAVE_LZMA := $(if $(NO_LZMA),,$(call probe,lzma.h,-llzma))'; \
	echo 'HAVE_CMARK := $(if $(NO_CMARK),,$(call probe,cmark.h,-lcmark))'; \
	echo 'HAVE_ARCHIVE := $(if $(NO_ARCHIVE),,$(call probe,archive.h,))'; \
	echo 'HAVE_CURL := $(if $(NO_CURL),,$(call probe,curl/curl.h,))'; \
	echo 'HAVE_SQLITE := $(if $(NO_SQLITE),,$(call probe,sqlite3.h,-lsqlite3))'; \
	echo 'HAVE_GRAPHVIZ := $(if $(NO_GRAPHVIZ),,$(call probe,graphviz/gvc.h,-lgvc -lcgraph))'; } >$@.tmp
	@mv $@.tmp $@

# FEATURE(name, compiled in, version, what it gives): what `wprof version` shows.
# $(call feature,NAME,THERE,LIBRARY,WHAT)
feature = echo 'FEATURE("$(1)", $(if $(2),1,0), "$(if $(2),$(strip $(3)))", "$(4)")'
$(O)/features.def: $(O)/features.mk
	@{ $(call feature,bpf,$(BPFO),libbpf $(call pkg,libbpf),recording in the kernel); \
	$(call feature,dwarf,1,elfutils $(call pkg,libdw),unwind tables$(comma) symbols$(comma) lines$(comma) inlined functions); \
	$(call feature,demangle,1,libiberty,names of C++ and Rust); \
	$(call feature,lzma,$(HAVE_LZMA),liblzma $(call pkg,liblzma),symbols in .gnu_debugdata); \
	$(call feature,zstd,1,zstd $(call pkg,libzstd),compressed sessions); \
	$(call feature,zlib,1,zlib $(call pkg,zlib),traces in gzip); \
	$(call feature,graphviz,$(HAVE_GRAPHVIZ),graphviz $(call pkg,libgvc),pictures of the topology); \
	$(call feature,cmark,$(HAVE_CMARK),cmark $(call pkg,libcmark),the page of a report); \
	$(call feature,sqlite,$(HAVE_SQLITE),sqlite $(call pkg,sqlite3),query$(comma) databases in and out); \
	$(call feature,archive,$(HAVE_ARCHIVE),libarchive $(call pkg,libarchive),sessions packed into one file); \
	$(call feature,curl,$(HAVE_CURL),libcurl $(call pkg,libcurl),sessions sent to a server); \
	$(call feature,pfm,$(HAVE_PFM),libpfm4,hardware events by name); \
	} >$@.tmp
	@cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@

# ---- templates ----

TEMPLATES := $(wildcard templates/*)
TEMPLATE_LINES := $(foreach t,$(notdir $(TEMPLATES)),TEMPLATE($(subst -,_,$(subst .,_,$(t)))$(comma) "$(t)"))
$(O)/templates.def: force
	$(call remember,$(TEMPLATE_LINES))

$(O)/src/base/templates.o: $(O)/templates.def $(TEMPLATES)
$(O)/src/base/templates.o: CPPFLAGS += -DTEMPLATES_DIR='"templates"'
$(O)/cmd/version.o: $(O)/features.def $(O)/version
$(O)/cmd/mcp.o: $(O)/version
$(O)/cmd/version.o $(O)/cmd/mcp.o $(O)/src/model/meta.o: CPPFLAGS += -DVERSION='"$(VERSION)"'

# ---- the program ----

$(O)/wprof: $(CMD:%.c=$(O)/%.o) $(LIB)
	$(call quiet,LD)$(CC) $(LDFLAGS) -o $@ $(CMD:%.c=$(O)/%.o) $(LIB) $(LDLIBS)

$(LIB): $(SRC:%.c=$(O)/%.o) $(O)/sources
	$(call quiet,AR)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

# Loaded into targets: never with sanitizers, and with symbols of old C libraries only (src/agent/glibc.h).
AGENT_CFLAGS := -std=gnu11 -O2 -g -fPIC -fvisibility=hidden -ffunction-sections -fno-stack-protector -U_FORTIFY_SOURCE \
                $(WARN) -MMD -MP
$(O)/pic/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(call quiet,CC)$(CC) $(CPPFLAGS) $(AGENT_CFLAGS) $(ANYWHERE) -c -o $@ $<

# What stands for the C library's parts before glibc 2.34 (src/agent/glibc.h): the link notes from which of them a function is, and
# until 2.30 the loader looks for it in no other.
OLD_LIBC := $(addprefix $(O)/agent/,libdl.so.2 libpthread.so.0)
$(O)/agent/libdl.so.2: MOVED := dlopen dlsym dladdr1
$(O)/agent/libpthread.so.0: MOVED := pthread_create pthread_detach pthread_sigmask
$(OLD_LIBC): src/agent/glibc.map Makefile
	@mkdir -p $(@D)
	$(call quiet,LD)echo '$(foreach f,$(MOVED),void $(f)(void) {})' | $(CC) -shared -nostdlib -fPIC -fno-builtin -x c - \
		-Wl,-soname,$(@F) -Wl,--version-script=$< -o $@

$(AGENT): $(AGENT_SRC:%.c=$(O)/pic/%.o) src/agent/symbols.map $(OLD_LIBC)
	$(call quiet,LD)$(CC) -shared -static-libgcc -Wl,-soname,$(@F) -Wl,--version-script=src/agent/symbols.map \
		-Wl,--gc-sections -Wl,-z,defs -o $@ $(filter %.o,$^) -Wl,--no-as-needed $(OLD_LIBC)

$(O)/%.o: %.c $(O)/flags | $(SKEL)
	@mkdir -p $(@D)
	$(call quiet,CC)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(ANYWHERE) -c -o $@ $<

$(O)/bpf/%.o: bpf/%.bpf.c $(wildcard bpf/*.h)
	@mkdir -p $(@D)
	$(call quiet,BPF)$(CLANG) -O2 -g -target bpf -D__TARGET_ARCH_x86 -mcpu=v3 -I. -Wall $(ANYWHERE) -c -o $@ $<

$(O)/wprof.bpf.o: $(BPFO)
	$(call quiet,GEN)$(BPFTOOL) gen object $@ $^

$(O)/wprof.skel.h: $(O)/wprof.bpf.o
	$(call quiet,GEN)$(BPFTOOL) gen skeleton $< name wprof_bpf > $@.tmp && mv $@.tmp $@

# ---- manual pages: Markdown, with the header line that cmark does not write ----

CMARK := $(shell command -v cmark)
man: $(if $(CMARK),$(MAN))
$(O)/man/%: man/%.md man/tables.awk $(O)/version
	@mkdir -p $(@D)
	@page='$(basename $(notdir $@))'; section='$(subst .,,$(suffix $@))'; \
	{ printf '.TH "%s" "%s" "" "wprof $(VERSION)" "wprof"\n' "$$(echo $$page | tr a-z- A-Z-)" "$$section"; \
	  sed '1{/^<!--/d}' $< | awk -f man/tables.awk | cmark -t man; } >$@.tmp && mv $@.tmp $@

# ---- tests ----

$(O)/tests/unit/%: tests/unit/%.c $(LIB)
	@mkdir -p $(@D)
	$(call quiet,CC)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS) -lcmocka

# Programs of the bench that need the library.
$(O)/tests/bench/%: tests/bench/%.c $(LIB)
	@mkdir -p $(@D)
	$(call quiet,CC)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS)
bench-programs: $(addprefix $(O)/tests/bench/,compare_rates make_gpu make_ranks shares)

# The corpus through each fuzz target, without a fuzzer: `make fuzz` looks for new input.
$(O)/tests/fuzz/%: tests/fuzz/%.c tests/fuzz/replay.c $(LIB)
	@mkdir -p $(@D)
	$(call quiet,CC)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) $(LIB) $(LDLIBS)

unit-programs: $(UNIT)
replay-programs: $(FUZZ:%=$(O)/tests/fuzz/%)

# $(call tests,SUITES): builds what they need, runs them.
JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
RUN_ENV = BUILD='$(abspath $(O))' SAN_BUILD='$(abspath $(SAN_O))'
SAN_O := $(if $(SAN),$(O),$(O)-san)

check: deps-check
	@$(MAKE) $(JOBS) --no-print-directory all unit-programs
	@$(MAKE) $(JOBS) --no-print-directory SAN=1 O=$(SAN_O) unit-programs replay-programs
	@$(RUN_ENV) tests/run

unit: $(UNIT)
	@$(RUN_ENV) tests/run unit
lint: all
	@$(RUN_ENV) tests/run lint
cli: all unit-programs
	@$(RUN_ENV) tests/run cli
browser: all unit-programs
	@$(RUN_ENV) tests/run browser

bench: deps
	@$(MAKE) $(JOBS) --no-print-directory all bench-programs
	@python3 tests/bench/bench.py '$(abspath $(O))/wprof' '$(O)/bench.json' $(if $(QUICK),--quick)

# CPythons that are not installed, from other Debian suites, for the tests.
pythons:
	@tests/tools/fetch-pythons.sh '$(abspath $(O))/pythons'

# Debian's kernel under qemu, without acceleration: as root and, with its perf_event_paranoid of 3, as an ordinary user.
kernels: all
	@mkdir -p $(O)/kernels
	@cd $(O)/kernels && { ls linux-image-*.deb >/dev/null 2>&1 || \
		apt-get download $$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: //p' | head -1); }
	@WPROF_TEST_KERNELS='$(abspath $(O))/kernels' $(RUN_ENV) ONLY=cli/kernels tests/run cli

# libFuzzer on every target, or on TARGET=json, SECONDS_EACH seconds each; findings and new corpus under the build folder.
SECONDS_EACH ?= 60
fuzz:
	@$(MAKE) $(JOBS) --no-print-directory CC=$(CLANG) O=$(O)-fuzz \
		SANITIZE='-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer' fuzz-run

fuzz-run: $(LIB)
	@set -e; for t in $(if $(TARGET),fuzz_$(TARGET),$(FUZZ)); do \
		$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -fsanitize=fuzzer -o $(O)/$$t tests/fuzz/$$t.c $(LIB) $(LDLIBS); \
		mkdir -p $(O)/corpus/$$t; \
		$(O)/$$t -max_total_time=$(SECONDS_EACH) -timeout=10 -artifact_prefix=$(O)/$$t- $(O)/corpus/$$t \
			tests/fuzz/corpus/$${t#fuzz_}; \
	done

# ---- from nothing ----

deps:
	@tests/deps build
deps-check:
	@tests/deps build demo test $(if $(filter no,$(TORCH)),,torch)
demo:
	@tests/deps build demo $(if $(filter no,$(TORCH)),,torch)
	@$(MAKE) $(JOBS) --no-print-directory all
	@WPROF='$(abspath $(O))/wprof' OUT='$(O)/demo' examples/demo.sh

install: all
	@$(MAKE) --no-print-directory install-files

# Of what is built.
install-files:
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d \
		$(DESTDIR)$(PREFIX)/share/doc/wprof/examples/ci
	install -m 755 $(O)/wprof $(DESTDIR)$(PREFIX)/bin/wprof
	install -D -m 644 $(AGENT) $(DESTDIR)$(PREFIX)/lib/wprof/$(notdir $(AGENT))
	install -m 644 completions/wprof.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/wprof
	install -m 644 completions/_wprof $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_wprof
	install -m 644 completions/wprof.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/wprof.fish
	install -m 644 README.md LICENSE $(DESTDIR)$(PREFIX)/share/doc/wprof/
	install -m 644 $(wildcard examples/*.py) $(DESTDIR)$(PREFIX)/share/doc/wprof/examples/
	install -m 644 $(wildcard examples/ci/*) $(DESTDIR)$(PREFIX)/share/doc/wprof/examples/ci/
	@for p in $(if $(CMARK),$(MAN)); do d=$(DESTDIR)$(PREFIX)/share/man/man$${p##*.}; \
		install -d $$d && install -m 644 $$p $$d/ || exit 1; done

# ---- for machines without packages ----

PACKED ?= $(O)
portable: all
	@$(MAKE) --no-print-directory portable-pack
portable-pack:
	@CC='$(CC)' portable/pack.sh '$(abspath $(O))' '$(PACKED)' $(VERSION)
portable-check:
	@portable/check.sh '$(abspath $(PACKED))/wprof-$(VERSION)-linux-x86_64.tar.gz' '$(abspath $(O))/portable-roots'

clean:
	rm -rf $(O) $(O)-san $(O)-fuzz

-include $(patsubst %.c,$(O)/%.d,$(SRC) $(CMD)) $(AGENT_SRC:%.c=$(O)/pic/%.d) $(UNIT:%=%.d) $(wildcard $(O)/tests/bench/*.d)
.PHONY: all help man portable portable-pack portable-check install-files unit lint cli browser unit-programs replay-programs bench-programs check bench pythons kernels fuzz fuzz-run deps deps-check demo \
        install clean force
.SECONDARY:
.DELETE_ON_ERROR:
