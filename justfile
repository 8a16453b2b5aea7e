# The menu. `just` lists it; recipes that need logic live in `crates/xtask`.

_menu:
    @just --list --unsorted

# Format every crate.
fmt:
    cargo fmt --all

# Clippy over every target, warnings are errors.
lint:
    cargo clippy --workspace --all-targets -- -D warnings

# Every test once.
test *ARGS: tests
    "${CARGO_TARGET_DIR:-target}/debug/with-postgres" cargo nextest run --workspace {{ARGS}}

# House rules: format, clippy, rustdoc, dependencies, tidy tests; one line a figure, verdict last.
house:
    cargo run -q -p xtask -- house

# Each rule of `docs/contract.md` with its tests, then runs them; `--bite` proves that planted bugs turn them red.
contract *ARGS: tests
    "${CARGO_TARGET_DIR:-target}/debug/with-postgres" cargo run -q -p xtask -- contract {{ARGS}}

# Every test and what the tests start, built once with the same features.
tests:
    cargo test -q --workspace --no-run

# Kill the process and cut the power at every named point, reopen, verify.
crash *ARGS:
    cargo run -q --release -p testkit --bin crash -- {{ARGS}}

# One process that is never restarted, between failing disks, clocks and readers: afterwards it is as it was.
longlife *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/longlife" {{ARGS}}

# Race the operations of one session under load and check every state that was seen.
races *ARGS:
    cargo run -q --release -p testkit --bin races -- {{ARGS}}

# Cut, stall, corrupt, repeat and stop a provider's stream at every byte.
cuts *ARGS:
    cargo run -q --release -p testkit --bin cuts -- {{ARGS}}

# Replay provider fixtures, search for dead ends against strict servers, and run the released binary with each provider.
providers *ARGS: release
    cargo run -q --release -p testkit --bin providers -- {{ARGS}}
    "${CARGO_TARGET_DIR:-target}/release/stories" --check docs/providers.md

# Update `docs/providers.md` from tests of the released binary with each provider.
providers-docs: release
    "${CARGO_TARGET_DIR:-target}/release/stories" --docs docs/providers.md

# Test the released binary with real providers, one for each key in the environment: `just providers-live [--most DOLLARS]`. Costs money.
providers-live *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/providers-live" scripts/small-model {{ARGS}}

# The released binary, killed and cut from power under clients and readers, and an independent judge.
judge *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/trial" judge {{ARGS}}

# The same for as long as one likes: `just campaign --hours 8`.
campaign *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/trial" campaign {{ARGS}}

# What an operator can run with the binary alone: killed at random under load, then judged.
selftest *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/everturn" selftest {{ARGS}}

# Readers: a reconnect at every byte, one that never reads, a thousand of one session.
readers *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/readers" {{ARGS}}

# The whole surface: who is let in, what one user learns of another, what becomes of nonsense.
sweeps *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/sweeps" {{ARGS}}

# Backups of the released binary under load, each restored and held against what the original became.
backups *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/backups" {{ARGS}}

# Stores of every older schema: read, gone on with, killed in their migration; newer ones refused.
upgrades *ARGS: release
    cargo run -q --release -p testkit --bin upgrades -- {{ARGS}}

# Restarts, crashes and a platform that goes away on a real Synapse: every message is answered once, in order.
head-to-head *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/messaging" head-to-head {{ARGS}}

# The gateway between failing platforms, killed again and again; then everything is counted.
judge-gateway *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/messaging" judge {{ARGS}}

# Many chats at once under a platform's rates: nothing lost, memory flat, hardly slower than the rates allow.
bench-gateway *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/messaging" bench {{ARGS}}

# Restarts, shutdowns and crashes under answers that chats and a browser wait for: each finishes by itself, every word once.
restarts *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/messaging" restarts {{ARGS}}

# A real model on a real llama.cpp server, in both wire formats, stopped and killed in mid-stream.
real-model *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/real-model" scripts/small-model {{ARGS}}

# The web pages: checked, tested, built into `web/dist`.
web: pages
    cd web && npx prettier --check --log-level warn . && npx tsc --noEmit && npx oxlint -c oxlint.json --type-aware --quiet src && npx vitest run --reporter dot

# Builds the web pages when they changed; installs what they are made of when that did.
pages:
    cd web && (cmp -s package-lock.json node_modules/.installed || (npm install --no-save --silent && cp package-lock.json node_modules/.installed))
    cd web && ([ -e dist/index.html ] && [ -z "$(find src public *.html *.ts package-lock.json -newer node_modules/.built -print -quit 2>&1)" ] || (touch node_modules/.begun && npx vite build --logLevel warn && mv node_modules/.begun node_modules/.built))

# Writes the description of the API and the types that the pages are made with anew.
api: release
    node web/e2e/describe.mjs
    cd web && npx openapi-typescript openapi.json -o src/api/schema.d.ts

# Reads the messages of the pages into their catalogues anew; a test says which of them have no German yet.
words:
    cd web && npx lingui extract --clean

# A real browser against the released binary: cut, killed, reloaded.
e2e *ARGS: release
    node web/e2e/run.mjs {{ARGS}}

# Random histories folded by the server and by the pages: the same state after every entry. `just twins COUNT FIRST`.
twins *ARGS:
    cargo build -q --release -p session --example histories
    node web/e2e/twins.mjs {{ARGS}}

# Measure the pages in a real browser: their size, a long session, text that streams, beside an empty page.
bench-web *ARGS: release
    node web/e2e/bench.mjs {{ARGS}}

# Text that wants to be more than text, in every place of the pages.
xss *ARGS: release
    node web/e2e/xss.mjs {{ARGS}}

# Every state of the pages before the rules of accessibility.
axe *ARGS: release
    node web/e2e/axe.mjs {{ARGS}}

# What the pages look like, light, dark and on a phone, into `web/shots`.
screenshots *ARGS: release
    node web/e2e/screenshots.mjs {{ARGS}}

# The binaries that campaigns put on trial and those that try them, built once: without the crash points and mutants of tests.
release: pages
    cargo build -q --release --no-default-features -p server -p judge -p testkit --bins

# Measure the store: runs at once, latency, bytes per transcript byte.
bench-store *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/bench-store" {{ARGS}}

# Measure the released binary: the price of durability, streams at once, starts, requests.
bench-server *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/bench-server" {{ARGS}}

# Live many small worlds in virtual time, each from a seed; `just sim SEED` lives one again.
sim *ARGS: tests
    cargo run -q --release -p testkit --bin sim -- {{ARGS}}

# What the gate costs a page of the list, with and without it in one run.
bench-gate:
    GATE_BLOCKS=40 cargo test -q --release -p server --bin everturn the_gate_costs -- --nocapture

# Compare row layouts of the store on this machine.
layouts *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/layouts" {{ARGS}}

# Everything a change must pass, from a clean checkout.
ci:
    .ci/run
