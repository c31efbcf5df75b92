#!/usr/bin/env bash
# rehearse-perform with workers of its own kernels: tests/validate/perform/perform_test.sh REHEARSE PERFORM STUB. Skipped (77) without
# mpirun. STUB stands in for a GPU: a millisecond for each kernel, or as many as it is told.
set -uo pipefail
rehearse=$1 perform=$2 stub=$3
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
failed=0
command -v mpirun >/dev/null || { echo 'skipped: no mpirun' && exit 77; }
mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo 'skipped: mpirun is not that of Open MPI' && exit 77; }
export REHEARSE_DATA=$root TMPDIR=$scratch OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader \
    OMPI_MCA_plm_rsh_agent='' OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

fail() {
    printf 'FAILED: %s\n' "$*"
    failed=1
}

# perform STATUS TEXT OPTION...: the status of two ranks, and TEXT somewhere in what was said.
perform() {
    local status=$1 text=$2 got=0 said
    shift 2
    said=$(timeout 60 mpirun --bind-to none -n 2 "$perform" -p lab-star:2 -o "$scratch" -n 1 -t 20 "$@" \
        "$scratch/job.program.json" 2>&1) || got=$?
    [ "$got" = "$status" ] || fail "$*: wanted status $status, got $got: ${said:0:400}"
    [[ $said == *"$text"* ]] || fail "$*: wanted \"$text\" in: ${said:0:400}"
}

number() { sed -n "s/^ *\"$1\": \([0-9.]*\).*/\1/p" "$scratch/job.json"; }

"$rehearse" simulate -w "$root/validate/data/lab-gpt.json" -p lab-star:2 --stack lab --global-batch 4 --seq 64 \
    -s pp2,mb2 -o "$scratch/job.program.json" >/dev/null || fail 'no program'

# A GPU for each rank; how long its kernels take is how long a step takes.
export REHEARSE_KERNELS=$stub KERNELS_STUB_LOG=$scratch/log
perform 0 '' --compute cuda
[ "$(sort "$scratch/log" | tr '\n' ' ')" = 'device 0 device 1 ' ] || fail "devices: $(cat "$scratch/log")"
[ "$(number wrong_count)" = 0 ] || fail 'data is wrong'
quick=$(number step_time_s)
KERNELS_STUB_MS=4 perform 0 '' --compute cuda
slow=$(number step_time_s)
awk -v quick="$quick" -v slow="$slow" 'BEGIN { exit !(slow > 2 * quick && slow < 4.5 * quick) }' ||
    fail "kernels four times as long: $slow s for $quick s"
: >"$scratch/log"
CUDA_VISIBLE_DEVICES=3 perform 0 '' --compute cuda
[ "$(sort -u "$scratch/log")" = 'device 0' ] || fail "a lone visible device: $(cat "$scratch/log")"

# What goes wrong is said, and nothing hangs.
KERNELS_STUB_ORDERS=3 perform 1 'cuda could not do the kernels of task' --compute cuda
REHEARSE_KERNELS=$scratch/none perform 3 'none' --compute cuda
REHEARSE_KERNELS=/bin/false perform 3 'did not get ready' --compute cuda
perform 2 'timed, blas or cuda is wanted' --compute gpu
perform 2 'poll or sockets is wanted' --wake never
[ -z "$(find "$scratch" -name 'rehearse-*.csv')" ] || fail 'a list was left behind'

# Two roles that meet in one group: the same sums, by our steps and by the library's.
call='{"kind": "collective", "lane": "dp", "op": "all-reduce", "algorithm": "ring", "group": 0, "bytes": 4096}'
cat >"$scratch/job.program.json" <<END
{"schema": "rehearse.program/1", "ranks": 2, "kernels": [], "bundles": [],
 "groups": [{"label": "ends", "spans": [[1, 2]]}],
 "roles": [{"label": "first", "first_rank": 0, "spans": [], "tasks": [{"kind": "mark"}, $call, $call]},
           {"label": "last", "first_rank": 1, "spans": [], "tasks": [$call, $call]}]}
END
for by in '' --library; do
    perform 0 '' ${by:+"$by"}
    [ "$(number wrong_count)" = 0 ] || fail "sums of two roles $by"
    [ "$(number checked_count)" != 0 ] || fail "no sum of two roles was looked at $by"
done

# An all-to-all in which one of them sends ten times as much as the other.
call='{"kind": "collective", "op": "all-to-all", "algorithm": "direct", "group": 0, "volumes": 0, "bytes": 40960}'
cat >"$scratch/job.program.json" <<END
{"schema": "rehearse.program/1", "ranks": 2, "kernels": [], "bundles": [], "volumes": [[0.5, 0.1, 1, 0]],
 "groups": [{"label": "ep", "spans": [[1, 2]]}],
 "roles": [{"label": "all", "first_rank": 0, "spans": [[1, 2]], "tasks": [$call]}]}
END
perform 0 ''
[ "$(number wrong_count)" = 0 ] || fail 'what was sent unevenly'
# 4,096 bytes to one and 40,960 to the other, in words of four; what stays is looked at as well.
[ "$(number checked_count)" -ge $(((4096 + 40960 + 20480) / 4)) ] || fail 'not all that was sent unevenly'
perform 3 'uneven' --library
exit "$failed"
