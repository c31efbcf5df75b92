#!/usr/bin/env bash
# Logs of training runs beside their predictions, and what is refused.
try() {
    echo "\$ rehearse $*"
    rehearse "$@" 2>&1
    echo "exit $?"
}
job=(-w llama-3.2-1b -p dgx-h100:1 --seq 4096 -s mb2)
for ms in 30000 1010 1000 990 9000 1000 1000; do
    echo "0: [2026-01-01 00:00:01] iteration $((++i))/ 9 | elapsed time per iteration (ms): $ms | global batch size:    64 |"
done >megatron.log
echo '0: [Rank 0] (after 1 iterations) memory (MB) | max allocated: 20480.0 |' >>megatron.log
printf '[rank0]:step:  7  loss:  7.6  memory: 30.00GiB(2.5%%)  tps: 30,000  mfu: 1.0%%\n' >titan.log
printf '[timer.py:264:stop] epoch=0/micro_step=40/global_step=10, CurrSamplesPerSec=64.0, MaxMemAllocated=25.0GB\n' >deepspeed.log
printf ' iteration 1/ 9 | elapsed time per iteration (ms): 9e300 |\n' >odd.log
printf 'completed step: 9, seconds: 0.001, TFLOP/s/device: 257.9\n' >quick.log
try validate --cases megatron.log "${job[@]}"
try validate --cases megatron.log "${job[@]}" --tolerance 1%
rehearse validate --cases megatron.log "${job[@]}" --json | grep -E '"(measured|source|line|memory_peak_measured_bytes)"'
try validate --cases titan.log "${job[@]}" --stack torchtitan --global-batch 64
try validate --cases deepspeed.log "${job[@]}" --stack deepspeed --global-batch 64
try validate --cases quick.log "${job[@]}" --global-batch 64
try validate --cases megatron.log "${job[@]}" --global-batch 32
# What cannot be, and what is of another job.
rehearse validate --cases quick.log "${job[@]}" --global-batch 64 --json | grep -c 'MFU cannot be'
printf '  seq_length ............ 8192\n  world_size ............ 8\n' | cat - megatron.log >said.log
try validate --cases said.log "${job[@]}"
sed 's/(ms): [0-9]*/(ms): -1000/' megatron.log >negative.log
try validate --cases negative.log "${job[@]}"
try validate --cases titan.log "${job[@]}"
try validate --cases megatron.log
try validate --cases odd.log "${job[@]}" --global-batch 64
try check megatron.log titan.log odd.log
# A trace of PyTorch's profiler: where the step goes, beside the prediction.
event() {
    printf '%s{"ph": "X", "cat": "%s", "name": "%s", "ts": %d, "dur": %d, "args": {"device": 0}}' "$comma" "$@"
    comma=$'\n,'
}
{
    echo '{"schemaVersion": 1, "deviceProperties": [], "distributedInfo": {"rank": 2, "world_size": 8}, "traceEvents": ['
    for step in 3 4 5; do
        t=$((step * 600000))
        event gpu_user_annotation "ProfilerStep#$step" $t 590000
        event kernel nvjet_hsh_128x256 $t 300000
        event kernel 'void flash_fwd_kernel' $((t + 300000)) 90000
        event kernel multi_tensor_apply_kernel $((t + 400000)) 120000
        event kernel ncclDevKernel_ReduceScatter_Sum_f32 $((t + 500000)) 50000
    done
    echo ']}'
} | gzip >trace.json.gz
try validate --cases trace.json.gz "${job[@]}" --global-batch 64
try check trace.json.gz
rehearse calibrate --from trace.json.gz "${job[@]}" --global-batch 64 -o scaled.json | sed -n '/^fitted/,/^error/p'
rehearse check scaled.json | head -n 1
zcat trace.json.gz | sed 's/"dur": 90000/"dur": -1/' >wrong.json
try validate --cases wrong.json "${job[@]}" --global-batch 64
try validate --cases trace.json.gz "${job[@]}" --global-batch 64 --gpus 4
# The launch that wrote it says model, layout and job.
cp "$CASES"/inputs/launch/pretrain.sh .
sed 's/batch size:    64/batch size:   128/' megatron.log >large.log
try validate --cases large.log --from pretrain.sh -p dgx-h100:2
try validate --cases megatron.log --from pretrain.sh -p dgx-h100:2
rehearse calibrate --from large.log --from pretrain.sh -p dgx-h100:2 -q 2>&1 | head -n 2
