#!/usr/bin/env bash
# A wrong command line says what is near, and exits with 2.
try() {
    echo "\$ rehearse $*"
    rehearse "$@" 2>&1
    echo "exit $?"
}
try
try plann
try serve-plan
try report
try -w llama-3.1-8b plan
try help nosuch
try completions tcsh
try show platfroms
try show stacks nosuch
try compare one.json
try capacity -w llama-3.1-8b -p dgx-h100 --gpus 8 --seq 8192 --tokens 1e30
