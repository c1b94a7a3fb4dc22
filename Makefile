# make test   the tests               make check   all that must hold before a commit
# make build  the programs, in ./bin  make help    every target

GOLANGCI_LINT_VERSION := 2.15.0
GOVULNCHECK_VERSION   := 1.8.0

BIN  := $(CURDIR)/bin
LINT := $(BIN)/golangci-lint

# Tests run fresh: a cached result does not see a changed document or program.
TESTFLAGS ?= -race -count=1 -timeout 20m

# The race detector makes these many times slower: packages that start no goroutine or run one at a
# time, that watch other programs, and tests that damage a file, fill a log, send a thousand hostile requests, or let days pass.
RACELESS       := ./a2a/v03 ./approval ./internal/app/config ./internal/deptest ./internal/faults ./internal/heap ./internal/kinds ./internal/mutate \
                  ./internal/strictjson ./internal/visible ./task ./task/engine/sim ./task/internal/event ./task/internal/fold ./task/internal/output ./task/internal/rules ./task/internal/view ./task/planner/script
RACELESS_TESTS := ^Test(SuiteSmall|DamagedStructure|DamagedIndex|ReadsAsBbolt|SmallBuckets|PowerLoss|FullLog.*|LargeTask|SnapshotsDoNotOutweighEvents|ExtensionsAreBounded|Attacks|Forged.*|HostileWebhooks|HostileFiles|BackupPlain|Failed|Reminder(OfTheSuccessor|AfterAPause|AndEscalation))$$|^TestSuite$$/^(append|fold|model|refused|replay)$$
RACELESS_PARTS := ./internal/e2e ./task/engine ./task/notify ./tool/searchtool ./store/boltstore ./store/boltstore/internal/boltfile

# No engine, disk, processes or third-party clients.
FAST := ./a2a/... ./approval/... ./auth/... ./internal/app/... ./internal/deptest ./internal/golden ./internal/strictjson ./internal/visible ./store ./store/memstore ./task ./task/internal/... ./task/planner/... ./tool/...

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
CHECKS := needs format lint modules generated cross test brief interop browser operate

# What its parts run beside Go, make and a C compiler.
NEEDS := bash caddy chromium curl dpkg git nginx node npm openssl python3 strace systemd-analyze unshare

.DEFAULT_GOAL := test
.PHONY: help build test fast check needs format lint modules generated cross race plain brief interop browser mcp operate bench faults mutate sim vuln newest release tools

help: ## this list
	@sed -n 's/^\([a-z0-9]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

build: ## compile every package; programs go to ./bin
	go build ./...
	GOBIN=$(BIN) go install ./cmd/...

test: ## the tests: they need Go and a C compiler; check has those that need more, and the faults
	@$(MAKE) --no-print-directory -j2 race plain

# At its end a program with the race detector would wait a second for reports.
race: export GORACE := atexit_sleep_ms=0
race: # The tests with the race detector.
	go test $(TESTFLAGS) -ldflags=-w -skip '$(RACELESS_TESTS)' $$(go list ./... | grep -vxF "$$(go list $(RACELESS))")

# The approvals API compares its answers with its schema only here: the race detector takes minutes.
plain: # The tests without it.
	go test -count=1 -timeout 20m -ldflags=-w $(filter-out ./internal/faults,$(RACELESS)) ./approval/api
	go test -count=1 -timeout 20m -ldflags=-w -run '$(RACELESS_TESTS)' $(RACELESS_PARTS)

fast: ## while you work: the tests of contracts, rules and protocol, without the race detector
	go test -count=1 $(FAST)

interop: ## third-party clients, installed for it; RUN='TestEndToEnd/(prepare|curl)' for some, INTEROPFLAGS=-update writes their transcripts
	cd $(INTEROP) && go test -count=1 -timeout 15m $(if $(RUN),-run '$(RUN)') ./... $(INTEROPFLAGS)
	cd $(INTEROP)/openapi && go test -count=1 ./...

browser: ## the pages in chromium, against the program; RUN='regexp' for some
	go build -o $(BIN)/ ./cmd/a2a-server
	cd internal/browser && npm ci --prefer-offline --ignore-scripts --no-fund --no-audit && A2A_SERVER=$(BIN)/a2a-server npx --no-install playwright test $(if $(RUN),-g '$(RUN)')

brief: ## the faults of disk, process and clock, in their short form
	@tally=$$(mktemp) && trap 'rm -f "$$tally"' EXIT && \
	go test -count=1 -parallel 6 ./internal/faults -faults.tally "$$tally"; rc=$$?; cat "$$tally"; exit $$rc

mcp: ## MCP servers of npm and PyPI, installed for it: their tools are listed and called; needs chromium
	cd $(INTEROP) && go test -count=1 -timeout 20m -run '^TestMCPServers$$' . -mcp.all

operate: ## the release, installed; the files of deploy/ and the commands of docs/operations.md, run; needs root
	cd internal/release && go test -count=1 -timeout 10m ./...
	cd deploy && go test -count=1 -timeout 10m ./...
	cd deploy/alerts && go test -count=1 -timeout 10m ./...

needs: ## what check lacks on this machine
	@lacks=$$(for name in $(NEEDS); do PATH=$$PATH:/usr/sbin command -v $$name >/dev/null || printf ' %s' $$name; done); \
	[ "$$(id -u)" = 0 ] || lacks="$$lacks root"; \
	[ -z "$$lacks" ] || { printf 'check lacks:%s\nInstall what is missing (.ci/run does, on Debian; deploy/ is tested as root), or run `make test`, which needs Go and a C compiler.\n' "$$lacks" >&2; exit 1; }

