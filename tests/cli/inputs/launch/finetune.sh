deepspeed --num_nodes 1 --num_gpus 8 train.py --deepspeed ds_config.json \
    --model_name_or_path meta-llama/Llama-3.1-8B --gradient_checkpointing True --max_seq_length 4096
