#!/usr/bin/env bash
# Files of other tools: what they are, and what stands for them here.
try() {
    rehearse check "$1" 2>&1 || echo "exit $?"
}
echo '{"schema": "1.1.1-chakra", "nodes": [{"id": 1, "name": "[pytorch|profiler|execution_trace|process]"}]}' >et.json
try et.json
echo 'HYBRID_TRANSFORMER model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 8 ga: 1 all_gpus: 16' >simai.txt
try simai.txt
printf 'size(MB)   tavg(usec)   tmin(usec)   tmax(usec)  avgbw(GB/sec)\n1.00 121.5 116.5 151.2 14.41\n' >ibm.txt
try ibm.txt
printf 'compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n' >accelerate.yaml
try accelerate.yaml
echo '01:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)' >lspci.txt
try lspci.txt
echo '{"nvbandwidth": {"testcases": []}}' >nvbandwidth.json
try nvbandwidth.json
# Conversations a line, one without an answer among them.
printf '{"conversations": [{"from": "human", "value": "one two"}, {"from": "gpt", "value": "three"}]}\n{"conversations": []}\n' >talks.jsonl
try talks.jsonl
