# Two commands for everybody:   make demo   make test
# The rest is for people who change the code.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test test-hyperscan loom hostile lint docs deny fuzz-short fuzz-long real-run soak soak-short units package bench bench-transport ledger man system tools-deny tools-deb tools-fuzz install

FUZZ_SECONDS ?= 20
PREEMPTIONS ?= 5
PREFIX ?= /usr/local
SECONDS_OF_SOAK ?= 1200
BY ?= family,tier
DESTDIR ?=

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

demo: system ## build, then watch two streams go through a daemon
	cargo build --release -p forebay -p forebayd
	cargo run --release --quiet -p forebay -- demo

test: system ## all tests
	cargo build --workspace --bins
	if cargo nextest --version >/dev/null 2>&1; then \
	  FOREBAY_BINARIES_ARE_BUILT=1 cargo nextest run --workspace --no-fail-fast; \
	  cargo test --workspace --doc --quiet; \
	else \
	  FOREBAY_BINARIES_ARE_BUILT=1 cargo test --workspace --no-fail-fast; \
	fi

# What looks at answers. The daemon and the command line do not know which backend there is: TESTS=all for them too.
ENGINE_TESTS := --lib --test backends --test engine --test packs --test 'promises_*' --test random_packs --test regressions

test-hyperscan: ## the engine's tests with Hyperscan as backend (TESTS=all: all tests); needs libhs
	.ci/system hyperscan
	$(if $(filter all,$(TESTS)),cargo build --workspace --bins --features forebay-tests/hyperscan)
	if cargo nextest --version >/dev/null 2>&1; then run="nextest run"; else run=test; fi; \
	FOREBAY_BINARIES_ARE_BUILT=1 cargo $$run -p forebay-scan -p forebay-tests --features forebay-tests/hyperscan \
	  --no-fail-fast $(if $(filter all,$(TESTS)),,$(ENGINE_TESTS))

loom: system ## the shared-memory ring, every interleaving up to PREEMPTIONS (5); make test goes up to 3
	LOOM_MAX_PREEMPTIONS=$(PREEMPTIONS) cargo test -p forebay-wire --test ring_model

hostile: system ## attacks of hostile clients on a live daemon, and how others are served meanwhile (SECONDS_EACH=5)
	cargo build --release -p forebayd -p forebay-tests --bin forebayd --bin hostile
	.ci/hostile $(or $(SECONDS_EACH),5)

lint: system ## formatting and clippy, warnings are errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy -p forebay-bench --features peers -- -D warnings
	if pkg-config --exists libhs 2>/dev/null; then \
	  cargo clippy -p forebay-scan -p forebay-tests -p forebay-bench --all-targets \
	    --features forebay-tests/hyperscan,forebay-bench/hyperscan -- -D warnings; \
	else echo 'no libhs: the Hyperscan backend is not looked at (.ci/system hyperscan installs it)'; fi

docs: system ## the crates' documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

deny: tools-deny ## licences, sources and duplicates of dependencies
	cargo deny --log-level error check bans licenses sources

fuzz-short: tools-fuzz ## each fuzz target for FUZZ_SECONDS (20)
	.ci/fuzz $(FUZZ_SECONDS)

fuzz-long: tools-fuzz ## each fuzz target for half an hour
	.ci/fuzz 1800

real-run: system ## real tool outputs through daemon and socket: nothing may be redacted
	cargo build -p forebay -p forebayd
	.ci/real-run

soak: system ## a daemon under mixed load for SECONDS_OF_SOAK (1200): nothing grows, every stream ends as it should
	cargo build --release -p forebayd -p forebay-tests --bins
	$$(.ci/target-folder)/release/soak $(SECONDS_OF_SOAK)

soak-short: system ## the same for half a minute, unoptimised
	cargo build -p forebayd -p forebay-tests --bins
	$$(.ci/target-folder)/debug/soak 30

units: ## systemd units: well-formed, and exposed by at most 0.5 (needs systemd-analyze)
	.ci/units

package: tools-deb ## the Debian package, into target/debian; installed into a clean root and started from there
	.ci/package $(or $(PROFILE),dist)

