#!/usr/bin/env bash
# Options: unknown, of another command, without a value, of the wrong kind, twice.
try() {
    echo "\$ rehearse $*"
    rehearse "$@" 2>&1
    echo "exit $?"
}
job=(-w llama-3.1-8b -p dgx-h100 --global-batch 16 --seq 4096)
try plan
try plan -w llama-3.1-8b -p dgx-h100 --seq 4096
try simulate -p dgx-h100
try capacity
try plan "${job[@]}" --global-bach 3
try plan "${job[@]}" --steps 3
try plan "${job[@]}" --top
try plan "${job[@]}" --top many
try plan "${job[@]}" --gap 5s
try plan "${job[@]}" --quick=yes
try plan "${job[@]}" --seq 8192
try plan "${job[@]}" --objective speed
try plan "${job[@]}" word
try plan "${job[@]}" -x
try plan "${job[@]}" --fix tq=8
try plan "${job[@]}" --limit 'tp<=many'
try plan "${job[@]}" --fix tp=2,pp=2
try plan "${job[@]}" --fix 'memory<=50%'
try plan "${job[@]}" --limit 'memory>=10%'
try plan "${job[@]}" --limit 'memory=50%'
try plan "${job[@]}" --limit 'memory<=200%'
try plan "${job[@]}" --gap 100
try simulate "${job[@]}" -s tp8 --jitter 5
try plan -w gpt2 -p dgx-h100:1 --global-batch 64 --seq 1025
try plan -w gpt2 -p dgx-h100:1 --global-batch 64 --seq 1025 --fix tp=2
try simulate "${job[@]}" -s tp2,tp4
try simulate "${job[@]}" -s ''
try simulate "${job[@]}" -s tp2,
try plan "${job[@]}" -o plan.svgz
try plan "${job[@]}" -o plan.txt
try plan "${job[@]}" -o nosuch/plan.json
try plan "${job[@]}" --set layers
try plan "${job[@]}" --dtype FP8
try plan "${job[@]}" --set weights=narrow
try capacity -w llama-3.2-1b --tokens 1T --seq 1024 -p dgx-h100 --gpus 8 --price 0USD
try plan "${job[@]}" --set layer=4
try plan "${job[@]}" --set tp=4
try plan "${job[@]}" --batch 64
try plan "${job[@]}" --set sequ=4
try plan "${job[@]}" --set nodse=4
try plan "${job[@]}" --set dtpye=fp8
try plan "${job[@]}" --set nic.count=4
try plan "${job[@]}" --set seq=4
try plan "${job[@]}" --set nic.bandwidth=50
try plan "${job[@]}" --set global_batch=32
try plan "${job[@]}" --set job.gpus=many
try plan "${job[@]}" --gpus 4 --set job.gpus=8
try plan "${job[@]}" --set attention_dropout=1e12
try simulate "${job[@]}" -s zero3,shard1
try simulate "${job[@]}" -s zero3,shard2,hpz4
try plan "${job[@]}" --set layers=4 --set model.layers=8
ls
try plan "${job[@]}" -s tp8
try simulate -w llama-3.2-1b -p dgx-h100:2048 --global-batch 16384 --seq 1024 -s tp1 --unfolded
# Settings in any order, and such as are possible only together; which micro-batches these replicas have; names that begin so.
sized() { rehearse simulate -w llama-3.1-8b -p dgx-h100 --global-batch 8 --seq 2048 -s tp1,zero3 -q --json "$@" 2>&1 | sed -n '/^error/p;/^help/p;s/^  "model_flops_per_s_per_gpu"/&/p' | cut -c1-100; }
sized --set hidden=5120 --set heads=40 | cmp - <(sized --set heads=40 --set hidden=5120) && echo 'in any order'
sized --set heads=27 --set hidden=3456 --set kv_heads=27 | cut -d: -f1
sized --set heads=27 --set hidden=3457
sized --set hidden=5121 --set heads=40
sized --set heads=40
sized --set gpus_per_node=4 --set nics_per_node=4 | cut -d: -f1
sized --set heads=40 --set heads=32 --set hidden=5120
try simulate -w llama-3.2-1b -p dgx-h100 --global-batch 64 --seq 1024 -s mb128
try simulate -w llama-3.2-1b -p a100-80 --global-batch 64 --seq 1024 -s mb1
try simulate -w llama-3.2-1b -p dgx-h100 --lora 16 --global-batch 64 --seq 1024 -s mb1
try simulate -w llama-3.2-1b -p dgx-h100 --dtype nf4 --global-batch 64 --seq 1024 -s mb1
try plan -w llama-3.2-1b -p h100:8x1 --global-batch 64 --seq 1024
try capacity -w llama-3.1-8b -p dgx-h100,dgx-a100 --budget '3M$'
for limit in 80 80%; do rehearse plan -w llama-3.2-1b -p dgx-h100 --global-batch 8 --seq 1024 -q --limit "memory<=$limit" | head -n 2; done
