#!/usr/bin/env bash
# Clients that give up and servers that fail: text, JSON, CSV, the same bytes again; what says nothing.
on=(-w llama-3.1-8b -p dgx-h100:1 -s "tp1,replicas=2" --lengths "in=1024,out=128,spread=0.8" --rate 20/s -q)
rehearse serve-simulate "${on[@]}" --count 2000 --fail 0@30s --ttft-timeout 10s --ttft 'p99<2s' -o a.json -o a.csv
echo "exit $?"
sed -n '/"timed_out_count"/,/"resent_count"/p; /"tokens_lost_count"/p; /"prompt_tokens_lost_count"/p; /"failures": {/,/}/p' a.json
head -n 1 a.csv
awk -F, 'NR > 1 && $(NF - 2) > 0 { n++; made += $(NF - 1); read += $NF }
    END { print n, "sent again,", read, "tokens read and", made, "made in vain" }' a.csv
# Lost where nobody sends again; both servers away at once: who waits gives up.
rehearse serve-simulate "${on[@]}" --count 1000 --mtbf 20s --restart 5s --retries 0 -o b.csv | sed -n '/^done/,/^energy/p'
rehearse serve-simulate "${on[@]}" --count 1000 --fail 0@10s,1@12s --restart 20s --ttft-timeout 5s --e2e-timeout 1min | sed -n '/^done/,/^energy/p'
cut -d, -f6 b.csv | sort | uniq -c | sed 's/^ *//'
rehearse serve-simulate "${on[@]}" --count 1000 --mtbf 20s --restart 5s --retries 0 -o c.csv >/dev/null
cmp b.csv c.csv && echo same
rehearse serve-simulate "${on[@]}" --count 1000 --mtbf 20s --restart 5s --retries 0 --seed 2 -o c.csv >/dev/null
cmp -s b.csv c.csv || echo another
try() {
    echo "\$ $*"
    rehearse serve-simulate "${on[@]}" --count 10 "$@" 2>&1
    echo "exit $?"
}
try --fail 30s
try --fail 0@30
try --fail 2@30s
try --retries 2
try --restart 2min
try --mtbf 0s
try --fail 0@1s -o x.program.json
# More comes than is served, however soon clients give up: the exit status is 1.
for patience in --e2e-timeout=30s --ttft-timeout=200ms; do
    rehearse serve-simulate -w llama-3.1-8b -p dgx-h100 -s tp1 --lengths in=1024,out=256 --rate 60/s --count 4000 "$patience" -q -o late.json |
        sed -n '1,3p'
    echo "exit ${PIPESTATUS[0]}"
    grep -e '"overloaded"' -e '"steady"' late.json
done
