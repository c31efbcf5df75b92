#!/usr/bin/env bash
# Requests from data sets and from what benchmarks wrote.
echo '[{"conversations": [{"from": "human", "value": "What is a rack, and what is in it?"}, {"from": "gpt", "value":
"A frame that holds machines, switches and cables."}]}, {"conversations": [{"from": "human", "value": "And?"}]}]' >talk.json
echo '{"custom_id": "a", "body": {"model": "m", "messages": [{"role": "user", "content": "hello there"}], "max_tokens": 64}}' >batch.jsonl
echo '{"custom_id": "a", "body": {"messages": []}}' >open.jsonl
echo '{"completed": 2, "total_input_tokens": 2048, "total_output_tokens": 256, "input_lens": [1000, 1048], "output_lens": [128, 128]}' >bench.json
echo '{"completed": 2, "total_input_tokens": 2048, "total_output_tokens": 256}' >means.json
printf 'TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-23 00:00:00.5,1,1520,51\n2024-10-23 00:00:01,0,250,44\n' >pictures.csv
printf '[{"conversations": 1} x' >broken.json
run=(-w llama-3.2-1b -p h100-sxm:1x1 -s tp1 --concurrency 2)
for file in talk.json batch.jsonl open.jsonl bench.json means.json pictures.csv broken.json; do
    rehearse serve-simulate "${run[@]}" --requests "$file" 2>&1 | grep -E '^(error|help|note|warning: (col|1 mal)|requests|done|  +each)'
done
rehearse serve-simulate "${run[@]}" --requests talk.json --chars-per-token 2 2>/dev/null | grep -A 2 '^requests'
