# make test   the tests               make check   all that must hold before a commit
# make build  the programs, in ./bin  make help    every target, its time on two cores, and its needs

GOLANGCI_LINT_VERSION := 2.15.0
GOVULNCHECK_VERSION   := 1.8.0

BIN  := $(CURDIR)/bin
LINT := $(BIN)/golangci-lint

# Each run is fresh: a cached result does not see a changed document or program. Lint vets, and
# without symbols the linker has half the work.
TESTFLAGS ?= -count=1 -vet=off -ldflags='-s -w' -timeout 10m

# gotest runs `go test` with its arguments and prints, for each package that fails, the command that
# runs its failed tests again.
gotest = out=$$(mktemp -d) && trap 'rm -rf "$$out"' EXIT && { go test $(TESTFLAGS) $(1); echo $$? >"$$out/rc"; } | tee "$$out/log"; \
	awk -v flags='$(filter -race,$(1))' '/^--- FAIL: / { failed = failed "|" $$3 } \
	/^FAIL\t/ { again = again sprintf("  go test -count=1 %s %s%s\n", flags, $$2, failed ? " -run \047^(" substr(failed, 2) ")$$\047" : ""); failed = "" } \
	END { if (again) printf "run again what failed:\n%s", again }' "$$out/log"; exit "$$(cat "$$out/rc")"

# Tests that kill a server at each of its crash points.
KILLS := ^TestKilled

# What `make race` leaves out: packages and tests, after the reason.
define WITHOUT_RACE
starts no goroutine: ./a2a/internal/jsonrpc ./a2a/internal/wire ./a2a/internal/v03 ./approval ./auth ./auth/mtls ./auth/peer ./auth/proxy
starts no goroutine: ./cmd/a2a-server/internal/approvals ./cmd/a2a-server/internal/config ./cmd/a2a-server/internal/display ./cmd/a2a-server/internal/tasks ./internal/crashpoint ./internal/egress
starts no goroutine: ./internal/failure ./internal/golden ./internal/limits ./internal/privatefile ./internal/setting ./internal/strictjson ./internal/strictyaml
starts no goroutine: ./internal/suggest ./internal/visible ./task ./task/internal/event ./task/internal/fold ./task/internal/output ./task/internal/rules
starts no goroutine: ./task/internal/view ./task/planner/direct ./tool/approvaltool ./tool/builtin ./tool/controltool
starts no goroutine: ./tool/functiontool ./tool/openapitoolset ./tool/toolconfirmation
runs one goroutine at a time: ./task/engine/internal/sim
watches other programs: ./cmd/a2a-server ./internal/deptest ./internal/faults ./internal/kinds ./internal/mutate TestPowerLoss TestBackupPlain
starts the server, as cmd/a2a-server/internal/e2e does: ./examples/...
damages files: TestDamagedStructure TestDamagedIndex TestReadsAsBbolt TestSmallBuckets TestHostileFiles TestFailed
fills a log or lets days pass: TestFullLog.* TestLargeTask TestManyGrants TestLongErrorOfAToolset TestSnapshotsDoNotOutweighEvents TestExtensionsAreBounded TestReminder(OfTheSuccessor|AfterAPause|AndEscalation)
asks about dozens of large calls, one after another: TestLargeArguments TestPagesReadAPage
sends a thousand hostile requests: TestAttacks TestForged.* TestHostileWebhooks
plays the random model of stores: TestSuiteSmall
endef
export WITHOUT_RACE
without_race = printf '%s\n' "$$WITHOUT_RACE" | sed 's/.*: //' | tr ' ' '\n' | grep '^$(1)'

# What is linked and run within 30 s; a result whose code and files are unchanged is not made again.
FAST := ./approval/dialect ./a2a/internal/... ./approval ./approval/condition ./auth/... ./internal/deptest ./internal/directory ./internal/golden ./internal/strictjson \
	./internal/visible ./store ./store/memstore ./task ./task/engine ./task/internal/... ./task/planner/direct ./tool ./approval/confirm ./tool/functiontool

# Modules of their own, so that the dependencies of third-party clients are not every user's
# dependencies. The first builds the program and drives it with them; deploy runs it as operators
# do, and reads what they read with the libraries of Kubernetes, Compose and (alerts) Prometheus;
# release makes what they install.
INTEROP := internal/interop
NESTED  := $(INTEROP) $(INTEROP)/adkgo $(INTEROP)/openapi deploy deploy/alerts internal/release

