#!/usr/bin/env bash
# bench.sh: builds the benchmarks and runs them, one stage after the other; says what runs, how long it usually takes, and how
# long it took. QUICK=1: the step of each robot and loading only, few states, nothing is written; a minute with its build.
set -euo pipefail
cd "$(dirname "$0")/.."

jobs=${JOBS:-$(nproc)}
quick=${QUICK:-}
stage=0

# run <stages in all> <what> <usual time> <command...>
run() {
    local all=$1 what=$2 usual=$3 start=$SECONDS
    shift 3
    stage=$((stage + 1))
    echo "bench: $stage of $all: $what (usually $usual)"
    "$@"
    echo "bench: $stage of $all: done in $((SECONDS - start)) s"
}

build() {
    cmake --preset bench --log-level=NOTICE
    cmake --build --preset bench -j "$jobs" "$@"
}

quick_steps() {
    local robot
    for robot in half-cheetah humanoid UR5e Go1 H1 Atlas; do
        build/bench/bench/bench_step --robot "$robot" --states 500 --repetitions 3 | grep '^|' | if [ "$robot" = half-cheetah ]; then cat; else tail -n +3; fi
    done
}

if [ -n "$quick" ]; then
    echo "bench: QUICK, seconds after the first build; figures are rougher than those of a whole run"
    run 3 "build" "1 to 4 minutes the first time" build --target bench_step
    run 3 "steps beside MuJoCo" "a few seconds" quick_steps
    run 3 "loading beside MuJoCo" "5 s" .venv/bin/python bench/load.py --rounds 5
    exit
fi

echo "bench: 25 minutes on two cores, and 6 minutes more for the first build; QUICK=1 takes one"
run 5 "build" "6 minutes the first time: all of Pinocchio's templates" build
run 5 "dynamics beside Pinocchio" "2 minutes" build/bench/bench/bench_dynamics
run 5 "steps beside MuJoCo" "10 minutes" build/bench/bench/bench_step --out bench/results
run 5 "derivatives of steps beside MuJoCo and Pinocchio" "10 minutes" build/bench/bench/bench_gradients --out bench/results
run 5 "loading beside MuJoCo" "1 minute" .venv/bin/python bench/load.py --write
