#!/usr/bin/env bash
# Every script that --emit prints is a script: bash, shellcheck, Python and a JSON reader take what is of them.
job=(-w llama-3.2-1b -p dgx-h100:2 --global-batch 64 --seq 512 -q)
python=$(command -v python3 || true)
mkdir stubs
cat >stubs/torchrun <<'END'
#!/bin/sh
case "$*" in *rehearsed_preflight.py) exit "${PREFLIGHT_FAILS:-0}" ;; esac
echo "${0##*/} $# words" >>started
END
chmod +x stubs/torchrun
for name in srun scontrol python3; do cp stubs/torchrun "stubs/$name"; done

# The files that the script of a folder made are of their languages.
check_files() {
    local file
    while IFS= read -r file; do
        case $file in
        *.py) [ -z "$python" ] || "$python" -m py_compile "$file" || echo "$file is no Python" ;;
        *.json) [ -z "$python" ] || "$python" -m json.tool "$file" >/dev/null || echo "$file is no JSON" ;;
        esac
    done < <(find . -name '*.py' -o -name '*.json')
}
# A script on stdin, in the folder $1.
check() {
    mkdir "$1"
    cat >"$1/script"
    [ -s "$1/script" ] || echo "$1: nothing is printed"
    bash -n "$1/script" || echo "$1: no bash"
    if command -v shellcheck >/dev/null; then
        shellcheck --shell=bash --severity=warning "$1/script"
    fi
    (cd "$1" && NODE_RANK=0 MASTER_ADDR=x SLURM_JOB_NODELIST=x TOKENIZER=t DATA=d ITERATIONS=1 BASE=b OUTPUT=o \
        LEARNING_RATE=1e-4 PATH=$PWD/../stubs:$PATH bash -eu script >out 2>&1
    echo "$1: exit $?, $(grep -c . started) started"
    check_files)
}
emit() { # NAME LAYOUT FRAMEWORK MORE...
    rehearse simulate "${job[@]}" -s "$2" --emit "$3" "${@:4}" | sed -n '/^# launch/,$p' | check "$1"
    rehearse simulate "${job[@]}" -s "$2" --emit "$3+slurm" "${@:4}" | sed -n '/^#!/,$p' | check "$1-slurm"
}
emit megatron tp2,dp8,zero1 megatron
emit megatron-fsdp dp16,zero3 megatron
emit torchtitan dp16,zero3 torchtitan
emit deepspeed dp16,zero3 deepspeed
emit nemo tp2,dp8,zero1 nemo
emit maxtext dp16,zero3 maxtext
emit nemo-lora tp2,dp8,zero1 nemo --set lora.rank=16
emit deepspeed-lora dp16,zero1 deepspeed --set lora.rank=16
emit peft dp16,zero3 peft --set lora.rank=16
emit peft-whole dp16,zero0 peft --set lora.rank=16
for framework in megatron torchtitan deepspeed nemo; do
    # shellcheck disable=SC2016 # the folder's name is no command
    emit "$framework-more" dp16,zero3 "$framework" --save "/a folder's" --save-interval 50 --load '/x --y $(touch PWNED)' --preflight
done
# shellcheck disable=SC2016
emit peft-more dp16,zero3 peft --set lora.rank=16 --save "/a folder's" --save-interval 50 --load '/x --y $(touch PWNED)' --preflight
emit maxtext-more dp16,zero3 maxtext --save "/a folder's" --load '/x'
[ -z "$(find . -name 'PWNED*')" ] || echo 'a folder was run'

# Where the fabric is slow, training is not started.
(cd megatron-more && rm started && NODE_RANK=0 MASTER_ADDR=x TOKENIZER=t DATA=d ITERATIONS=1 LEARNING_RATE=1 \
    PREFLIGHT_FAILS=1 PATH=$PWD/../stubs:$PATH bash script >/dev/null 2>&1; echo "exit $?"; ls started 2>/dev/null)

# One of each to read.
sed -n '/^cat/,$p' megatron-more/script
sed '/^cat > rehearsed_preflight/,/^END/d' nemo-lora/script
cat deepspeed-lora/script
sed '/^cat > rehearsed_lora/,/^END/d' peft/script
# What they train is read from them again.
for name in deepspeed-lora peft peft-whole; do
    rehearse check "$name/script" | grep -v 'takes it$'
done
cat torchtitan/script
sed -n '/^# note/,$p' deepspeed-more/script
cat maxtext-more-slurm/script

# What is planned is what is started: on the framework's own stack, unless another is asked for, which is said first.
stack() { sed -n 's/^ *"stack": \("[a-z-]*"\).*/\1/p' | sort -u; }
for framework in megatron torchtitan deepspeed nemo maxtext; do
    echo "$framework: $(rehearse simulate "${job[@]}" -s dp16,zero3 --emit "$framework" --json | stack)"
done
rehearse simulate "${job[@]}" -s dp16,zero3 --stack bare --emit torchtitan | sed -n '1,5p'
try() {
    rehearse "$@" 2>&1 | grep -E '^(error|help)'
    echo "exit ${PIPESTATUS[0]}"
}
try simulate "${job[@]}" -s dp16 --save x
try simulate "${job[@]}" -s dp16 --emit megatron --save-interval 5
try simulate "${job[@]}" -s dp16,zero3 --emit maxtext --preflight
try simulate "${job[@]}" -s dp16,zero3 --emit torchtitan --set lora.rank=16

# The server's command quotes its model, and has the hub's name for one of the catalogue.
# shellcheck disable=SC2054 # of the option
served=(-p dgx-h100 --find-rate --lengths in=128,out=16 --count 402 --ttft 'p99<1s' --emit vllm -q -s tp1)
cp "$CASES/inputs/tiny-llama.json" "\$(touch PWNED) it's.json"
rehearse serve-plan -w "./\$(touch PWNED) it's.json" "${served[@]}" | sed -n '/^vllm/p'
rehearse serve-plan -w meta-llama/Llama-3.2-1B "${served[@]}" | sed -n '/^vllm/p'
rehearse serve-plan -w llama-3.2-1b "${served[@]}" | sed -n '/^vllm/p'