# Those that need the module of this folder. `go mod verify` fails for them, since our path
# has no dot; what they download is compared with go.sum all the same.
REPLACING := $(INTEROP)/openapi

# What `make check` does, in this order; each part is a target of its own.
CHECKS := needs format lint modules generated cross test race seeds kills brief interop browser operate

# What its parts run beside Go, make and a C compiler.
NEEDS := WebKitWebDriver Xvfb bash caddy cc chromium curl dpkg firefox git ip iptables nginx node npm openssl podman podman-compose python3 runc strace systemd-analyze unshare

.DEFAULT_GOAL := test
.PHONY: help build test fast check needs format lint modules generated cross race seeds kills brief interop matrix browser mcp operate bench faults mutate sim vuln newest release rename-module tools

help: ## – | – | this list
	@printf 'target|time|needs|runs\n' | cat - $(MAKEFILE_LIST) | sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/\1 | \2/p; 1p' | \
		awk -F ' *[|] *' '{ printf "%-13s %-12s %-28s %s\n", $$1, $$2, $$3, $$4 }'

build: ## 10 s | Go | every package; programs go to ./bin
	go build ./...
	GOBIN=$(BIN) go install ./cmd/...

test: ## 3 min | Go | the tests, without the race detector and kills
	@for program in bash curl git openssl; do \
		command -v $$program >/dev/null || echo "test: $$program is missing: the tests that run it are skipped (those of documents: TestTour and others)"; \
	done; \
	$(call gotest,-skip '$(KILLS)' $$(go list ./... | grep -v /internal/faults$$))

fast: TESTFLAGS := $(filter-out -count=1,$(TESTFLAGS))
fast: ## 30 s | Go | while you work: the tests of the engine, of contracts, rules and protocol
	@$(call gotest,$(FAST))

# At its end a program with the race detector would wait a second for reports.
race: export GORACE := atexit_sleep_ms=0
race: ## 4 min | Go, a C compiler | what starts goroutines, with the race detector
	@$(call gotest,-race -skip "$(KILLS)|^($$($(call without_race,Test) | paste -sd '|' -))\$$" \
		$$(go list ./... | grep -vxF "$$(go list $$($(call without_race,[.]/)))"))

seeds: ## 30 s | Go | 3,500 runs of the engine in simulation, which come by every crash point
	@$(call gotest,./task/engine/internal/sim -run '^Test(Model)?Seeds$$' -sim.seeds 3500)

kills: ## 1 min | Go | servers that are killed at each crash point, in the short form
	@$(call gotest,-parallel 12 -run '$(KILLS)' ./cmd/a2a-server ./internal/kinds)

interop: ## 2 min | npm, PyPI | third-party clients; RUN='TestEndToEnd/curl' for some, INTEROPFLAGS=-update writes their transcripts
	cd $(INTEROP) && go test -count=1 -timeout 15m $(if $(RUN),-run '$(RUN)') ./... $(INTEROPFLAGS)
	cd $(INTEROP)/openapi && go test -count=1 ./...

matrix: ## 14 min | npm, PyPI | every client in every state, while another person decides; INTEROPFLAGS=-update writes the table of docs/clients.md
	cd $(INTEROP) && go test -count=1 -timeout 40m -run '^TestEndToEnd$$/^(prepare|matrix)$$' . -matrix $(INTEROPFLAGS)

browser: ## 5 min | npm, three browsers | the pages, against the program; RUN='regexp' for some
	go build -o $(BIN)/ ./cmd/a2a-server
	cd internal/browser && npm ci --prefer-offline --ignore-scripts --no-fund --no-audit && A2A_SERVER=$(BIN)/a2a-server npx --no-install playwright test $(if $(RUN),-g '$(RUN)')

brief: ## 1 min | Go | the faults of disk, process and clock, in their short form
	@tally=$$(mktemp) && trap 'rm -f "$$tally"' EXIT && \
	go test $(TESTFLAGS) -parallel 6 ./internal/faults -faults.tally "$$tally"; rc=$$?; cat "$$tally"; exit $$rc

mcp: ## 5 min | npm, PyPI, chromium | MCP servers: their tools are listed and called
	cd $(INTEROP) && go test -count=1 -timeout 20m -run '^TestMCPServers$$' . -mcp.all

