#!/usr/bin/env bash
# Kernels that send tokens to experts: constants from tables of their times, and the same tables judged.
{
    echo framework,version,device,op_name,kernel_source,node_num,hidden_size,num_token,num_topk,num_experts,combine_avg_t_us,combine_bandwidth_gbps,dispatch_avg_t_us,dispatch_bandwidth_gbps
    awk 'BEGIN {
        for (nodes = 1; nodes <= 4; nodes *= 2)
            for (tokens = 1; tokens <= 2048; tokens *= 2) {
                ranks = 8 * nodes
                copies = tokens * 8 / ranks
                out = copies * (ranks - 8)
                there = 15 + (nodes > 1) * 20 + 1e6 * (out ? out * 7392 / 45e9 : copies * 7 * 7392 / 270e9)
                back = 18 + (nodes > 1) * 25 + 1e6 * (out ? out * 14336 / 40e9 : copies * 7 * 14336 / 250e9)
                printf "x,1,NVIDIA H100,ll,deepep,%d,7168,%d,8,256,%.6f,1,%.6f,1\n", nodes, tokens, back, there
            }
    }'
} >ll.csv
rehearse calibrate --from ll.csv 2>&1
echo "exit $?"
rehearse calibrate --from ll.csv --holdout 0% -o fit.json -q | sed -n 1p
sed -n 's/^ *"\(a2a_backend\|way\|base\|inter\|nic\|peer\)":.*/\1/p' fit.json | tr '\n' ' '
echo
gzip -k ll.csv
rehearse calibrate --from ll.csv.gz --from ll.csv --json | grep -c '"value"'
rehearse validate --cases ll.csv -q 2>&1 | head -n 5
sed 's/,64,8,256/,64,8,many/' ll.csv >wrong.csv
rehearse calibrate --from wrong.csv 2>&1
echo "exit $?"
sed 's/,deepep,/,own,/' ll.csv >unknown.csv
rehearse calibrate --from unknown.csv 2>&1
echo "exit $?"
printf '1,2\n' >pings.csv
rehearse calibrate --from ll.csv --from pings.csv 2>&1
echo "exit $?"
rehearse calibrate --from ll.csv --timeout 1ms 2>&1 | tail -n 2
