#!/usr/bin/env bash
# --stack takes a file: what differs from a stack of the catalogue, each figure with its source.
write() { printf '%s\n' "$2" >"$1.json"; }
job=(-w gpt2 -p dgx-a100:1 --global-batch 8 --seq 128)
try() {
    echo "\$ rehearse $*"
    rehearse "$@" -q 2>&1 | head -12
    echo "exit ${PIPESTATUS[0]}"
}
write mine '{"name": "mine", "derives": "megatron", "about": "our trainer: a longer gap after each kernel",
  "kernel_gap": {"value": "40us", "tag": "measured", "source": "a trace of our job", "date": "2026-11"},
  "zero_unstaged": {"value": [], "source": "our ZeRO-2 runs with pipeline stages"}}'
rehearse show stacks mine.json -v | sed -n '1,/a trace/p; /^framework/p'
gap() {
    rehearse simulate "${job[@]}" -s dp8,mb1 --stack "$1" --json -q >run.json
    sed -n 's/.*"stack": "\(.*\)".*/stack \1/p' run.json
}
gap mine.json
rehearse simulate "${job[@]}" -s dp8,mb1 --stack ./mine.json -v -q | grep -A1 '^constants of'
# It starts what the stack starts that it derives from.
rehearse plan "${job[@]}" --stack mine.json --emit slurm --quick -q | grep -o 'with Megatron-LM [^ ]*'
# Files that cannot be.
write mistaken '{"name": "mistaken", "derives": "megatorn", "about": "one that is not there"}'
write taken '{"name": "bare", "derives": "bare", "about": "a name of the catalogue"}'
write unmarked '{"name": "unmarked", "derives": "bare", "about": "a figure alone",
  "kernel_gap": "4us", "schedules": {"value": ["1f2b"], "source": "a test"},
  "fused_nroms": {"value": true, "source": "a test"}}'
write alone '{"name": "alone", "about": "derives from none", "framework": "megatrn"}'
for name in mistaken taken unmarked alone absent; do
    echo "\$ --stack $name.json"
    rehearse simulate "${job[@]}" -s dp8 --stack "$name.json" -q 2>&1 | head -28
    echo "exit ${PIPESTATUS[0]}"
done
