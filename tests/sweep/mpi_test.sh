#!/usr/bin/env bash
# A study handed to the ranks of an MPI job: the table of one process, also when a rank's program is killed.
#
#   tests/sweep/mpi_test.sh REHEARSE REHEARSE-MPI
set -euo pipefail
# shellcheck source=tests/sweep/mpi_job.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/mpi_job.sh"
write_study 160
"$rehearse" sweep study.json --folder one -q >/dev/null
"$rehearse" sweep merge study.json --folder one >one.csv
for n in 2 5; do
    "${ranks[@]}" "$n" "$relay" sweep study.json --folder "ranks$n" -q >out 2>log
    "$rehearse" sweep merge study.json --folder "ranks$n" | cmp - one.csv
    [ "$(find "ranks$n" -name '*.jsonl' | wc -l)" = $((n - 1)) ] || fail "$n ranks, and not all worked"
    sed "s/^/$n ranks: /; s/; in .*//" out | head -n 1
done
# The dearest question by the closed form goes first, before any was measured.
head -n 1 ranks2/*.jsonl | grep -q -- '--strategy=tp2,pp4,mb1 --global-batch=160"' || fail "not the dearest first: $(head -n 1 ranks2/*.jsonl)"
# The same of other commands: the last value of the axis is the dearest.
first() {
    printf '{"schema": "rehearse.study/1", "command": "%s", "options": {%s}, "axes": [{%s}]}\n' "$1" "$2" "$3" >first.json
    "${ranks[@]}" 2 "$relay" sweep first.json --folder "first-$1" -q >out 2>log || fail "$1: $(cat out log)"
    head -n 1 "first-$1"/*.jsonl | grep -q -- "$4" || fail "$1: not the dearest first: $(head -n 1 "first-$1"/*.jsonl)"
}
job='"workload": "tiny-llama.json", "platform": "two-nodes.json", "seq": "1k"'
first plan "$job" '"global-batch": [8, 32, 64]' '--global-batch=64"'
first capacity "$job, \"tokens\": \"20B\", \"gpus\": \"4..8\"" '"global-batch": [8, 32, 64]' '--global-batch=64"'
first run "$job, \"strategy\": \"tp1,pp2,mb1\", \"tokens\": \"1T\"" '"global-batch": [8, 32, 64]' '--global-batch=64"'
first serve-simulate '"workload": "llama-3.2-1b", "platform": "h100-sxm:1x1", "strategy": "tp1", "lengths": "in=500,out=50", "rate": "2/s"' \
    '"count": [100, 200, 400]' '--count=400"'
echo "the dearest question went first in studies of simulate, plan, capacity, run and serve-simulate"
# Starts a sweep of 4 ranks in $1 and waits for some answers.
begin() {
    "${ranks[@]}" 4 "$relay" sweep study.json --folder "$1" -q >out 2>log &
    job=$!
    for _ in $(seq 400); do
        [ "$({ cat "$1"/*.jsonl 2>/dev/null || true; } | wc -l)" -lt 12 ] || break
        sleep 0.02
    done
}
# Asks what is left, and compares.
finish() {
    "$rehearse" sweep study.json --folder "$1" --resume -q >rest || true
    "$rehearse" sweep study.json --folder "$1" --retry failed -q >>rest
    "$rehearse" sweep merge study.json --folder "$1" | cmp - one.csv
    asked=$(cat "$1"/*.jsonl | grep -c '^{"key"')
    # what was under way in a rank may be asked once more
    [ "$asked" -le $((120 + 3)) ] || fail "$1: $asked answers to 120 questions"
}
# The program of a rank is killed, with the question that it asked.
begin rank
kill -9 "$(children "$(relays | tail -n 1)" | tr ' ' '\n' | head -n 1)"
wait "$job"
"$rehearse" sweep merge study.json --folder rank | cmp - one.csv
sed 's/^/one killed: /; s/; in .*//' out | head -n 1
# The coordinator is killed: the others end what they are at, and leave.
begin coordinator
kill -9 "$(children "$(relays | head -n 1)" | tr ' ' '\n' | head -n 1)"
! wait "$job" || fail "a job without its coordinator was fine"
finish coordinator
echo "the coordinator killed: the others left, the table is the same"
# A relay is killed: MPI ends the job.
begin relay
kill -9 "$(relays | tail -n 1)"
! wait "$job" || fail "a job without a relay was fine"
sleep 0.5 # programs whose relays are gone end their questions
finish relay
echo "a relay killed: MPI ended the job, the table is the same"
# The job is told to leave.
begin told
# shellcheck disable=SC2046 # numbers
kill -TERM $(relays)
wait "$job" || true
finish told
[ "$asked" = 120 ] || fail "told to leave, and $asked answers to 120 questions"
echo "told to leave: what was under way was ended, the table is the same"
# A search whose rehearsals are handed to ranks answers with the bytes of one machine, also where ranks are killed.
train=(-w tiny-llama.json -p two-nodes.json --seq 1024)
"$rehearse" plan "${train[@]}" --global-batch 32 -q -j 2 --json -o plan.html >plan.json
"$rehearse" capacity "${train[@]}" --global-batch 64 --tokens 20B --gpus 4..8 -q --json >capacity.json
serve=(-w llama-3.2-1b -p h100-sxm:2x1 --lengths "in=1000,out=100" --count 400 --ttft "p99<9s")
"$rehearse" serve-plan "${serve[@]}" --find-rate -q --json >serve-find.json
"$rehearse" serve-plan "${serve[@]}" --rate 2/s -q --json >serve-rate.json
for n in 2 4; do
    "${ranks[@]}" "$n" "$relay" plan "${train[@]}" --global-batch 32 -q -j 2 --json -o "plan$n.html" | cmp - plan.json
    sed "s/plan$n.html/plan.html/" "plan$n.html" | cmp - plan.html
    "${ranks[@]}" "$n" "$relay" capacity "${train[@]}" --global-batch 64 --tokens 20B --gpus 4..8 -q --json | cmp - capacity.json
    "${ranks[@]}" "$n" "$relay" serve-plan "${serve[@]}" --find-rate -q --json | cmp - serve-find.json
    "${ranks[@]}" "$n" "$relay" serve-plan "${serve[@]}" --rate 2/s -q --json | cmp - serve-rate.json
done
"${ranks[@]}" 4 "$relay" plan "${train[@]}" --global-batch 32 -q -j 2 --json -o plan.html >out &
job=$!
until [ -n "$(relays)" ] && [ -n "$(children "$(relays | tail -n 1)")" ]; do sleep 0.01; done
kill -9 "$(children "$(relays | tail -n 1)" | tr ' ' '\n' | head -n 1)"
wait "$job"
cmp out plan.json
echo "plan, capacity and serve-plan by 2 and 4 ranks, plan with one killed: the bytes of one machine"
for words in "simulate -s tp2" "plan --timeout 5s"; do
    # shellcheck disable=SC2086 # words
    ! "${ranks[@]}" 2 "$relay" $words "${train[@]}" --global-batch 32 >out 2>log || fail "$words was run by ranks"
    grep '^error: ' log
done
# What is there is not asked again.
"${ranks[@]}" 3 "$relay" sweep study.json --folder rank --resume -q 2>log | head -n 1
