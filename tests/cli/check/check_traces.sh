#!/usr/bin/env bash
# Traces that other programs made, what is missing in them, and texts that are of no kind.
cat >ar.0.json <<'EOF'
[{"id":1,"name":"fc","type":"COMP_NODE","data_deps":[],"ctrl_deps":[],"attr":[{"name":"is_cpu_op","bool_val":false}]},
 {"id":2,"name":"ar","type":"COMM_COLL_NODE","data_deps":[1],"ctrl_deps":[],
  "attr":[{"name":"is_cpu_op","bool_val":false},{"name":"comm_type","int64_val":0},{"name":"comm_size","int64_val":1048576}]}]
EOF
rehearse check ar.0.json
rehearse simulate --program ar.0.json -p dgx-h100:1 --gpus 8 -q | tail -n 2
rehearse simulate --program ar.0.json -p dgx-h100:1 --gpus 8 --json | grep untimed
printf 'num_ranks 1\nrank 0 {\nl1: calc 100\n}\n' >one.goal
rehearse check one.goal
echo '{"traceEvents": []}' >trace.json
rehearse check trace.json 2>&1 || echo "exit $?"
printf 'size(MB)   tavg(usec)\n1 2\n' >bench.txt
rehearse check bench.txt 2>&1 || echo "exit $?"
printf '# a comment\n\ntp4,pp2\n' >layout.txt
rehearse check layout.txt
printf 'tpp4,pp2\n' >layout.txt
rehearse check layout.txt 2>&1 || echo "exit $?"
