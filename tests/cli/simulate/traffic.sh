#!/usr/bin/env bash
# Traffic over a step, by link and by rank and kind: what ranks send together is all that is sent.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
for layout in dp8,zero1,mb1 tp4,dp2,mb1 pp2,dp4,zero0,mb1; do
    rehearse simulate -w tiny-llama.json -p two-nodes.json --global-batch 16 --seq 1024 -s "$layout" -o traffic.csv -o run.json -q >answer
    all=$(sed -n 's/^  "communication_bytes": *\([0-9.e+]*\).*/\1/p' run.json)
    awk -F , -v all="$all" '
        NR == 1 { print; next }
        $1 == "rank" { sent[$4] += $3 * $7; sum += $4 == "copy" ? 0 : $3 * $7 }
        $1 == "link" && !($2 in seen) { seen[$2] = 1; links++ }
        $6 <= $5 { print "empty interval" }
        END {
            for (kind in sent) printf "%s: %.2f of all bytes\n", kind, sent[kind] / all | "sort"
            close("sort")
            printf "together %.4f; more than a link: %s\n", sum / all, (links > 1 ? "yes" : "no")
        }' traffic.csv
done
# Links carry three times as much in three steps, as ranks send.
for steps in 1 3; do
    rehearse simulate -w tiny-llama.json -p two-nodes.json --global-batch 16 --seq 1024 -s dp8,zero1,mb1 --steps $steps \
        -o traffic.csv -q >answer
    awk -F , '{ sum[$1] += $7 } END { printf "link %.3f GB, rank %.3f GB\n", sum["link"] / 1e9, sum["rank"] / 1e9 }' traffic.csv
done
