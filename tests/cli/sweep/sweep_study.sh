#!/usr/bin/env bash
# A study: asked whole, in parts and by several workers, ended, resumed, merged; and its mistakes.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
cat >study.json <<'END'
{"schema": "rehearse.study/1", "command": "simulate",
 "options": {"workload": "tiny-llama.json", "platform": "two-nodes.json", "seq": "1k",
             "strategy": "tp{tp},pp{pp},mb1"},
 "axes": [{"global-batch": [64, 128]}, {"tp": [1, 2, 3]}, {"pp": {"from": 1, "to": 4, "times": 2}}],
 "where": ["tp * pp < 8"], "except": [{"global-batch": 128, "tp": 3}],
 "columns": ["step_time_s", "fits", "costs.*_s"]}
END
timeless() { sed -E 's/in [0-9.]+ m?s$/in TIME/'; }
echo '$ rehearse sweep study.json'
rehearse sweep study.json -j 1 --no-progress | timeless
echo "exit ${PIPESTATUS[0]}"
rehearse sweep merge study.json -o one.csv -o one.jsonl
cut -d, -f1-7 one.csv
sed -n 1p one.jsonl
echo '$ answers are those of the command'
rehearse simulate --workload=tiny-llama.json --platform=two-nodes.json --seq=1k --strategy=tp1,pp1,mb1 \
    --global-batch=64 --json >alone.json
grep -h 'strategy=tp1,pp1,mb1 --global-batch=64"' study.sweep/*.jsonl | sed 's/^.*,"answer"://; s/}$//' >swept.json
tr -d ' \n' <alone.json >alone.txt
tr -d ' \n' <swept.json | cmp - alone.txt && echo 'the same'
echo '$ again'
rehearse sweep study.json
echo "exit $?"
rehearse sweep study.json --resume | timeless
echo '$ in parts'
for n in 1 2 3 7; do
    for k in $(seq "$n"); do
        rehearse sweep study.json --folder "parts$n" --shard "$k/$n" -j 2 -q >/dev/null
    done
    rehearse sweep merge study.json --folder "parts$n" >"parts$n.csv"
    cmp one.csv "parts$n.csv" && echo "$n parts: the same bytes"
done
OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 rehearse sweep study.json --folder ranks 2>ranks.txt >/dev/null
cat ranks.txt
rehearse sweep merge study.json --folder ranks >part.csv
echo "exit $?"
echo '$ what failed'
rehearse sweep study.json --retry failed 2>&1 | timeless
echo '$ looked at'
rehearse sweep sensitivity study.json
sed 's/"seq": "1k"/"seq": "2k"/' study.json >longer.json
rehearse sweep longer.json -q >longer.txt
rehearse sweep compare study.json longer.json
sed 's/"axes": \[/"axes": [{"seed": [1, 2]}, /' study.json >seeds.json
rehearse sweep seeds.json -q >seeds.txt
rehearse sweep compare study.json seeds.json
rehearse sweep merge study.json -o study.html -o table.json
sed -n 's/^<h1 [^>]*>\(.*\)<.h1>.*/\1/p' study.html
sed -n '/id="data">/,/<\/script>/p' study.html | sed 's/^<script[^>]*>//; s/<.script>//; s/\\u003c/</g' |
    sed '$d' | cmp - table.json && echo 'what table.json holds'
rehearse sweep study.json --emit slurm --shard 1/8
echo '$ mistakes'
try() {
    printf '{"schema": "rehearse.study/1",\n %s}\n' "$1" >wrong.json
    rehearse sweep wrong.json 2>&1
    echo "exit $?"
}
try '"command": "explain", "axes": []'
try '"command": "simulate", "axes": [{"sq": [1]}]'
try '"command": "simulate", "options": {"workload": "x", "platform": "y", "global-batch": 1, "strategy": "tp{t}"},
 "axes": [{"seq": [1, "many"]}]'
try '"command": "simulate", "options": {"workload": "x", "platform": "y", "global-batch": 1},
 "axes": [{"seq": [1, "many"]}]'
rehearse sweep 2>&1
rehearse sweep study.json --shard 3/2 2>&1
rehearse sweep study.json --retry all 2>&1
rehearse sweep --template >mine.json
rehearse sweep mine.json --shard 1/1000 --no-progress | timeless
rehearse sweep study.json --folder /proc/nowhere -j 2 -q 2>&1
echo "exit $?"
