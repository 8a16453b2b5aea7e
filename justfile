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
    cargo nextest run --workspace {{ARGS}}

# House rules: format, clippy, rustdoc, dependencies, tidy tests; one line a figure, verdict last.
house:
    cargo run -q -p xtask -- house

# Each rule of `docs/contract.md` with its tests, then runs them; `--bite` proves that planted bugs turn them red.
contract *ARGS:
    cargo run -q -p xtask -- contract {{ARGS}}

# Kill the process and cut the power at every named point, reopen, verify.
crash *ARGS:
    cargo run -q --release -p testkit --bin crash -- {{ARGS}}

# Race the operations of one session under load and check every state that was seen.
races *ARGS:
    cargo run -q --release -p testkit --bin races -- {{ARGS}}

# Cut, stall, corrupt, repeat and stop a provider's stream at every byte.
cuts *ARGS:
    cargo run -q --release -p testkit --bin cuts -- {{ARGS}}

# Measure the store: runs at once, latency, bytes per transcript byte.
bench-store *ARGS:
    cargo run -q --release -p testkit --no-default-features --bin bench-store -- {{ARGS}}

# Compare row layouts of the store on this machine.
layouts *ARGS:
    cargo run -q --release -p testkit --no-default-features --bin layouts -- {{ARGS}}

# Everything a change must pass, from a clean checkout.
ci:
    .ci/run
