#!/usr/bin/env bash
# Every kind of file is told apart by what is in it.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" "$CASES/inputs/layout.txt" .
rehearse check tiny-llama.json two-nodes.json layout.txt
rehearse check tiny-llama.json missing.json --json
echo "exit $?"
# What the tool itself wrote, of every command.
job=(-w tiny-llama.json -p two-nodes.json)
{
    rehearse simulate "${job[@]}" --seq 1024 --global-batch 16 -s layout.txt -o run.json
    rehearse explain run.json -o explained.json
    rehearse compare run.json run.json -o compared.json
    rehearse capacity "${job[@]}" --tokens 20B --seq 1024 --gpus 4..8 --global-batch 64 -q -o capacity.json
    rehearse serve-simulate -w llama-3.2-1b -p h100-sxm:1x1 -s tp1 --lengths in=64,out=8 --count 2 --rate 1/s -o served.json
    rehearse show platforms --json >shown.json
    rehearse check run.json --json >checked.json
    rehearse collective all-reduce -p two-nodes.json --json >measured.json
    rehearse --version --json >versioned.json
} >/dev/null 2>&1
rehearse check ./*ed.json run.json capacity.json shown.json
echo "exit $?"
printf '{"schema": "rehearse.capacity/1"}\n' >hollow.json
printf '{"schema": "rehearse.weather/1"}\n' >weather.json
rehearse check hollow.json weather.json 2>&1
echo "exit $?"
# A pipe gives its text once, and is looked at twice.
mkfifo pipe.json
cat "$CASES/inputs/two-nodes.json" >pipe.json &
rehearse check pipe.json
