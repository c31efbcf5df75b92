#!/usr/bin/env bash
MODEL=(--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
    --group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm
    --position-embedding-type rope --disable-bias-linear --untie-embeddings-and-output-weights
    --seq-length 8192 --max-position-embeddings 8192)
LAYOUT=(--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --sequence-parallel
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather)
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py "${MODEL[@]}" "${LAYOUT[@]}" \
    --micro-batch-size 1 --global-batch-size 128 --bf16 --frobnicate 3 --lr 3e-4
