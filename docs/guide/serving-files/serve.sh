vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4 --max-model-len 16384 \
    --gpu-memory-utilization 0.88 --max-num-batched-tokens 16384 --max-num-seqs 128
