#!/usr/bin/env bash
# What --set refuses, files and lines refuse too; and what changes nothing is said to.
data=${REHEARSE_DATA:-$CASES/../..}/platforms/data
job=(-w llama-3.2-1b --global-batch 8 --seq 512 -s "tp1,mb1")
sed 's/"bf16": {"value": 0.85,/"bf16": {"value": 65,/' "$data/devices/h200-sxm.json" >device.json
sed -z 's/"efficiency": {\s*"value": [^,]*,/"efficiency": {"value": 65,/' "$data/clusters/dgx-h200.json" >platform.json
sed 's/"hbm": {"value": "[^"]*"/"hbm": {"value": "0B"/' "$data/devices/h200-sxm.json" >empty.json
cat >profile.json <<END
{"schema": "rehearse.profile/1", "facts": {
  "nic.efficiency": {"value": 65, "tag": "measured", "source": "a slip"}}}
END
rehearse check device.json platform.json empty.json 2>&1
echo "exit $?"
try() {
    echo "\$ rehearse simulate ... $*"
    rehearse simulate "${job[@]}" "$@" 2>&1 | sed -n 1,3p
    echo "exit ${PIPESTATUS[0]}"
}
try -p dgx-h200 --gpus 1 --set nic.efficiency=65
try -p dgx-h200 --gpus 1 --set device.gemm.bf16=65
try -p dgx-h200 --gpus 1 --set nvlink.bandwidth=1e300GB/s
try -p dgx-h200 --gpus 1 --set nic.latency=1e9s
try -p h100-sxm:8x2,ib:1e300Gb/s
try -p h100-sxm:8x2,leaf:2,oversub:0.5
try -p dgx-h200 --gpus 1 --profile profile.json
warned() {
    rehearse simulate "${job[@]}" "$@" 2>&1 >/dev/null | grep '^warning'
}
warned -p dgx-h200 --gpus 1 --set nic.efficiency=0.9 --set host.bandwidth=1GB/s --set messages.noise=1us
warned -p dgx-h200 --gpus 1 --set nic.efficiency=0.9 --stack bare
warned -p lab-star --gpus 1 --set messages.noise=1us --stack lab
# A GPU performs one rank.
rehearse simulate "${job[@]}" -p dgx-h200 --gpus 2 -o two.program.json >/dev/null
sed 's/"ranks":2,/"ranks":2,"gpu_of_rank":[3,3],/' two.program.json >one.program.json
rehearse check one.program.json 2>&1 | sed -n 1,2p
# A host at rest: 0 W said is 0 W; more than at work is a mistake, wherever it is said.
node() {
    rehearse simulate "${job[@]}" -p dgx-h100 --gpus 8 --set host.power=1kW "$@" 2>&1 |
        sed -n 's/.* \([0-9.]* kW\) a node.*/\1 a node/p; /^error:/p'
}
node
node --set host.idle_power=1kW
node --set host.idle_power=0W
echo '{"derives": "dgx-h100", "name": "low",
 "host": {"power": {"value": "1kW", "tag": "assumed", "source": "a test"}}}' >low.json
rehearse check low.json 2>&1
echo "exit $?"
# What is read for two purposes is wrong once.
sed 's/"intermediate_size": [0-9]*/"intermediate_size": ["x"]/; s/"num_hidden_layers": [0-9]*/"num_hidden_layers": 1/' \
    "$CASES/inputs/tiny-llama.json" >list.json
rehearse check list.json 2>&1 | grep -c '^error: value'
