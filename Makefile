# `make help` lists the targets. All need Go, a C compiler and make; `make test` and
# `make race` fetch the rest, `make quick` does without. Nothing is installed outside bin/,
# the module cache and the build cache except what testdata/install.sh says it installs.

.DEFAULT_GOAL := help
.PHONY: help run build quick test race lint vulncheck fuzz bench gobench torture clients pgsuites deps mutants kill

GO ?= go
# The parser of PostgreSQL is C. Said aloud, so that a missing compiler is the error.
export CGO_ENABLED = 1

# What to test, fuzz or measure: make test PKG=./planner TESTFLAGS='-run Cache -v'
PKG ?= ./...
TESTFLAGS ?=
FUZZTIME ?= 30s
FUZZ ?= .
BENCH ?= .
DURATION ?= 60s
ARGS ?=
# The Go benchmarks of what each statement passes through.
HOTPATHS = ^Benchmark(RelayFrames|PlanLookup|PlanShape|Plan|AcquireRelease|ClaimHotPool|Encode|Step)$$

# Programs under testdata, which ./... leaves out.
PROGRAMS = ./testdata/clients/... ./testdata/bench/...

GOLANGCI_VERSION = v2.15.0
# A linter built by an older Go refuses a newer one's code.
GOLANGCI := bin/golangci-lint-$(GOLANGCI_VERSION)-$(shell $(GO) env GOVERSION)

GOVULNCHECK_VERSION = v1.9.0
VULNDB = golang.org/x/vulndb

help: ## prints this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

run: build ## builds the server and starts it in dev mode on port 6433; ARGS="--port 7000"
	@exec bin/raisinproxy --dev-mode $(ARGS)

build: ## builds bin/raisinproxy
	@test -e bin/raisinproxy || echo "building: the first time takes a minute or two, for PostgreSQL's parser in C"
	$(GO) build -o bin/raisinproxy ./cmd/raisinproxy

test: deps ## all tests; PKG=./planner TESTFLAGS="-run Cache -v"
	$(GO) test -timeout 20m $(TESTFLAGS) $(PKG)

# -short skips what needs servers, installed clients or minutes; each such test says so.
# Tests wait for the disk, so more packages at once than there may be processors.
quick: ## before every commit: go vet and the tests without servers, in seconds; PKG=./planner/...
	$(GO) vet $(PKG)
	$(GO) test -short -p 4 -timeout 2m $(TESTFLAGS) $(PKG)

# TestClients builds the server with the detector too.
race: deps ## all tests with the race detector
	$(GO) test -race -timeout 40m $(TESTFLAGS) $(PKG)

lint: $(GOLANGCI) ## gofmt, go vet and golangci-lint, which is built once
	@unformatted=$$(gofmt -l .) && { test -z "$$unformatted" || { echo "gofmt -w these:"; echo "$$unformatted"; exit 1; }; }
	$(GO) vet ./... $(PROGRAMS)
	$(GO) vet -tags goroutines ./pgwire/...
	$(GOLANGCI) run ./... $(PROGRAMS)

$(GOLANGCI):
	@echo "building golangci-lint $(GOLANGCI_VERSION): some minutes, once"
	GOBIN="$(CURDIR)/bin" CGO_ENABLED=0 $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv bin/golangci-lint $@

# The database of vulnerabilities is a Go module, too, and so comes from where modules come from.
vulncheck: ## known vulnerabilities in what the program calls
	@data=$$($(GO) mod download -json $(VULNDB)@latest | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'); \
	test -n "$$data" || { echo "$(VULNDB) cannot be had" >&2; exit 1; }; \
	rm -rf bin/vulndb; $(GO) run $(VULNDB)/cmd/indexdb@latest -vulns "$$data/data/osv" -out bin/vulndb
	$(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) -db "file://$(CURDIR)/bin/vulndb" ./...

fuzz: ## every fuzz test in turn, each for FUZZTIME=30s; FUZZ=Lexer chooses some
	@set -e; found=$$($(GO) test -list '^Fuzz' $(PKG)) || { echo "$$found"; exit 1; }; \
	echo "$$found" | awk '/^Fuzz/ {name[n++] = $$1} /^ok/ {while (n) print $$2, name[--n]}' | grep -- '$(FUZZ)' | \
	while read -r package target; do \
		echo "fuzz: $$target in $$package for $(FUZZTIME)"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package"; \
	done

bench: build ## against PostgreSQL, pgbouncer and Redis, then HOTPATHS; ARGS="-contests lock"
	@sh testdata/install.sh bench
	$(GO) run ./testdata/bench $(ARGS)
	$(GO) test -run '^$$' -bench '$(HOTPATHS)' -benchmem ./backend/... ./sqlfuncs/... ./planner ./pgwire

gobench: ## Go benchmarks; PKG=./backend/... BENCH=Claim
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)

# Many runs wait at once, so more of them than there are processors.
torture: deps ## histories under faults on every backend, each for DURATION=60s; TESTFLAGS="-run Durable/killed -torture.seed=7"
	$(GO) test -count=1 -v -parallel 4 -timeout 0 -run '^TestTorture' $(TESTFLAGS) ./cmd/raisinproxy -torture $(DURATION)

clients: deps ## the client programs against the server; TESTFLAGS="-run TestClients/psycopg2"
	$(GO) test -count=1 -run '^TestClients' -v $(TESTFLAGS) ./cmd/raisinproxy

pgsuites: build ## PostgreSQL's regression and isolation suites, directly and through the server; ARGS="isolation nowait"
	@bash testdata/pgsuites/run.sh $(ARGS)

deps: ## gets a PostgreSQL to compare with, a Redis, and the clients (apt-get, npm), if missing
	@sh testdata/install.sh

kill: ## kills the server ten times in the middle of 10,000 claims each and counts: a minute or two
	$(GO) test -count=1 -run '^TestKilledWhileSelling$$' -v $(TESTFLAGS) ./cmd/raisinproxy -kill.rounds=10 -kill.claims=10000

mutants: ## breaks the stores in some 300 ways and wants each noticed by a test; ARGS="-suite redis -run nonce", ARGS=-list
	$(GO) run ./internal/mutants $(ARGS)
