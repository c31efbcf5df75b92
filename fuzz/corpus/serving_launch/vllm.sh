TP=4
vllm serve Qwen/Qwen3-8B -tp $TP --max-model-len=32k --speculative-config '{"num_speculative_tokens": 3}' --no-enable-prefix-caching
