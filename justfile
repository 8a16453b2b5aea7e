# `just` lists the recipes. Recipes that need logic live in `crates/xtask`.

_menu:
    @just --list --unsorted

# Format every crate.
fmt:
    cargo fmt --all

# Lint every target; warnings are errors.
lint:
    cargo clippy --workspace --all-targets -- -D warnings

# Run every test once.
test *ARGS: tests
    "${CARGO_TARGET_DIR:-target}/debug/with-postgres" cargo nextest run --workspace {{ARGS}}

# Check format, lints, rustdoc, dependencies and house rules.
house:
    cargo run -q -p xtask -- house

# List each rule of `docs/contract.md` with its tests and run them; `--bite` checks that planted bugs turn them red.
contract *ARGS: tests
    "${CARGO_TARGET_DIR:-target}/debug/with-postgres" cargo run -q -p xtask -- contract {{ARGS}}

# Build every test, and the programs that tests start, with the same features.
tests:
    cargo test -q --workspace --no-run

# Kill the process and cut the power at every named point, then reopen and verify.
crash *ARGS:
    cargo run -q --release -p testkit --bin crash -- {{ARGS}}

# Run one process through failing disks, clocks and readers without a restart, and check that it recovers.
longlife *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/longlife" {{ARGS}}

# Race the operations of one session under load and check every observed state.
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

# Kill the released binary and cut its power under clients and readers; an independent judge checks the result.
judge *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/trial" judge {{ARGS}}

# Run `judge` for a given time: `just campaign --hours 8`.
campaign *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/trial" campaign {{ARGS}}

# Run the selftest of the released binary: killed at random under load, then judged.
selftest *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/everturn" selftest {{ARGS}}

# Test readers: reconnects anywhere, a stalled reader, 1,000 followers of one session.
readers *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/readers" {{ARGS}}

# Check authentication, tenant isolation and malformed input on every route.
sweeps *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/sweeps" {{ARGS}}

# Back up the released binary under load, restore each backup, and compare it with the original.
backups *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/backups" {{ARGS}}

# Open stores of every older schema, crash their migrations, and check that newer stores are refused.
upgrades *ARGS: release
    cargo run -q --release -p testkit --bin upgrades -- {{ARGS}}

# Stop, kill and restart the server and a real Synapse: every message is answered once, in order.
head-to-head *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/messaging" head-to-head {{ARGS}}

# Kill the gateway repeatedly between failing platforms, then count every message.
judge-gateway *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/messaging" judge {{ARGS}}

# Measure many chats at once under a platform's rate limits.
bench-gateway *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/messaging" bench {{ARGS}}

# Restart, shut down and crash the server under open answers: each must finish, with every word once.
restarts *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/messaging" restarts {{ARGS}}

# Stop and kill the released binary mid-stream with a real llama.cpp model, in both wire formats.
real-model *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/real-model" scripts/small-model {{ARGS}}

# Check, test and build the web UI into `web/dist`.
web: pages
    cd web && npx prettier --check --log-level warn . && npx tsc --noEmit && npx oxlint -c oxlint.json --type-aware --quiet src && npx vitest run --reporter dot

# Build the web UI if it changed; install its dependencies if they changed.
pages:
    cd web && (cmp -s package-lock.json node_modules/.installed || (npm install --no-save --silent && cp package-lock.json node_modules/.installed))
    cd web && ([ -e dist/index.html ] && [ -z "$(find src public *.html *.ts package-lock.json -newer node_modules/.built -print -quit 2>&1)" ] || (touch node_modules/.begun && npx vite build --logLevel warn && mv node_modules/.begun node_modules/.built))

# Regenerate the OpenAPI description and the TypeScript types of the web UI.
api: release
    node web/e2e/describe.mjs
    cd web && npx openapi-typescript openapi.json -o src/api/schema.d.ts

# Check the API's description: lint it, compare it with the accepted one, and try generated clients in TypeScript and Python.
api-check: release
    node web/e2e/clients.mjs

# Extract the UI messages into their catalogs; a test lists messages without a German translation.
words:
    cd web && npx lingui extract --clean

# Test the released binary in a real browser: network cuts, kills, reloads.
e2e *ARGS: release
    node web/e2e/run.mjs {{ARGS}}

# Compare the server's fold with the web UI's on random histories: `just twins COUNT FIRST`.
twins *ARGS:
    cargo build -q --release -p session --example histories
    node web/e2e/twins.mjs {{ARGS}}

# Measure the web UI in a real browser beside an empty page: size, long sessions, streaming.
bench-web *ARGS: release
    node web/e2e/bench.mjs {{ARGS}}

# Run the XSS suite against every part of the web UI.
xss *ARGS: release
    node web/e2e/xss.mjs {{ARGS}}

# Check every state of the web UI against the accessibility rules.
axe *ARGS: release
    node web/e2e/axe.mjs {{ARGS}}

# Write screenshots of the web UI (light, dark, phone) to `web/shots`.
screenshots *ARGS: release
    node web/e2e/screenshots.mjs {{ARGS}}

# Build the released binary and the programs that test it, without crash points and mutants.
release: pages
    cargo build -q --release --no-default-features -p server -p judge -p testkit --bins

# Measure the store: concurrent runs, latency, bytes per transcript byte.
bench-store *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/bench-store" {{ARGS}}

# Measure the released binary: cost of durability, concurrent streams, starts, requests.
bench-server *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/bench-server" {{ARGS}}

# Simulate many small worlds in virtual time, each from a seed; `just sim SEED` replays one.
sim *ARGS: tests
    cargo run -q --release -p testkit --bin sim -- {{ARGS}}

# Measure the cost of the access checks for one page of the session list.
bench-gate:
    GATE_BLOCKS=40 cargo test -q --release -p server --bin everturn the_gate_costs -- --nocapture

# Compare row layouts of the store on this machine.
layouts *ARGS: release
    "${CARGO_TARGET_DIR:-target}/release/layouts" {{ARGS}}

# Run everything that a change must pass.
ci:
    .ci/run
