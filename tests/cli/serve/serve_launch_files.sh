#!/usr/bin/env bash
# Files that start servers are deployments: scripts, lines of docker run, manifests, configuration files.
cat >serve.sh <<'END'
pip install vllm==0.10.1
vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4 --max-model-len 16k \
    --gpu-memory-utilization 0.88 --max-num-batched-tokens=16384 --max-num-seqs 128 --port 8000 \
    --kv-cache-dtype fp8 --no-enable-prefix-caching --swap-space 4 --warp-factor 9 \
    --speculative-config '{"method": "eagle3", "num_speculative_tokens": 3}'
END
cat >sglang.sh <<'END'
docker run --gpus all -v /data:/data lmsysorg/sglang:v0.5.6 python3 -m sglang.launch_server \
    --model-path deepseek-ai/DeepSeek-R1 --tp 8 --dp 8 --enable-dp-attention --max-running-requests 512 \
    --chunked-prefill-size 32768 --mem-fraction-static 0.85 --schedule-policy lpm
END
cat >trtllm.sh <<'END'
cat >extra.yaml <<'YAML'
enable_attention_dp: true
kv_cache_config: {dtype: fp8, free_gpu_memory_fraction: 0.8, enable_block_reuse: false}
stream_interval: 10
YAML
mpirun -n 1 trtllm-serve nvidia/DeepSeek-R1-FP4 --tp_size 8 --ep_size 8 --extra_llm_api_options extra.yaml
END
cat >pod.yaml <<'END'
kind: Deployment
spec:
  containers:
    - image: vllm/vllm-openai:v0.7.3
      args: ["--model", "Qwen/Qwen2.5-32B-Instruct", "--tensor-parallel-size", "2", "--enforce-eager"]
---
kind: Service
END
cat >compose.yml <<'END'
services:
  llm: {image: "vllm/vllm-openai:v0.11.0", command: "--model Qwen/Qwen3-8B --max-num-seqs 32"}
END
echo 'kv-cache-dtype: fp8
no-enable-prefix-caching: true
max-num-batched-tokens: 8192' >config.yaml
cat >pools.sh <<'END'
python -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 2 --disaggregation-mode prefill &
python -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 4 --disaggregation-mode decode &
END
echo 'vllm serve Qwen/Qwen3-8B --max-num-seqs many' >wrong.sh
cat >open.sh <<'END'
vllm serve $MODEL --tensor-parallel-size $TP
END
rehearse check serve.sh sglang.sh trtllm.sh pod.yaml compose.yml config.yaml pools.sh open.sh
echo "exit $?"
run=(-p dgx-h100 --lengths 'in=512,out=32' --rate 1/s --count 20)
rehearse serve-simulate --from serve.sh "${run[@]}" 2>&1 | sed -n '/^note/p; /^llama/,/^$/p'
rehearse serve-simulate --from serve.sh -s tp8,server=vllm --dtype fp8 "${run[@]}" 2>/dev/null | sed -n '/^llama/,/^$/p'
rehearse serve-simulate --from 'pools.sh#2' "${run[@]}" 2>/dev/null | sed -n '/^qwen/,/^$/p'
for file in wrong.sh open.sh config.yaml missing.sh 'serve.sh#2'; do
    rehearse serve-simulate --from "$file" "${run[@]}" 2>&1 >/dev/null | head -n 4
    echo "exit ${PIPESTATUS[0]}"
done
# What serve-plan prints is read back.
rehearse serve-plan -w llama-3.1-8b -p dgx-h100 --gpus 1 --rate 2/s --lengths in=512,out=32 --count 2000 \
    --ttft 'p99<2s' --emit vllm -q 2>/dev/null | sed -n '/^# 1 server/,$p' >best.sh
rehearse check best.sh
