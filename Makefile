# Pomelo: the commands a developer or a user types.
#
# The build itself is in build.mk, which needs an installed PostgreSQL; the
# targets here that promise to work on a bare machine install that first.

# Found anew when it is used: `deps` may have installed it.
ifeq ($(PG_CONFIG),)
PG_CONFIG = $(shell tools/pg-config 2>/dev/null)
endif
export PG_CONFIG

JOBS ?= $(shell nproc 2>/dev/null || echo 1)
BUILD = $(MAKE) --no-print-directory $(if $(V),,-s) -f build.mk -j$(JOBS)

# Every area has its own runner: test/<area>/run
CHECK_AREAS = regress isolation cluster oracle postgres
# Those that `make check` leaves out: they need a network, and time.
OTHER_AREAS = drivers

.DEFAULT_GOAL := all
.NOTPARALLEL:

all:
	@$(BUILD) all

install: all
	@$(BUILD) install

deps:
	@tools/install-deps

# `make demo` and `make check` are complete on a fresh machine.
demo: deps install
	@demo/run

# Tests run on a copy of the server, and warnings are errors for them.
check check-all $(addprefix check-,$(CHECK_AREAS) $(OTHER_AREAS)): export POMELO_WERROR = 1

check: deps all
	@tools/private-server tools/check $(CHECK_AREAS)

# `make check` runs a sample of the largest tests, another one each time; this
# runs all of them.
check-all: deps all
	@POMELO_CHECK_ALL=1 tools/private-server tools/check $(CHECK_AREAS)

$(addprefix check-,$(CHECK_AREAS) $(OTHER_AREAS)): check-%: deps all
	@tools/private-server tools/check $*

# The page of tools/console, in Chromium; installs that if it is missing.
check-console: export POMELO_WERROR = 1
check-console:
	@tools/install-deps --console
	@$(BUILD) all
	@tools/private-server tools/check console

# All tests on this machine's server and, in roots, on the other versions.
check-versions: deps
	@tools/check-versions

# The versions of the server that are not installed.
compile-versions: deps
	@tools/compile-versions

# Failovers by Patroni and etcd, with real servers; needs PyPI, and etcd or a Debian mirror.
check-ha: deps all
	@tools/private-server .venv/bin/python tools/check-ha

# Packages of Debian, in build/deb.
deb:
	@tools/install-deps --packaging
	@JOBS=$(JOBS) tools/deb

# Packages are built, installed, updated and removed in a Debian system that is
# thrown away.
check-deb:
	@tools/check-deb

# The steps of packaging/Dockerfile, and three nodes of such images, in such a system.
check-image:
	@tools/check-image

# Clusters of the release before are taken to this one under load, and to the next
# major version of PostgreSQL by pg_upgrade.
check-upgrade:
	@tools/check-upgrade

style:
	@tools/style

# The manual, as a web site.
docs: install
	@tools/docs

bench: deps install
	@bench/run

clean:
	@$(BUILD) clean

help:
	@echo 'make            build the extension (V=1 shows the commands)'
	@echo 'make install    build and install it into the server of PG_CONFIG'
	@echo 'make demo       a cluster with TPC-H data, compared with plain PostgreSQL'
	@echo 'make check      the tests, in a copy of the server, of the largest a sample; make check-all: all of them; make check-<area> for one of: $(CHECK_AREAS)'
	@echo 'make check-drivers  test suites of drivers (fetched once) on a plain server, a coordinator and a gateway'
	@echo 'make check-console  the page of tools/console in Chromium, which is installed if it is missing'
	@echo 'make check-versions  the tests on all versions of the server, in Debian systems made for it'
	@echo 'make style      the checks of our own rules'
	@echo 'make compile-versions  compile against the versions of the server that are not installed'
	@echo 'make deb        Debian packages, in build/deb; make check-deb installs and removes them in a Debian system made for that'
	@echo 'make check-image  the steps of packaging/Dockerfile there; make check-upgrade: clusters of the release before, and pg_upgrade from 15 to 17 and 17 to 18'
	@echo 'make docs       the manual as a web site, build/docs/site'
	@echo 'make bench      benchmarks, each with its baseline'
	@echo 'make clean      remove what was built'
	@echo 'PG_CONFIG       $(PG_CONFIG)'

.PHONY: all install deps demo check check-all check-versions compile-versions deb check-deb check-image check-upgrade check-ha check-console style docs bench clean help \
	$(addprefix check-,$(CHECK_AREAS) $(OTHER_AREAS))
