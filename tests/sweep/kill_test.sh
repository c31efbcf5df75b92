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
# Processes of a sweep: itself, its workers and their rehearsals.
family() {
    local pid
    for pid in "$@"; do
        echo "$pid"
        # shellcheck disable=SC2046 # numbers
        family $(pgrep -P "$pid" || true)
    done
}

RANDOM=7
done_kills=0
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
        mapfile -t alive < <(family "$sweep")
        victim=$((RANDOM % 5 < 1 || ${#alive[@]} < 2 ? 0 : 1 + RANDOM % (${#alive[@]} - 1)))
        kill -9 "${alive[victim]}" 2>/dev/null || continue
        done_kills=$((done_kills + 1))
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
echo "$kills kills in $passes sweeps of $questions questions: the same table; $asked answers in the last sweep's journals"
