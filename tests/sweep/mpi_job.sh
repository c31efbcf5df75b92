# shellcheck shell=bash disable=SC2034,SC2154 # names that the tests read or set
# Jobs of MPI whose processes a test looks up and kills. Sourced with REHEARSE and REHEARSE-MPI as the first two arguments: it
# stands in an empty folder then. Skipped (77) where mpirun starts nothing.
tree=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
rehearse=$(realpath -- "$1")
relay=$(realpath -- "$2")
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
export REHEARSE_DATA=$tree REHEARSE_PROGRAM=$rehearse OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd -- "$scratch" || exit
cp "$tree/tests/cli/inputs/tiny-llama.json" "$tree/tests/cli/inputs/two-nodes.json" .
ranks=(mpirun --oversubscribe -n)
"${ranks[@]}" 2 true >log 2>&1 || ranks=(mpirun -n) # MPICH has no such option
"${ranks[@]}" 2 true >log 2>&1 || {
    echo "skipped: mpirun starts nothing here"
    exit 77
}
fail() {
    echo "FAILED: $*"
    exit 1
}
# A study of simulations, of which the global batch goes up to $1.
write_study() {
    cat >study.json <<END_OF_STUDY
{"schema": "rehearse.study/1", "command": "simulate",
 "options": {"workload": "tiny-llama.json", "platform": "two-nodes.json", "seq": "1k", "strategy": "tp{tp},pp{pp},mb1"},
 "axes": [{"global-batch": {"from": 8, "to": $1, "plus": 8}}, {"tp": [1, 2]}, {"pp": [1, 2, 4]}]}
END_OF_STUDY
}
# Children of a process.
children() { cat "/proc/$1/task/$1/children" 2>/dev/null || true; }
# Process numbers of the relays of $job, the first rank's first.
relays() {
    local pid
    for pid in $(children "$job"); do
        [ "$({ cat "/proc/$pid/comm" || true; } 2>/dev/null)" != rehearse-mpi ] || echo "$pid"
    done | sort -n
}