operate: ## 4 min | root, systemd, podman, nginx, caddy | the release, installed; the files of deploy/ and the commands of docs/operations.md, run
	@out=$$(mktemp); (cd deploy && go test -count=1 -timeout 10m ./... && cd alerts && go test -count=1 -timeout 10m ./...) >"$$out" 2>&1 & deploy=$$!; \
	(cd internal/release && go test -count=1 -timeout 10m ./...); rc=$$?; \
	wait $$deploy || rc=$$?; cat "$$out"; rm "$$out"; exit $$rc # deploy waits for proxies most of the time

needs: ## – | – | what check lacks on this machine
	@lacks=$$(for name in $(NEEDS); do PATH=$$PATH:/usr/sbin command -v $$name >/dev/null || printf ' %s' $$name; done); \
	[ "$$(id -u)" = 0 ] || lacks="$$lacks root"; \
	[ -z "$$lacks" ] || { printf 'check lacks:%s\nInstall what is missing (.ci/run does, on Debian; deploy/ is tested as root), or run `make test`, which needs Go alone.\n' "$$lacks" >&2; exit 1; }

check: ## 17 min | what needs lists | what CI runs, with the time of each part
	@times=; for part in $(CHECKS); do \
		echo "== $$part"; start=$$(date +%s); \
		$(MAKE) --no-print-directory $$part || { rc=$$?; echo "== $$part FAILED after $$(($$(date +%s) - start)) s" >&2; exit $$rc; }; \
		times="$$times$$(printf '%-10s %4d s' $$part $$(($$(date +%s) - start)))\n"; \
	done; printf "== check passed\n$$times"

format: ## – | Go | gofmt has nothing to say (imports: see lint)
	@files=$$(gofmt -l .) || exit 1; [ -z "$$files" ] || { printf 'format: run gofmt -w on:\n%s\n' "$$files" >&2; exit 1; }

lint: tools ## 2 min | Go | golangci-lint, which has go vet; see .golangci.yml
	$(LINT) run ./...
	for module in $(NESTED); do (cd $$module && $(LINT) run ./...) || exit 1; done

modules: ## 30 s | Go | module contents are as in go.sum, and go.mod is tidy
	go mod verify
	go mod tidy -diff
	for module in $(filter-out $(REPLACING),$(NESTED)); do (cd $$module && go mod verify) || exit 1; done
	for module in $(NESTED); do (cd $$module && go mod tidy -diff) || exit 1; done

generated: ## 30 s | Go, git | go generate changes nothing
	@before=$$(mktemp) && after=$$(mktemp) && trap 'rm -f "$$before" "$$after"' EXIT && \
	sums() { git ls-files -co --exclude-standard -z | xargs -0 sha256sum 2>/dev/null | sort -k2; } && \
	sums >"$$before" && [ -s "$$before" ] || { echo 'generated: cannot list the files; this needs a git work tree' >&2; exit 1; }; \
	go generate ./... && sums >"$$after" && \
	{ diff "$$before" "$$after" || { echo 'generated: go generate changed these files; commit what it makes' >&2; exit 1; }; } && \
	echo "generated: $$(git grep -hI --untracked '^//go:generate ' -- '*.go' | wc -l) directives, no file changed"

# What is built for other systems than the tests run on. Windows is refused by the
# compiler, with a name that says so (store/boltstore/internal/boltfile/unsupported_windows.go).
CROSS := darwin/arm64

cross: ## 30 s | Go | the program for other systems
	@for on in $(CROSS); do \
		echo "$$on" && CGO_ENABLED=0 GOOS=$${on%/*} GOARCH=$${on#*/} go build -o /dev/null ./cmd/a2a-server || exit 1; \
	done

# Figures belong to the machine they were taken on: no test compares them.
bench: ## 15 min | Go | every benchmark; BENCH='regexp' for some, BENCHFLAGS for more
	@dirs=$$(grep -rlE --include='*_test.go' --exclude-dir=node_modules '^func Benchmark' . | xargs -r -n1 dirname | sort -u); \
	[ -n "$$dirs" ] || { echo 'bench: there are no benchmarks yet' >&2; exit 1; }; \
	go test -timeout 60m -run '^$$' -bench '$(or $(BENCH),.)' -benchmem $(BENCHFLAGS) $$dirs

