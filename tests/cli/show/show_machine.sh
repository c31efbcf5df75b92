#!/usr/bin/env bash
# A platform from what tools print: a DGX H100 in a Slurm list, a box of PCIe cards in a hostfile, V100s whose NVLinks are a mesh.
cp "$CASES"/inputs/machine/* .
rehearse show platforms --from-machine dgx-topo.txt dgx-gpus.csv nodes.slurm
echo "exit $?"
rehearse show platforms --from-machine dgx-topo.txt dgx-gpus.csv nodes.slurm -o dgx.json
rehearse show platforms --from-machine box-topo.txt box-query.txt box.xml hostfile -o box.json
cat box.json
rehearse check dgx.json box.json
for machine in dgx.json box.json; do
    rehearse plan -w llama-3.2-1b -p $machine --global-batch 64 --seq 2048 --quick --top 1 | head -n 1 | cut -d: -f1
done
rehearse show platforms --from-machine dgx1-topo.txt v100-gpus.csv -o mesh.json
head -n 5 v100-gpus.csv >four.csv
rehearse show platforms --from-machine c4140-topo.txt four.csv -o four.json
for file in mesh.json four.json; do
    rehearse check $file
    rehearse show platforms $file | sed -n '/links between/,$p'
done
try() {
    echo "\$ rehearse $*"
    rehearse "$@" 2>&1
    echo "exit $?"
}
printf 'name, memory.total [MiB]\nNVIDIA K80, 12000 MiB\n' >old.csv
printf 'name\nNVIDIA H200 NVL\n' >nvl.csv
printf 'name\nNVIDIA L4\nNVIDIA L40S\n' >unlike.csv
printf 'gpu[01-16\n' >open.slurm
printf 'gpu[16-01]\n' >back.slurm
printf '<topology version="2.0"><object></topology>\n' >broken.xml
sed 's/NV18/NVL/' dgx-topo.txt >odd.txt
for file in old.csv nvl.csv unlike.csv open.slurm back.slurm broken.xml odd.txt nodes.slurm; do
    try show platforms --from-machine $file
done
try show devices --from-machine nodes.slurm
try show platforms dgx-h100 dgx-h200
# Networks: Slurm's switches and blocks, NCCL's topology, and what `check` says of such files.
printf 'name, memory.total [MiB]\nNVIDIA GB200, 189471 MiB\nNVIDIA GB200, 189471 MiB\n' >tray.csv
printf 'BlockName=r1 Nodes=g[01-18]\nBlockName=r2 Nodes=g[19-36]\nBlockSizes=18\n' >blocks.conf
printf 'SwitchName=a Nodes=c[01-20]\nSwitchName=b Nodes=c[21-40]\nSwitchName=r Switches=a,b\n' >tree.conf
printf 'SwitchName=a Nodes=c[01-\n' >cut.conf
for file in tray.csv "tray.csv blocks.conf" "dgx-gpus.csv tree.conf" "$CASES/../../fuzz/corpus/machine/nccl-xml" tree.conf cut.conf; do
    # shellcheck disable=SC2086 # words
    try show platforms --from-machine $file
done
try check tray.csv blocks.conf dgx-topo.txt cut.conf "$CASES/../../fuzz/corpus/link_benchmark_logs/perftest"
