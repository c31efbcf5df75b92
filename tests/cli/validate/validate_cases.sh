#!/usr/bin/env bash
# Published runs beside their predictions: text, JSON that -j does not change, tolerance, and tables
# that are refused.
runs=$CASES/inputs/runs.csv
cp "$runs" runs.csv
rehearse validate --cases runs.csv 2>&1
echo "exit $?"
gzip -c runs.csv >runs.csv.gz
rehearse validate --cases runs.csv --json -j 1 >one.json
rehearse validate --cases runs.csv.gz --json -j 4 | sed 's/runs.csv.gz/runs.csv/' >four.json
cmp one.json four.json && echo 'the same with -j 4, gzipped'
grep -c '"id": "runs.csv:' one.json
rehearse validate --cases runs.csv --only SimuMax --tolerance 0.01% -o simumax.md 2>&1 | tail -n 1
echo "exit ${PIPESTATUS[0]}"
cat simumax.md
rehearse validate --cases runs.csv --only SimuMax --tolerance 0% 2>&1 | tail -n 1
echo "exit ${PIPESTATUS[0]}"
sed 's/gpus,tp/gpsu,tp/' runs.csv >wrong.csv
rehearse validate --cases wrong.csv 2>&1
echo "exit $?"
sed 's/,B200,8,/,B200,eight,/' runs.csv >wrong.csv
rehearse validate --cases wrong.csv 2>&1
echo "exit $?"
printf 'source,model,gpu,gpus,isl,osl\n' >serving.csv
rehearse validate --cases serving.csv 2>&1
echo "exit $?"
# A model that is not known exactly is not taken for another: a name like one of the catalogue's, a family
# whose sizes the row does not say.
{
    echo model,gpu,gpus,seq,global_batch,precision,layers,hidden,heads,measured_iteration_s
    for model in gpt-4 gpt2 gpt-neox-20b mpt-30b grok-1.5 deepseek-v3-lite qwen3-7b llama-3.1-18b Llama-3.1-8B-Instruct; do
        echo "$model,h100-sxm,8,1024,64,bf16,,,,1"
    done
    echo gpt-22b,h100-sxm,8,1024,64,bf16,48,6144,64,1
} >names.csv
rehearse validate --cases names.csv --json 2>/dev/null | sed -nE 's/.*"(skipped|model)": (.*),$/\1 \2/p' | grep -v '^skipped_'
# A record keeps the part that is not judged: that of services, and that of training.
{
    echo source,model,gpu,gpus,tp,precision,isl,osl,batch_or_concurrency,ttft_ms,tpot_ms,note
    echo 'aiconfigurator silicon_sample (InferenceX etc.),meta-llama/Llama-3.1-70B,h100_sxm,8,8,fp8,1024,1024,4,100,8,trtllm 1.0.0rc3'
} >served.csv
rehearse validate --cases served.csv --cross source --record record.json -q 2>&1 | head -n 3
rehearse validate --cases runs.csv --cross source --record record.json >out.txt
grep -A 3 '"serving"' record.json | grep -v made_on
grep -c '"steps": 0' record.json
cp record.json before.json
rehearse validate --cases served.csv --cross source --record record.json >out.txt
cmp before.json record.json && echo same
echo '{"schema": "rehearse.record/1",' >torn.json
rehearse validate --cases runs.csv --cross source --record torn.json 2>&1
echo "exit $?, $(wc -l <torn.json) line"
# Error bars are made of groups that were not seen; a wrong word for groups.
rehearse validate --cases runs.csv --record record.json 2>&1
echo "exit $?"
rehearse validate --cases runs.csv --cross colour 2>&1
echo "exit $?"
rehearse validate --cases published-caches --cross source 2>&1
echo "exit $?"
rehearse validate --cases runs.csv --cross source -q 2>&1 | sed -n '/^Each group/,/^$/p'
rehearse validate --suite mpi-quick --cross source 2>&1
echo "exit $?"
rehearse validate --suite mpi-quick --tolerance 10% 2>&1
echo "exit $?"
rehearse validate --only SimuMax -o scatter.svg 2>&1
echo "exit $?"
grep -c '<circle' scatter.svg
grep '^<title\|<desc' scatter.svg
rehearse validate --suite mpi-quick --run step 2>&1
echo "exit $?"
# Time that is up before any row is judged, and rows that nobody has.
rehearse validate --cases runs.csv --timeout 1ms 2>&1
echo "exit $?"
rehearse validate --cases runs.csv --timeout 1ms --json | grep -E '_count"' | head -n 3
rehearse validate --cases runs.csv --only nonsense 2>&1
echo "exit $?"
