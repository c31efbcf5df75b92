#!/usr/bin/env bash
# The scripts are valid for their shells, as far as the shell is here.
rehearse completions bash | bash -n && echo bash is fine
rehearse completions fish | grep -c -- '-l global-batch'
rehearse completions zsh | grep -c -- '--global-batch='
rehearse completions bash | grep -- '--fix)' | cut -c -60
rehearse completions fish | grep -c -- "-a 'tp= pp= .* schedule=1f1b .*stages="
rehearse completions zsh | grep -c -- ':value:(tp= pp= .* recompute=full .*stages='
# What bash is offered: names, layouts key by key, choices, topics and what they hold.
eval "$(rehearse completions bash)"
offer() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _rehearse
    echo "$*: $(printf '%s\n' "${COMPREPLY[@]}" | head -n 3 | tr '\n' ' ')"
}
offer rehearse plan -w llama-3.1-
offer rehearse plan --platform dgx-h
offer rehearse plan --stack megatron-2
offer rehearse plan --objective ''
# What is one of a few words, or a number, is no file.
touch some-file
for option in --objective --emit --global-batch --gap --workload --output; do
    COMP_WORDS=(rehearse plan "$option" s) COMP_CWORD=3 COMPREPLY=()
    _rehearse
    echo "$option s: $(printf '%s\n' "${COMPREPLY[@]}" | grep -cx some-file) files"
done
offer rehearse plan --fix schedule=g
offer rehearse simulate -s tp4,recompute=f
offer rehearse show pla
offer rehearse show workloads mixtral-8x7
offer rehearse show strategies ''
offer rehearse completions z
# Every name that the lists have.
for topic in platforms workloads; do
    rehearse show "$topic" --json | sed -n 's/^      "name": "\(.*\)",/\1/p' | while read -r name; do
        COMP_WORDS=(rehearse show "$topic" "$name") COMP_CWORD=3
        _rehearse
        [[ " ${COMPREPLY[*]} " == *" $name "* ]] || echo "not offered: $name"
    done
done
rehearse completions bash | grep -o 'relayers=[^ ]*' | sort -u
