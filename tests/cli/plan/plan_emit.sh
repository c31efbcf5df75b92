#!/usr/bin/env bash
# What to type: the first row that the framework can run, and why not those before it.
job=(-w "$CASES/inputs/tiny-llama.json" -p dgx-h100:1 --global-batch 32 --seq 128)
rehearse plan "${job[@]}" --fix tp=2 --fix pp=2 --fix vpp=1 --fix mb=4 --fix zero=1 --fix sp=on \
    --fix recompute=full --fix schedule=1f1b --fix order=tp-pp-dp --emit megatron |
    sed -n '/^# launch #1/,$p'
rehearse plan "${job[@]}" --fix tp=2 --fix pp=2 --limit 'zero>=1' --stack bare --top 20 --emit megatron |
    grep -A 5 '^#1 is not launched'
rehearse plan "${job[@]}" --fix pp=4 --fix zero=2 --stack bare --emit megatron >/dev/null
echo exit $?
rehearse plan "${job[@]}" --fix pp=4 --fix zero=2 --stack bare --top 1 --json |
    sed -n '/"launch/,/}/p'
# Files beside, and a script for sbatch.
rehearse plan "${job[@]}" --fix dp=8 --fix zero=3 --fix recompute=none --stack bare --emit torchtitan+slurm | sed -n '/^#!/,$p'
rehearse plan "${job[@]}" --fix dp=8 --fix zero=3 --fix recompute=none --stack bare --emit deepspeed | sed -n '/^# launch #1/,$p'
rehearse plan "${job[@]}" --fix tp=2 --stack megatron-bridge --emit slurm | sed -n '/^#!/,$p'
# What the stack cannot run is not planned at all, nor simulated.
rehearse plan "${job[@]}" --fix pp=4 --fix zero=2 >/dev/null
echo exit $?
rehearse simulate "${job[@]}" -s pp4,dp2,zero2 >/dev/null
echo exit $?
# All from the heading on is pasted into a shell, where torchrun and python3 count their words.
mkdir stubs
cat >stubs/torchrun <<'END'
#!/bin/sh
echo "${0##*/} $# words"
END
chmod +x stubs/torchrun
cp stubs/torchrun stubs/python3
for framework in megatron torchtitan deepspeed nemo maxtext; do
    rehearse plan "${job[@]}" --fix dp=8 --fix zero=3 --stack any --top 1 -q --emit "$framework" >said 2>/dev/null ||
        rehearse plan "${job[@]}" --fix dp=8 --stack bare --top 20 -q --emit "$framework" >said
    sed -n '/^# launch #/,$p' said >pasted
    [ -s pasted ] || echo "$framework: nothing to paste"
    mkdir -p "in-$framework"
    (cd "in-$framework" && NODE_RANK=0 MASTER_ADDR=x TOKENIZER=t DATA=d ITERATIONS=1 LEARNING_RATE=1e-4 \
        PATH=$PWD/../stubs:$PATH bash -e ../pasted >out 2>&1; echo "$framework: exit $?, $(tail -n 1 out)")
done
