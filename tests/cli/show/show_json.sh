#!/usr/bin/env bash
# What there is as JSON: every name of the lists, the same bytes every time.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
for topic in platforms workloads stacks; do
    rehearse show $topic --json >$topic.json
    rehearse show $topic --json | cmp - $topic.json && echo same
    sed -n 's/^      "name": "\(.*\)",/\1/p' $topic.json >names
    rehearse show $topic | while read -r name _; do
        if grep -qxF -e "$name" names; then echo "$name"; fi
    done | sort -u | cmp - <(sort names) && echo "$topic: every name is in the list"
done
rehearse show platforms two-nodes.json --json --set nodes=4 | grep -v '"version"'
rehearse show workloads tiny-llama.json --json --seq 512 --set layers=2 | grep -v '"version"'
rehearse show strategies --json | grep -v '"version"'
rehearse show strategies tp2,pp2,dp4,stages=3-5 --json | sed -n '/"items"/,$p'
rehearse show stacks bare --json | grep -v '"version"'
