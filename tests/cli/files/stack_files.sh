#!/usr/bin/env bash
# A stack's file that cannot be is refused where it is wrong, and says how to mend it.
root=${REHEARSE_DATA:-$CASES/../..}
mkdir -p data/strategies/stacks
ln -s "$root"/{platforms,workloads} data/
ln -s "$root/strategies/frameworks" data/strategies/frameworks
cp "$root"/strategies/stacks/{aleph,bare,megatron}.json data/strategies/stacks/
export REHEARSE_DATA=$PWD/data
write() { printf '%s\n' "$2" >"data/strategies/stacks/$1.json"; }
try() {
    echo "\$ --stack $1"
    rehearse simulate -w gpt2 -p dgx-a100:1 --global-batch 8 --seq 128 -s dp8 --stack "$1" 2>&1 | head -9
    echo "exit ${PIPESTATUS[0]}"
}
write both '{"name": "both", "derives": "bare", "about": "two words that contradict each other",
  "late_exchange": {"value": true, "source": "a test"},
  "frees_gradients": {"value": true, "source": "a test"}}'
write early '{"name": "early", "derives": "aleph", "about": "of one that exchanges late",
  "frees_gradients": {"value": true, "source": "a test"}}'
write free '{"name": "free", "derives": "bare", "about": "frees gradients",
  "frees_gradients": {"value": true, "source": "a test"}}'
write late '{"name": "late", "derives": "free", "about": "of one that frees gradients",
  "late_exchange": {"value": true, "source": "a test"}}'
write mended '{"name": "mended", "derives": "aleph", "about": "of one that exchanges late, which it does not",
  "late_exchange": {"value": false, "source": "a test"},
  "frees_gradients": {"value": true, "source": "a test"}}'
write ring '{"name": "ring", "derives": "round", "about": "derives from what derives from it"}'
write round '{"name": "round", "derives": "ring", "about": "likewise"}'
for stack in both early late ring self; do try "$stack"; done
rehearse simulate -w gpt2 -p dgx-a100:1 --global-batch 8 --seq 128 -s dp8 --stack mended >/dev/null 2>&1
echo "mended: exit $?"
