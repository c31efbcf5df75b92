#!/usr/bin/env bash
# What runs a stack, of which version, and what that refuses, each with its place.
for stack in megatron deepspeed bare; do
    rehearse show stacks "$stack" -v | sed -n '/memory of CUDA/,$p'
done
rehearse show stacks deepspeed --json | sed -n '/"framework"/,$p'
rehearse show stacks megatron | sed -n 3,4p
rehearse show stacks nemo | head -n 1
# Every rule of every framework is shown.
for stack in megatron torchtitan deepspeed maxtext megatron-bridge; do
    rehearse show stacks "$stack" --json >shown.json
    framework=$(sed -n '/"framework"/,/"title"/s/.*"name": "\(.*\)",/\1/p' shown.json)
    rules=$(grep -c '"when"' "${REHEARSE_DATA:-$CASES/../..}/strategies/frameworks/$framework.json")
    [ "$(grep -c '"when"' shown.json)" = "$rules" ] && echo "$stack: all rules of $framework"
done
