#!/usr/bin/env bash
# fuzz.sh <seconds> [target...]: runs each fuzz target (mjcf, urdf, stl, ...; all of them when none is named) for that long,
# one after the other, and says how many inputs it tried. New inputs are kept under build/fuzz/corpus/, those that fail
# under build/fuzz/found/. Inputs are at most FUZZ_MAX_LEN bytes (4096); FUZZ_RUNS stops after so many inputs.
set -uo pipefail
cd "$(dirname "$0")/.."

seconds=$1
shift
build=${FUZZ_BUILD:-build/fuzz}
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        targets+=("$(basename "$source" .c | sed s/^fuzz_//)")
    done
fi

# a small quarantine: it is filled again with every input, and a large one costs time, not findings
export ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=8:detect_stack_use_after_return=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
for target in "${targets[@]}"; do
    mkdir -p "$build/corpus/$target" "$build/found"
    options=(-max_total_time="$seconds" -max_len="${FUZZ_MAX_LEN:-4096}" -timeout=120 -rss_limit_mb=1024
        -artifact_prefix="$build/found/$target-" -print_final_stats=1 -verbosity=0 -entropic=0)
    [ -n "${FUZZ_RUNS:-}" ] && options+=(-runs="$FUZZ_RUNS")
    [ -f "tests/fuzz/$target.dict" ] && options+=(-dict="tests/fuzz/$target.dict")
    if "$build/tests/fuzz/fuzz_$target" "${options[@]}" "$build/corpus/$target" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
        printf '%-8s %s inputs, %s a second, no finding\n' "$target" "$runs" "$rate"
    else
        cat "$log"
        printf '%-8s FAILED; the input is in %s\n' "$target" "$build/found/"
        failed=1
    fi
done
exit $failed