# The first seed is random, and printed. A failure prints its seed and what is left of it, which
# it also keeps as a file in testdata, for the tests to replay; SIMFLAGS='-sim.from N -sim.seeds 1'
# plays it again. `make test` plays the first 500 seeds, `make seeds` the first 3,500.
sim: ## 15 min | Go | 100,000 runs of the engine in simulation, each with its own faults; SIMFLAGS for others
	go test -count=1 -timeout 60m ./task/engine/internal/sim -run '^Test(Model)?Seeds$$' -v -sim.from random $(or $(SIMFLAGS),-sim.seeds 100000 -sim.complete)

faults: ## 20 min | Go | every fault and every kill, in the long form; RUN='regexp' for some faults
	go test -count=1 -parallel 6 -timeout 30m -v ./internal/faults -run '$(or $(RUN),.)' -faults.long
	$(if $(RUN),,go test -count=1 -parallel 6 -timeout 30m ./cmd/a2a-server ./internal/kinds -run '$(KILLS)' -crash.long)

# Not part of check, for its time. The table is in internal/mutate/rows_*.go.
mutate: ## 1 hour | Go | break each promise of a table and see its test fail; ROW='regexp' for some, MUTATEFLAGS for more
	go run ./internal/mutate $(if $(ROW),-row '$(ROW)') $(MUTATEFLAGS)

# Not part of check: the database of vulnerabilities must be reachable, and a run
# without it has checked nothing.
vuln: ## 1 min | a network | known vulnerabilities in what we call
	go run golang.org/x/vuln/cmd/govulncheck@v$(GOVULNCHECK_VERSION) ./...

# Not part of check: it asks what is newest. The store reads the pages that bbolt has mapped.
newest: ## 3 min | a network | the store's reader of bbolt's file, and files of every format, with the newest bbolt
	@mod=$$(mktemp -d) && trap 'rm -rf "$$mod"' EXIT && cp go.mod go.sum "$$mod" && \
	go get -modfile="$$mod/go.mod" go.etcd.io/bbolt@latest && go list -modfile="$$mod/go.mod" -m go.etcd.io/bbolt && \
	go test -modfile="$$mod/go.mod" -count=1 -run '^(TestReadsAsBbolt|TestFormats|TestIncompleteCopy)$$' ./store/boltstore/...

release: ## 3 min | Go, git | archives, Debian packages, an image, SBOMs and checksums of this commit, for Linux and macOS, to ./dist
	rm -rf dist && cd internal/release && go run .

# The path stands in imports, go.mod, the linker's flag for the version, the linter's settings and
# docs/library.md. The name of the program and of its files stays.
rename-module: ## 90 s | Go, git, perl | for the owner: another path of the module, in all files; MODULE=example.com/you/a2a-server
	@ok=; case '$(MODULE)' in *[!A-Za-z0-9./_~-]*|/*|*/) ;; *.*/*) ok=1 ;; esac; \
	[ -n "$$ok" ] || { echo 'rename-module: write the path that people import, such as MODULE=example.com/you/a2a-server' >&2; exit 2; }
	@OLD=$$(go list -m) NEW='$(MODULE)'; export OLD NEW; \
	each() { git ls-files -z -- "$$2" | xargs -0 perl -pi -e "BEGIN { (\$$old, \$$new) = @ENV{qw(OLD NEW)} } $$1"; } && \
	each 's{^(\s*(?:import )?(?:[\w.]+ )?")\Q$$old\E((?:/[^"]*)?"(?:\s*//.*)?)$$}{$$1$$new$$2}; s{-X .?\K\Q$$old\E(?=\.release=)}{$$new}' '*.go' && \
	each 's{^(?:module |require |replace |\t)\K\Q$$old\E(?=[\s/])}{$$new}' '*go.mod' && \
	each 's{(?:- |\[)\K\Q$$old\E(?=\]?$$)}{$$new}' .golangci.yml && \
	each 's{-(?:require|replace) \K\Q$$old\E(?=[@=])}{$$new}g; s{^\t(?:\w+ )?"\K\Q$$old\E(?=[/"])}{$$new}' docs/library.md && \
	gofmt -l . && go build ./... && echo "the module $$OLD is now $$NEW: run make test, and commit"

tools: ## 2 min, once | Go | the pinned linter in ./bin
	@[ "$$($(LINT) version --short 2>/dev/null)" = '$(GOLANGCI_LINT_VERSION)' ] || { \
		echo 'tools: installing golangci-lint $(GOLANGCI_LINT_VERSION)'; \
		GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_LINT_VERSION); }
