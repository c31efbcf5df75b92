#!/usr/bin/env bash
# Too many GPUs for a batch: they wait for longer than they work, and the plan says so. More to do, and it does not.
cp "$CASES/inputs/tiny-llama.json" .
rehearse plan -w tiny-llama.json -p llama3-roce:8 --global-batch 64 --seq 64 -q | grep -A 2 '^warning' | grep -c 'few for'
rehearse plan -w llama-3.2-1b -p llama3-roce:1 --global-batch 512 --seq 4096 -q | grep -A 2 '^warning' | grep -c 'few for' || true
