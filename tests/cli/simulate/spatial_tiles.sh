#!/usr/bin/env bash
# Pictures in tiles, two copies from either end of a pipeline, both: folded as unfolded; which of them a search takes;
# and what cannot be cut.
any=(-w amoebanet-d -p v100-edr:2 --global-batch 8 --dtype fp16)
job=("${any[@]}" --stack mpi4dl --set height=1024 --set width=1024)
for layout in cp4,dp2 cp4,dp2,slice=vertical pp4,dp2,schedule=gems pp2,cp2,dp2,schedule=gems; do
    rehearse simulate "${job[@]}" -s "$layout,zero0" | sed -n '1,/^job/p'
    rehearse simulate "${job[@]}" -s "$layout,zero0" --unfolded | head -1
done
rehearse plan "${job[@]}" | sed -n '/^ #/,/^$/p'
rehearse simulate "${job[@]}" -s cp2,slice=square,zero0
echo "exit $?"
rehearse simulate "${any[@]}" -s cp4,zero0 --stack mpi4dl
echo "exit $?"
rehearse simulate "${any[@]}" -s cp4,zero0 --stack convnets
echo "exit $?"
rehearse simulate "${job[@]}" -s pp4,dp2,zero1,schedule=gems
echo "exit $?"
rehearse simulate -w llama-3.2-1b -p dgx-h100:1 --global-batch 8 --seq 2048 -s cp2,slice=vertical
echo "exit $?"
# stages of two widths: ranks, what a replica of them has, what is refused
for layout in pp2,cp4,cpstages=1 pp2,cp4,cpstages=1,halo=layer,slice=vertical; do
    rehearse simulate "${job[@]}" --gpus 5 -s "$layout,zero0" | sed -n '1,/^job/p'
    rehearse simulate "${job[@]}" --gpus 5 -s "$layout,zero0" --unfolded | head -1
done
rehearse simulate "${job[@]}" -s pp2,cp4,cpstages=1,zero0
echo "exit $?"
rehearse simulate "${job[@]}" --gpus 5 -s pp2,cp4,cpstages=1
echo "exit $?"
# of five GPUs a search takes such stages
rehearse plan -w amoebanet-d -p v100-edr:2 --gpus 5 --global-batch 2 --dtype fp16 --stack mpi4dl --set height=2048 \
    --set width=2048 | sed -n '1,/^$/p;/^searched/p'
