# What launches of trainings are, and what of them is not known.
cp "$CASES"/inputs/launch/* .
rehearse check ./*.sh ./*.toml ./*.y*ml ./*.json
rehearse check --json titan.toml
# torchrun starts one node unless more are said; freezing layers is no LoRA.
printf 'torchrun --nproc_per_node=4 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\\n  --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 \\\n  --micro-batch-size 1 --global-batch-size 16 --bf16\n' >one-node.sh
printf 'model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\nfinetuning_type: freeze\nbf16: true\ncutoff_len: 2048\nper_device_train_batch_size: 1\n' >freeze.yaml
rehearse check ./one-node.sh ./freeze.yaml