check: ## what CI runs: format, lint, modules, generated files, test, clients, pages, deployment, with the time of each
	@times=; for part in $(CHECKS); do \
		echo "== $$part"; start=$$(date +%s); \
		$(MAKE) --no-print-directory $$part || { rc=$$?; echo "== $$part FAILED after $$(($$(date +%s) - start)) s" >&2; exit $$rc; }; \
		times="$$times$$(printf '%-10s %4d s' $$part $$(($$(date +%s) - start)))\n"; \
	done; printf "== check passed\n$$times"

format: ## gofmt has nothing to say (imports: see lint)
	@files=$$(gofmt -l .) || exit 1; [ -z "$$files" ] || { printf 'format: run gofmt -w on:\n%s\n' "$$files" >&2; exit 1; }

lint: tools ## golangci-lint, which has go vet; see .golangci.yml
	$(LINT) run ./...
	for module in $(NESTED); do (cd $$module && $(LINT) run ./...) || exit 1; done

modules: ## module contents are as in go.sum, and go.mod is tidy
	go mod verify
	go mod tidy -diff
	for module in $(filter-out $(REPLACING),$(NESTED)); do (cd $$module && go mod verify) || exit 1; done
	for module in $(NESTED); do (cd $$module && go mod tidy -diff) || exit 1; done

generated: ## go generate changes nothing
	@before=$$(mktemp) && after=$$(mktemp) && trap 'rm -f "$$before" "$$after"' EXIT && \
	sums() { git ls-files -co --exclude-standard -z | xargs -0 sha256sum 2>/dev/null | sort -k2; } && \
	sums >"$$before" && [ -s "$$before" ] || { echo 'generated: cannot list the files; this needs a git work tree' >&2; exit 1; }; \
	go generate ./... && sums >"$$after" && \
	{ diff "$$before" "$$after" || { echo 'generated: go generate changed these files; commit what it makes' >&2; exit 1; }; } && \
	echo "generated: $$(git grep -hI --untracked '^//go:generate ' -- '*.go' | wc -l) directives, no file changed"

# What is built for other systems than the tests run on. Windows is refused by the
# compiler, with a name that says so (store/boltstore/internal/boltfile/unsupported_windows.go).
CROSS := darwin/arm64

cross: ## the program for other systems
	@for on in $(CROSS); do \
		echo "$$on" && CGO_ENABLED=0 GOOS=$${on%/*} GOARCH=$${on#*/} go build -o /dev/null ./cmd/a2a-server || exit 1; \
	done

# Figures belong to the machine they were taken on: no test compares them.
bench: ## every benchmark, about a quarter of an hour; BENCH='regexp' for some, BENCHFLAGS for more
	@dirs=$$(grep -rlE --include='*_test.go' --exclude-dir=node_modules '^func Benchmark' . | xargs -r -n1 dirname | sort -u); \
	[ -n "$$dirs" ] || { echo 'bench: there are no benchmarks yet' >&2; exit 1; }; \
	go test -timeout 60m -run '^$$' -bench '$(or $(BENCH),.)' -benchmem $(BENCHFLAGS) $$dirs

# The first seed is random, and printed. A failure prints its seed and what is left of it, which
# it also keeps as a file in testdata, for the tests to replay; SIMFLAGS='-sim.from N -sim.seeds 1'
# plays it again. The tests play 2,500 fixed seeds, without the race detector: it is one goroutine
# at a time.
sim: ## 100,000 runs of the engine in simulation, each with its own faults; SIMFLAGS for others
	go test -count=1 -timeout 60m ./task/engine/sim -run '^Test(Model)?Seeds$$' -v -sim.from random $(or $(SIMFLAGS),-sim.seeds 100000 -sim.complete)

faults: ## every fault of disk, process and clock, in its long form: minutes; RUN='regexp' for some
	go test -count=1 -parallel 6 -timeout 30m -v ./internal/faults -run '$(or $(RUN),.)' -faults.long
	$(if $(RUN),,go test -count=1 -parallel 6 -timeout 30m ./cmd/a2a-server -run TestCrashOfAgents -crash.long)

# Not part of check, for its time. The table is in internal/mutate/rows_*.go.
mutate: ## break each promise of a table and see its test fail, in minutes; ROW='regexp' for some, MUTATEFLAGS for more
	go run ./internal/mutate $(if $(ROW),-row '$(ROW)') $(MUTATEFLAGS)

# Not part of check: the database of vulnerabilities must be reachable, and a run
# without it has checked nothing.
vuln: ## known vulnerabilities in what we call; needs a network
	go run golang.org/x/vuln/cmd/govulncheck@v$(GOVULNCHECK_VERSION) ./...

# Not part of check: it asks what is newest. The store reads the pages that bbolt has mapped.
newest: ## the store's reader of bbolt's file, and files of every format, with the newest bbolt; needs a network
	@mod=$$(mktemp -d) && trap 'rm -rf "$$mod"' EXIT && cp go.mod go.sum "$$mod" && \
	go get -modfile="$$mod/go.mod" go.etcd.io/bbolt@latest && go list -modfile="$$mod/go.mod" -m go.etcd.io/bbolt && \
	go test -modfile="$$mod/go.mod" -count=1 -run '^(TestReadsAsBbolt|TestFormats|TestIncompleteCopy)$$' ./store/boltstore/...

release: ## archives, Debian packages, an image, SBOMs and checksums of this commit, for Linux and macOS, to ./dist
	rm -rf dist && cd internal/release && go run .

tools: ## the pinned linter in ./bin (about two minutes, once)
	@[ "$$($(LINT) version --short 2>/dev/null)" = '$(GOLANGCI_LINT_VERSION)' ] || { \
		echo 'tools: installing golangci-lint $(GOLANGCI_LINT_VERSION)'; \
		GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_LINT_VERSION); }