# A whole run is a record, and is written down; `make bench ARGS=--quick` and `ARGS="--only worst"` only print.
bench: ## speed against what is asked and against peers: bench/README.md, bench/results
	.ci/system hyperscan
	cargo run --profile dist -p forebay-bench --features peers,hyperscan --bin speed -- \
	  $(or $(ARGS),--results bench/results --readme bench/README.md)

bench-transport: ## round trips and throughput by socket, ring, pipe and iceoryx2: bench/README.md, bench/results/transport.svg
	cargo build --profile dist -p forebayd -p forebay-bench --features forebay-bench/iceoryx2 --bin forebayd --bin transport
	bin=$$(.ci/target-folder)/dist; "$$bin/transport" --forebayd "$$bin/forebayd" \
	  $(or $(ARGS),--results bench/results --readme bench/README.md)

instructions: ## instruction counts of five runs against bench/instructions.json (ARGS=--update writes it)
	.ci/system valgrind
	cargo run --release -p forebay-bench --bin instructions -- $(ARGS)

ledger: system ## docs/LEDGER.md from labelled lines: make ledger DATA=DIR [BENIGN=DIR]
	@[ -n "$(DATA)" ] || { echo 'make ledger needs DATA: a folder of labelled *.jsonl files, or one file (docs/LABELLED.md)'; exit 2; }
	cargo build --release -p forebay
	page=$$(cargo run --release --quiet -p forebay -- eval "$(DATA)" $(if $(BENIGN),--benign "$(BENIGN)") --by $(BY) --format markdown); \
	printf '%s\n' "$$page" > docs/LEDGER.md

man: system ## man pages and shell completions of both programs, into target/man and target/completions
	cargo build --profile dist -p forebay -p forebayd
	mkdir -p target/man target/completions
	for program in forebay forebayd; do \
	  cargo run --profile dist --quiet -p $$program -- man target/man; \
	  for shell in bash zsh fish; do \
	    cargo run --profile dist --quiet -p $$program -- completions $$shell > target/completions/$$program.$$shell; \
	  done; \
	done

install: man ## binaries, units, man pages and completions under PREFIX (/usr/local), for systemd hosts
	cargo build --profile dist -p forebay -p forebayd
	bin=$$(.ci/target-folder)/dist; \
	install -D -m 0755 -t $(DESTDIR)$(PREFIX)/bin $$bin/forebay $$bin/forebayd
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/man/man1 target/man/*.1
	for program in forebay forebayd; do \
	  from=target/completions/$$program; share=$(DESTDIR)$(PREFIX)/share; \
	  install -D -m 0644 $$from.bash $$share/bash-completion/completions/$$program; \
	  install -D -m 0644 $$from.zsh $$share/zsh/site-functions/_$$program; \
	  install -D -m 0644 $$from.fish $$share/fish/vendor_completions.d/$$program.fish; \
	done
	install -D -m 0644 -t $(DESTDIR)/etc/systemd/system systemd/forebayd.service systemd/forebayd.socket \
	  systemd/forebayd-metrics.socket
	sed -i "s#/usr/bin/forebayd#$(PREFIX)/bin/forebayd#" $(DESTDIR)/etc/systemd/system/forebayd.service
	install -D -m 0644 systemd/forebay.sysusers $(DESTDIR)/etc/sysusers.d/forebay.conf
	install -D -m 0644 systemd/forebay.tmpfiles $(DESTDIR)/etc/tmpfiles.d/forebay.conf
	[ -e $(DESTDIR)/etc/forebay/forebayd.toml ] || install -D -m 0644 systemd/forebayd.toml $(DESTDIR)/etc/forebay/forebayd.toml

# What the Rust toolchain does not bring: a C compiler and linker.
system:
	@.ci/system

tools-deny: system
	@cargo deny --version >/dev/null 2>&1 || cargo install --locked cargo-deny

tools-deb: system
	@cargo deb --version >/dev/null 2>&1 || cargo install --locked cargo-deb

tools-fuzz: system
	@cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz
