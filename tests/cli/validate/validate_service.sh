#!/usr/bin/env bash
# What a benchmark of a server measured, beside the prediction of the deployment that a launch file says.
cat >result.json <<'END'
{"model_id": "meta-llama/Llama-3.1-8B-Instruct", "tokenizer_id": "x", "request_rate": "inf", "max_concurrency": 16,
 "completed": 64, "total_input_tokens": 65536, "total_output_tokens": 8192, "output_throughput": 1500.0,
 "request_throughput": 11.7, "mean_ttft_ms": 60.0, "p99_ttft_ms": 90.0, "mean_tpot_ms": 8.0}
END
echo '{"mean_ttft_ms": 5, "completed": 2, "total_input_tokens": 20, "total_output_tokens": 20}' >silent.json
echo 'vllm serve meta-llama/Llama-3.1-8B-Instruct --max-num-seqs 64' >serve.sh
rehearse validate --cases result.json -p h100-sxm:1x1 --from serve.sh
echo "exit $?"
rehearse validate --cases result.json -p h100-sxm:1x1 -s tp1 --tolerance 0.001% 2>&1 | grep -c '^missed'
rehearse validate --cases result.json -p h100-sxm:1x1 -s tp1 --json | grep '"metric"'
rehearse validate --cases result.json 2>&1
echo "exit $?"
rehearse validate --cases silent.json -p h100-sxm:1x1 -s tp1 -w llama-3.1-8b 2>&1
echo "exit $?"
# What no benchmark can have measured.
sed 's/"completed": 64/"completed": 0/' result.json >none.json
sed 's/"mean_tpot_ms": 8.0/"mean_tpot_ms": -8.0/' result.json >negative.json
sed 's/"output_throughput": 1500.0/"output_throughput": 15000.0/' result.json >other.json
for file in none negative other; do
    rehearse validate --cases $file.json -p h100-sxm:1x1 -s tp1 2>&1 | grep -A2 -E '^(error|finding)'
    echo "exit ${PIPESTATUS[0]}"
done
rehearse check result.json
