cat >a.yaml <<'X'
enable_attention_dp: true
kv_cache_config: {dtype: fp8, free_gpu_memory_fraction: 0.8}
X
mpirun -n 1 bash -c "trtllm-serve m --tp_size 8 --config a.yaml"
