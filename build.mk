# Builds and installs the extension with PGXS. Called by the Makefile.
#
# - objects: every .c file below src/
# - install script of the first version: the fragments sql/*.sql, in the order of
#   sql/order
# - update scripts to later versions: sql/citus--A--B.sql, as they are

# Names of our own start with POMELO_: PGXS has taken many others (INSTALL_SCRIPT
# is one), and a rule for such a name would act on the system's files.

ifeq ($(PG_CONFIG),)
PG_CONFIG := $(shell tools/pg-config)
endif

ifeq ($(PG_CONFIG),)
$(error no PostgreSQL server found: run tools/install-deps, or set PG_CONFIG)
endif
ifeq ($(wildcard $(PG_CONFIG)),)
$(error $(PG_CONFIG) is missing: run tools/install-deps, or set PG_CONFIG to the pg_config of your server)
endif

EXTENSION = citus citus_columnar
EXTVERSION = $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" citus.control)

POMELO_SOURCES := $(sort $(shell find src -name "*.c" 2>/dev/null))
ifneq ($(POMELO_SOURCES),)
MODULE_big = citus
endif
OBJS = $(POMELO_SOURCES:.c=.o)

POMELO_FRAGMENTS := $(patsubst %,sql/%.sql,$(shell cat sql/order))
POMELO_UNORDERED := $(filter-out $(POMELO_FRAGMENTS) sql/citus%.sql,$(wildcard sql/*.sql))
ifneq ($(POMELO_UNORDERED),)
$(error $(POMELO_UNORDERED): sql/order doesn't say when)
endif
POMELO_FIRST_VERSION = 13.2-1
POMELO_SQL = build/citus--$(POMELO_FIRST_VERSION).sql
DATA = $(wildcard sql/citus--*--*.sql) sql/citus_columnar--13.2-1.sql
DATA_built = $(POMELO_SQL)

# Headers of the server have words of C23 from version 19 on.
POMELO_STANDARD := $(if $(filter 15 16 17 18,$(shell $(PG_CONFIG) --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')),gnu99,gnu2x)

# Symbols are hidden unless PGDLLEXPORT says otherwise; before version 16 the
# server's headers leave that macro empty on Linux.
PG_CPPFLAGS = -Isrc -Ibuild -I$(shell $(PG_CONFIG) --includedir) -MMD -MP \
	'-DPGDLLEXPORT=__attribute__((visibility("default")))'
PG_CFLAGS = -std=$(POMELO_STANDARD) -Wall -Wextra $(if $(POMELO_WERROR),-Werror) -Wno-unused-parameter \
	-Wno-missing-field-initializers -Wno-sign-compare -fvisibility=hidden -fno-plt
SHLIB_LINK = $(libpq) $(filter -lssl -lcrypto,$(LIBS)) -lzstd -llz4

EXTRA_CLEAN = build $(OBJS:.o=.d) $(OBJS:.o=.bc)

# No bitcode: nothing of ours is worth inlining into a query's expressions.
override with_llvm = no

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# An ordinary user installs into the system's directories through sudo; what is
# below DESTDIR is the caller's.
SUDO := $(if $(DESTDIR),,$(shell for d in $(pkglibdir) $(datadir)/extension; do \
	test -w $$d || { test "$$(id -u)" = 0 || echo sudo; break; }; done))
INSTALL := $(SUDO) $(INSTALL)
MKDIR_P := $(SUDO) $(MKDIR_P)

# The library under the names of the output plugins that it wraps
# (src/decoding).
install: install-decoders

install-decoders: install-lib
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)/citus_decoders'
	$(SUDO) ln -sf ../citus.so '$(DESTDIR)$(pkglibdir)/citus_decoders/pgoutput.so'
	$(SUDO) ln -sf ../citus.so '$(DESTDIR)$(pkglibdir)/citus_decoders/wal2json.so'

# For tools/compile-versions, which has nothing to link with.
objects: $(OBJS)

# A change of flags or of the server rebuilds everything.
$(OBJS): build/flags

build/flags: FORCE
	@mkdir -p build
	@printf '%s\n' '$(subst ','\'',$(PG_CONFIG) $(VERSION) $(CPPFLAGS) $(CFLAGS))' | \
		cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(PG_CONFIG) $(VERSION) $(CPPFLAGS) $(CFLAGS))' > $@

src/catalog/extension_version.o: build/extension_version_number.h

build/extension_version_number.h: citus.control
	@mkdir -p build
	@echo '#define EXTENSION_VERSION "$(EXTVERSION)"' > $@

# The list of fragments is a prerequisite too, so that removing one counts.
$(POMELO_SQL): $(POMELO_FRAGMENTS) build/fragments citus.control build.mk
	@mkdir -p build
	@{ printf '%s\n' '\echo Use "CREATE EXTENSION citus" to load this file. \quit'; \
		for f in $(POMELO_FRAGMENTS); do echo; echo "-- from $$f"; cat $$f; done; } > $@

build/fragments: FORCE
	@mkdir -p build
	@printf '%s\n' '$(POMELO_FRAGMENTS)' | cmp -s - $@ || \
		printf '%s\n' '$(POMELO_FRAGMENTS)' > $@

FORCE:
.PHONY: FORCE objects install-decoders

-include $(OBJS:.o=.d)
