#!/usr/bin/env bash
# Lower bounds alone: no waits are told, and nothing is called proved.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
rehearse plan -w tiny-llama.json -p two-nodes.json --global-batch 32 --seq 1024 --top 2 --quick
