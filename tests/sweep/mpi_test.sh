#!/usr/bin/env bash
# A study handed to the ranks of an MPI job: the table of one process, also when a rank's program is killed.
#
#   tests/sweep/mpi_test.sh REHEARSE REHEARSE-MPI
#
# Skipped (77) where mpirun starts nothing.
set -euo pipefail
tree=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
rehearse=$(realpath -- "$1")
relay=$(realpath -- "$2")
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
export REHEARSE_DATA=$tree REHEARSE_PROGRAM=$rehearse OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ranks=(mpirun --oversubscribe -n)
"${ranks[@]}" 2 true >"$scratch/log" 2>&1 || ranks=(mpirun -n) # MPICH has no such option
"${ranks[@]}" 2 true >"$scratch/log" 2>&1 || {
    echo "skipped: mpirun starts nothing here"
    exit 77
}
cd -- "$scratch"
cp "$tree/tests/cli/inputs/tiny-llama.json" "$tree/tests/cli/inputs/two-nodes.json" .
cat >study.json <<'END'
{"schema": "rehearse.study/1", "command": "simulate",
 "options": {"workload": "tiny-llama.json", "platform": "two-nodes.json", "seq": "1k", "strategy": "tp{tp},pp{pp},mb1"},
 "axes": [{"global-batch": {"from": 8, "to": 160, "plus": 8}}, {"tp": [1, 2]}, {"pp": [1, 2, 4]}]}
END
"$rehearse" sweep study.json --folder one -q >/dev/null
"$rehearse" sweep merge study.json --folder one >one.csv
for n in 2 5; do
    "${ranks[@]}" "$n" "$relay" sweep study.json --folder "ranks$n" -q >out 2>log
    "$rehearse" sweep merge study.json --folder "ranks$n" | cmp - one.csv
    [ "$(find "ranks$n" -name '*.jsonl' | wc -l)" = $((n - 1)) ] || echo "FAILED: $n ranks, and not all worked"
    sed "s/^/$n ranks: /; s/; in .*//" out | head -n 1
done
# The program of a rank is killed, with the question that it asked.
"${ranks[@]}" 4 "$relay" sweep study.json --folder killed -q >out 2>log &
for _ in $(seq 100); do
    victim=$(pgrep -f "sweep study.json --folder killed" | tail -n 1 || true)
    [ "$({ cat killed/*.jsonl 2>/dev/null || true; } | wc -l)" -lt 12 ] || break
    sleep 0.05
done
# the worker's parent is the rank's program
victim=$(awk '/^PPid/ { print $2 }' "/proc/$victim/status" 2>/dev/null || true)
[ -z "$victim" ] || [ "$victim" = 1 ] || kill -9 "$victim" 2>/dev/null || true
wait
"$rehearse" sweep merge study.json --folder killed | cmp - one.csv
sed 's/^/one killed: /; s/; in .*//' out | head -n 1
# What is there is not asked again.
"${ranks[@]}" 3 "$relay" sweep study.json --folder killed --resume -q 2>log | head -n 1
