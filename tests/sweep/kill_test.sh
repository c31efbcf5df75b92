#!/usr/bin/env bash
# Whatever is killed, and when, only questions under way are lost: journals never forget an answer, and the table is that of a
# study which nobody disturbed.
#
#   tests/sweep/kill_test.sh REHEARSE [KILLS]
set -euo pipefail
tree=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
rehearse=$(realpath -- "$1")
kills=${2:-25}
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
export REHEARSE_DATA=$tree
cd -- "$scratch"
cp "$tree/tests/cli/inputs/tiny-llama.json" "$tree/tests/cli/inputs/two-nodes.json" .
cat >study.json <<'END'
{"schema": "rehearse.study/1", "command": "simulate",
 "options": {"workload": "tiny-llama.json", "platform": "two-nodes.json", "seq": "1k", "strategy": "tp{tp},pp{pp},mb1"},
 "axes": [{"global-batch": {"from": 8, "to": 400, "plus": 8}}, {"tp": [1, 2]}, {"pp": [1, 2, 4]}]}
END
"$rehearse" sweep study.json --folder quiet -q >/dev/null
"$rehearse" sweep merge study.json --folder quiet >quiet.csv
questions=$(($(wc -l <quiet.csv) - 1))

# Answers in the journals, by key.
answered() {
    { cat disturbed/*.jsonl 2>/dev/null || true; } | sed -n 's/^{"key":"\([0-9a-f]*\)","status":[01],.*}$/\1/p' | sort -u
}
# Processes that a process has started, and those that these have: a sweep's workers and their rehearsals.
family() {
    local child
    for child in $({ cat "/proc/$1/task/$1/children" || true; } 2>/dev/null); do
        echo "$child"
        family "$child"
    done
}

RANDOM=7
done_kills=0
of_others=0
passes=0
answered >before
while [ "$done_kills" -lt "$kills" ]; do
    if [ "$(wc -l <before)" -ge "$questions" ]; then # all answered: begin anew
        rm -rf disturbed
        : >before
    fi
    "$rehearse" sweep study.json --folder disturbed --resume -j 2 -q >/dev/null 2>&1 &
    sweep=$!
    passes=$((passes + 1))
    while [ "$done_kills" -lt "$kills" ] && kill -0 "$sweep" 2>/dev/null; do
        sleep "0.$((RANDOM % 2))$((RANDOM % 10))"
        victim=$sweep
        if [ $((RANDOM % 5)) -gt 0 ]; then
            mapfile -t alive < <(family "$sweep")
            [ "${#alive[@]}" -gt 0 ] || continue
            victim=${alive[RANDOM % ${#alive[@]}]}
        fi
        kill -9 "$victim" 2>/dev/null || continue
        done_kills=$((done_kills + 1))
        [ "$victim" = "$sweep" ] || of_others=$((of_others + 1))
        answered >after
        comm -23 before after >lost
        [ ! -s lost ] || {
            echo "FAILED: kill $done_kills took $(wc -l <lost) answers"
            exit 1
        }
        mv after before
    done
    [ "$done_kills" -lt "$kills" ] || kill -9 "$sweep" 2>/dev/null || true
    wait "$sweep" || true
done 2>shell.log # which tells of each process that was killed
sleep 0.3 # workers whose sweep was killed end their questions
"$rehearse" sweep study.json --folder disturbed --resume -q >/dev/null 2>&1 || true
"$rehearse" sweep study.json --folder disturbed --retry failed -q >/dev/null # what was killed twice
"$rehearse" sweep merge study.json --folder disturbed >disturbed.csv
cmp quiet.csv disturbed.csv
asked=$(cat disturbed/*.jsonl | grep -c '^{"key"')
echo "$kills kills, $of_others of them of workers and their children, in $passes sweeps of $questions questions: the same table; $asked answers in the last sweep's journals"

# Signals: the sweep alone is told to leave, or all its processes as Slurm's --signal does. What is under way ends, and nothing
# is asked twice.
cat >long.json <<'END'
{"schema": "rehearse.study/1", "command": "simulate",
 "options": {"workload": "tiny-llama.json", "platform": "two-nodes.json", "seq": "1k", "strategy": "tp1,pp4,mb1"},
 "axes": [{"global-batch": {"from": 1024, "to": 1824, "plus": 16}}]}
END
questions=51
for how in TERM-one USR1-all INT-all; do
    folder=told-$how
    setsid "$rehearse" sweep long.json --folder "$folder" -j 2 -q >out 2>log &
    sweep=$!
    until [ "$({ cat "$folder"/*.jsonl 2>/dev/null || true; } | wc -l)" -ge 4 ]; do sleep 0.01; done
    case $how in *-one) kill "-${how%-*}" "$sweep" ;; *) kill "-${how%-*}" -- "-$sweep" ;; esac
    status=0
    wait "$sweep" || status=$?
    done_before=$(cat "$folder"/*.jsonl | grep -c '^{"key":"[0-9a-f]*","status":0,.*}$')
    said="$questions questions: $done_before answered, $((questions - done_before)) left"
    [ "$status: $(sed 's/; in .*//' out | head -n 1)" = "1: $said" ] || {
        echo "FAILED: $how: status $status: $(cat out log)"
        exit 1
    }
    "$rehearse" sweep long.json --folder "$folder" --resume -q >out
    [ "$(cat "$folder"/*.jsonl | wc -l)" = "$questions" ] || {
        echo "FAILED: $how: $(cat "$folder"/*.jsonl | wc -l) answers to $questions questions"
        exit 1
    }
done
echo "told to leave by TERM, USR1 and INT: what was under way was ended, nothing was asked twice"
