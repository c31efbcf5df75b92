#!/usr/bin/env bash
# The scripts are valid for their shells, as far as the shell is here.
rehearse completions bash | bash -n && echo bash is fine
rehearse completions fish | grep -c -- '-l global-batch'
rehearse completions zsh | grep -c -- '--global-batch='
rehearse completions bash | grep -A 3 'COMP_CWORD - 1' | cut -c -60
rehearse completions fish | grep -c -- "-a 'tp= pp= .* schedule=1f1b .*stages="
rehearse completions zsh | grep -c -- ':value:(tp= pp= .* recompute=full .*stages='
