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
