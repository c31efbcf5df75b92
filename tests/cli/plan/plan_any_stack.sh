#!/usr/bin/env bash
# Every framework's space at its own costs: which runs the winner, and the best of each.
job=(-w "$CASES/inputs/tiny-llama.json" -p dgx-h100:1 --global-batch 32 --seq 1024 --stack any --top 2)
rehearse plan "${job[@]}" --fix tp=1 --fix pp=1 | sed -n '/^best/,/^why/p'
# None of the two others runs this.
rehearse plan "${job[@]}" --fix tp=2 --fix zero=1 --emit slurm | grep -E -A 2 '^runs in|^# launch|^#SBATCH --nodes'
rehearse plan "${job[@]}" --fix tp=2 --fix zero=1 --json | sed -n '/"frameworks"/,/^  \]/p'
rehearse plan -w "$CASES/inputs/tiny-llama.json" -p dgx-h100:1 --global-batch 32 --seq 1024 --stack bare --top 1 --emit slurm >/dev/null
echo exit $?
# A plan of one stack that another framework refuses: no flag of the user's is to blame, the stack is.
rehearse plan "${job[@]}" --fix tp=1 --fix pp=1 --fix zero=2 --emit maxtext 2>&1 >/dev/null | grep -v '^note: AI'
