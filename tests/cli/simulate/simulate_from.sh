# Launches of several frameworks stand for the options that they say; flags that nothing is known of are named.
launches=$CASES/inputs/launch
cp "$launches"/* .
from() { rehearse simulate --from "$@" -p dgx-h100:2 2>&1 | grep -E '^(note|warning): [a-z_]+\.|^tp|^job'; }
from pretrain.sh
from titan.toml
from ds_config.json -w llama-3.1-8b --seq 2048
from finetune.sh
from axolotl.yml
from llamafactory.yaml
from maxtext.sh
from nemo.yaml
# Nodes of a Kubernetes job are its replicas; places are those of the manifest.
rehearse simulate --from pytorchjob.yaml -p dgx-h100:4 2>&1 | grep -E '^(note: pytorchjob.yaml is|tp|job)'
sed 's/--micro-batch-size 1/--micro-batch-size x/' pytorchjob.yaml >wrong-job.yaml
rehearse simulate --from wrong-job.yaml -p dgx-h100:4 2>&1 | head -n 1
# Adapters beside frozen weights of 4 bits.
rehearse simulate --from qlora.yml -p dgx-h100:2 -v 2>&1 | grep lora
# Pairs of sequences; a file of accelerate config names no model.
rehearse simulate --from preference.yaml -p dgx-h100 2>/dev/null | sed -n '/^job/,/pair/p'
from accelerate-megatron.yaml -w llama-3.1-8b --seq 2048
# Options go before the file, knob by knob; -v tells what was read.
from nemo.yaml -s tp2,recompute=full --seq 4096 -v | grep -E '^note|^tp'
# What it stands for is recorded, so that a result can be asked again.
rehearse simulate --from titan.toml -p dgx-h100:2 -q -o run.json >/dev/null
rehearse explain run.json -q | head -n 1
# Errors have their place in the file.
printf 'torchrun pretrain_gpt.py --num-layers many \\\n  --cp-comm-type fast\n' >wrong.sh
rehearse simulate --from wrong.sh -p dgx-h100:2
echo "exit $?"
printf 'base_model: x\nsequence_len: 1\n  y: 2\n' >wrong.yaml
rehearse simulate --from wrong.yaml -p dgx-h100:2
echo "exit $?"
rehearse simulate --from "$CASES/inputs/launch/../launch" -p dgx-h100:2
echo "exit $?"
printf 'hello\n' >nothing.txt
rehearse simulate --from nothing.txt -p dgx-h100:2
echo "exit $?"
