#!/usr/bin/env bash
# A launch as people write them: groups of flags in arrays, sizes from the environment.
#SBATCH --nodes=2
GPUS_PER_NODE=8
NUM_NODES=${SLURM_JOB_NUM_NODES:-2}
MICRO=1

DISTRIBUTED=(
    --nproc_per_node "$GPUS_PER_NODE"
    --nnodes "$NUM_NODES"
)
MODEL=(
    --num-layers 32 --hidden-size 4096 # of eight billion parameters
    --ffn-hidden-size 14336
    --num-attention-heads 32 --group-query-attention --num-query-groups 8
    --seq-length 8192 --max-position-embeddings 131072
    --position-embedding-type rope --rotary-base 500000
    --swiglu --normalization RMSNorm --disable-bias-linear
    --untie-embeddings-and-output-weights
)
TRAINING=(--micro-batch-size "$MICRO" --global-batch-size $((MICRO * 128)) --bf16 --lr 3e-4)
PARALLEL=(--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --sequence-parallel
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather)
if [ -n "$RECOMPUTE" ]; then
    PARALLEL+=(--recompute-granularity full --recompute-method uniform --recompute-num-layers 1)
fi

torchrun "${DISTRIBUTED[@]}" pretrain_gpt.py "${MODEL[@]}" "${TRAINING[@]}" "${PARALLEL[@]}" \
    --data-path "$DATA" --frobnicate-gradients 3 --main-grads-dtype "$GRADS" "$@"
