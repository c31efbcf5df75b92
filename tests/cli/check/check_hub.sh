#!/usr/bin/env bash
# Files that the hub and publishers of weights have beside, or in place of, a config.json.
cat >params.json <<'END'
{"dim": 8192, "multiple_of": 4096, "ffn_dim_multiplier": 1.3, "n_heads": 64, "n_kv_heads": 8,
 "n_layers": 80, "norm_eps": 1e-05, "vocab_size": 128256, "rope_theta": 500000.0}
END
cat >mixture.json <<'END'
{"dim": 4096, "n_layers": 32, "head_dim": 128, "hidden_dim": 14336, "n_heads": 32, "n_kv_heads": 8,
 "vocab_size": 32000, "moe": {"num_experts_per_tok": 2, "num_experts": 8}, "model_type": "transformer"}
END
cat >adapter_config.json <<'END'
{"peft_type": "LORA", "base_model_name_or_path": "meta-llama/Llama-3.1-8B-Instruct", "r": 8,
 "target_modules": ["q_proj", "v_proj", "down_proj", "score"]}
END
echo '{"peft_type": "IA3", "target_modules": "all-linear"}' >other.json
echo '{"peft_type": "LORA", "r": "many"}' >bad.json
cat >model.safetensors.index.json <<'END'
{"metadata": {"total_size": 2147483648}, "weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}
END
cat >wrapper.json <<'END'
{"model_type": "internvl_chat", "vision_config": {"hidden_size": 1024}, "llm_config": {"model_type":
 "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "vocab_size": 151674,
 "num_attention_heads": 28, "num_key_value_heads": 4, "tie_word_embeddings": false}}
END
rehearse check params.json mixture.json adapter_config.json other.json model.safetensors.index.json \
    wrapper.json bad.json 2>&1
echo "exit $?"
# Weights of the same sizes under other names, and in narrower formats.
for id in meta-llama/Llama-3.3-70B-Instruct Qwen/Qwen3-235B-A22B-FP8 nvidia/Llama-3.1-8B-Instruct-FP8; do
    rehearse show workloads $id | head -n 1
done
rehearse serve-simulate -w nvidia/Llama-3.1-8B-Instruct-FP8 -p h100-sxm:1x1 -s tp1 --lengths in=64,out=8 \
    --count 2 --rate 1/s -o served.json 2>&1 | grep note:
