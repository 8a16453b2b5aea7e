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
test *ARGS:
    cargo run -q -p testkit --bin with-postgres -- cargo nextest run --workspace {{ARGS}}

# House rules: format, clippy, rustdoc, dependencies, tidy tests; one line a figure, verdict last.
house:
    cargo run -q -p xtask -- house

# Each rule of `docs/contract.md` with its tests, then runs them; `--bite` proves that planted bugs turn them red.
contract *ARGS:
    cargo run -q -p testkit --bin with-postgres -- cargo run -q -p xtask -- contract {{ARGS}}

# Kill the process and cut the power at every named point, reopen, verify.
crash *ARGS:
    cargo run -q --release -p testkit --bin crash -- {{ARGS}}

# Race the operations of one session under load and check every state that was seen.
races *ARGS:
    cargo run -q --release -p testkit --bin races -- {{ARGS}}

# Cut, stall, corrupt, repeat and stop a provider's stream at every byte.
cuts *ARGS:
    cargo run -q --release -p testkit --bin cuts -- {{ARGS}}

# The released binary, killed and cut from power under clients and readers, and an independent judge.
judge *ARGS: release
    cargo run -q --release -p testkit --bin trial -- judge {{ARGS}}

# The same for as long as one likes: `just campaign --hours 8`.
campaign *ARGS: release
    cargo run -q --release -p testkit --bin trial -- campaign {{ARGS}}

# Readers: a reconnect at every byte, one that never reads, a thousand of one session.
readers *ARGS: release
    cargo run -q --release -p testkit --bin readers -- {{ARGS}}

# The whole surface: who is let in, what one user learns of another, what becomes of nonsense.
sweeps *ARGS: release
    cargo run -q --release -p testkit --bin sweeps -- {{ARGS}}

# A real model on a real llama.cpp server, in both wire formats, stopped and killed in mid-stream.
real-model *ARGS: release
    cargo run -q --release -p testkit --bin real-model -- scripts/small-model {{ARGS}}

# The binaries that campaigns put on trial.
release:
    cargo build -q --release -p server
    cargo build -q --release -p judge
    cargo build -q --release -p testkit --bin scripted-model

# Measure the store: runs at once, latency, bytes per transcript byte.
bench-store *ARGS:
    cargo run -q --release -p testkit --no-default-features --bin bench-store -- {{ARGS}}

# Measure the released binary: the price of durability, streams at once, starts, requests.
bench-server *ARGS: release
    cargo run -q --release -p testkit --no-default-features --bin bench-server -- {{ARGS}}

# Live many small worlds in virtual time, each from a seed; `just sim SEED` lives one again.
sim *ARGS:
    cargo build -q -p testkit --bin sim
    cargo run -q --release -p testkit --bin sim -- {{ARGS}}

# Compare row layouts of the store on this machine.
layouts *ARGS:
    cargo run -q --release -p testkit --no-default-features --bin layouts -- {{ARGS}}

# Everything a change must pass, from a clean checkout.
ci:
    .ci/run
