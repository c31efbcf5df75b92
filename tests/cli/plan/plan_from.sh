# What a launch has beside the best layout, with the settings of its framework that make the difference.
cp "$CASES"/inputs/launch/* .
beside() { rehearse plan --from "$@" --quick 2>&1 | sed -n -e '/^as launched/,$p' -e '/^warning: the layout/p'; }
beside pretrain.sh -p dgx-h100:2
beside titan.toml -p dgx-h100:2
beside finetune.sh -p dgx-h100:2
# No launch is written for axolotl: knobs of the layout differ.
beside axolotl.yml -p dgx-h100:1
# A layout that the platform cannot run is told, and the plan is there.
beside pretrain.sh -p dgx-h100:1 --gpus 8 -w llama-3.2-1b --global-batch 12
# The same as JSON.
rehearse plan --from pretrain.sh -p dgx-h100:2 --quick --json 2>/dev/null | sed -n '/^  "launched"/,/^  },/p'
