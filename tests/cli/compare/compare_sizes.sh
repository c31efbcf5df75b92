#!/usr/bin/env bash
# Results of other sizes: what a token takes, of GPUs, money and energy, and which terms make it so.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
run() {
    rehearse simulate -w tiny-llama.json -p two-nodes.json --seq 1024 -q "$@" >/dev/null
}
run --gpus 8 --global-batch 64 -s 'tp1,mb4' --set price=2USD --set host.power=1kW -o eight.json
run --gpus 4 --global-batch 32 -s 'tp1,mb4' --set price=3USD --set host.power=1kW -o four.json
run --gpus 4 --global-batch 32 -s 'tp2,mb4' -o halves.json
rehearse compare eight.json four.json
rehearse compare eight.json four.json --json | grep -E '"(gpu_s_per_token|tokens_per_(usd|kwh)|terms_of_token)"'
echo 'no price of one of them:'
rehearse compare eight.json halves.json | head -n 2
echo 'of one size:'
rehearse compare four.json halves.json -q --color never | head -n 1
# A file of before there were joules and dollars.
grep -vE '^  "(energy_j|cost_usd)"' four.json >older.json
rehearse compare eight.json older.json | grep -E 'A takes|tok/USD'
