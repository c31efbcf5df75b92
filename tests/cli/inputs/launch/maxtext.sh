python3 -m MaxText.train MaxText/configs/base.yml model_name=llama3.1-8b per_device_batch_size=2 \
    max_target_length=8192 ici_fsdp_parallelism=4 ici_tensor_parallelism=2 dcn_data_parallelism=2 \
    remat_policy=full steps=10
