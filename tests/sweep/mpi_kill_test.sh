#!/usr/bin/env bash
# Any process of a sweep's MPI job, killed at any time: the coordinator, a relay, a rank's program or its worker. No answer is
# lost, a kill costs no more than the question under way, and --resume goes on, also where MPI has ended the job.
#
#   tests/sweep/mpi_kill_test.sh REHEARSE REHEARSE-MPI [KILLS]
set -euo pipefail
# shellcheck source=tests/sweep/mpi_job.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/mpi_job.sh"
kills=${3:-12}
write_study 400
"$rehearse" sweep study.json --folder quiet -q >/dev/null
"$rehearse" sweep merge study.json --folder quiet >quiet.csv
questions=$(($(wc -l <quiet.csv) - 1))

# Lines "kind pid" of the processes of $job.
processes() {
    local pid own worker rank=0
    for pid in $(relays); do
        echo "relay $pid"
        for own in $(children "$pid"); do
            [ "$rank" -gt 0 ] && echo "rank $own" || echo "coordinator $own"
            for worker in $(children "$own"); do echo "worker $worker"; done
        done
        rank=$((rank + 1))
    done
}
# Keys of questions that were answered.
answered() {
    { cat killed/*.jsonl 2>/dev/null || true; } | sed -n 's/^{"key":"\([0-9a-f]*\)","status":0,.*}$/\1/p' | sort -u
}
# Waits until the job has answered something.
at_work() {
    local known
    known=$(wc -l <before)
    while kill -0 "$job" 2>/dev/null; do
        answered >after
        [ "$(wc -l <after)" -le "$known" ] || break
        sleep 0.02
    done
}
# The study that was killed so far is asked to its end; nothing was asked much more than once.
finish() {
    sleep 0.3 # programs whose relays are gone end their questions
    "$rehearse" sweep study.json --folder killed --resume -q >rest || true
    "$rehearse" sweep study.json --folder killed --retry failed -q >>rest
    "$rehearse" sweep merge study.json --folder killed | cmp - quiet.csv
    asked=$(cat killed/*.jsonl | grep -c '^{"key"')
    [ "$asked" -le $((questions + of_study)) ] || fail "$asked answers to $questions questions after $of_study kills"
    rm -rf killed
    : >before
    of_study=0
}

RANDOM=11
declare -A count=([relay]=0 [coordinator]=0 [rank]=0 [worker]=0)
done_kills=0 of_study=0 jobs=0
: >before
while [ "$done_kills" -lt "$kills" ]; do
    [ "$(wc -l <before)" -lt $((questions * 3 / 4)) ] || finish
    "${ranks[@]}" 4 "$relay" sweep study.json --folder killed --resume -q >out 2>log &
    job=$!
    jobs=$((jobs + 1))
    [ $((RANDOM % 4)) = 0 ] || at_work
    while [ "$done_kills" -lt "$kills" ] && kill -0 "$job" 2>/dev/null; do
        sleep "0.0$((RANDOM % 10))"
        mapfile -t alive < <(processes)
        [ "${#alive[@]}" -ge 4 ] || continue # the job begins, or ends
        read -r kind victim <<<"${alive[RANDOM % ${#alive[@]}]}"
        kill -9 "$victim" 2>/dev/null || continue
        done_kills=$((done_kills + 1))
        of_study=$((of_study + 1))
        count[$kind]=$((count[$kind] + 1))
        answered >after
        comm -23 before after >lost
        [ ! -s lost ] || fail "kill $done_kills, of a $kind, took $(wc -l <lost) answers"
        mv after before
        case $kind in relay | coordinator) break ;; esac # of which the job ends
    done
    wait "$job" || true
done 2>shell.log # which tells of each process that was killed
finish
echo "$kills kills of MPI jobs (${count[relay]} of relays, ${count[coordinator]} of coordinators, ${count[rank]} of ranks' programs," \
    "${count[worker]} of workers), in $jobs jobs of $questions questions: the same table"
