#!/usr/bin/env bash
# What a file or a word says reaches no terminal and no other file but as text of one line.
try() {
    rehearse "$@" 2>&1 | cat -v
    echo "exit ${PIPESTATUS[0]}"
}
data=${REHEARSE_DATA:-$CASES/../..}/platforms/data
job=(-w llama-3.2-1b --global-batch 8 --seq 512 -s "tp2,mb1" --gpus 2)
sed 's/"name": "dgx-h100"/"name": "dgx\\u001b[2J\\nlink r0 s0 1"/' "$data/clusters/dgx-h100.json" >esc.json
sed 's/"name": "lab-star"/"name": "lab\\nlink r0 r1 1 1 1"/' "$data/clusters/lab-star.json" >lab.json
sed 's/"description": "/"description": "\\u202e/' "$data/clusters/dgx-h100.json" >turned.json
try simulate "${job[@]}" -p ./esc.json
try validate --lab ./lab.json
try check turned.json
try check $'no\nsuch\e[2J'
try plan $'--top\e=1'
try show platforms $'\xff'
# Markdown shows a name as it is.
cp "$data/clusters/dgx-h100.json" 'a_b|<i>.json'
rehearse simulate "${job[@]}" -p './a_b|<i>.json' -o run.md >/dev/null
head -n 1 run.md
# Small files that would take gigabytes.
{
    echo '{"gpus_per_node": ['
    head -c 9000000 /dev/zero | tr '\0' ','
} >values.json
try check values.json | head -n 2
