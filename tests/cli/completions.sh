#!/usr/bin/env bash
# The scripts are valid for their shells, as far as the shell is here.
rehearse completions bash | bash -n && echo bash is fine
rehearse completions fish | grep -c -- '-l global-batch'
rehearse completions zsh | grep -c -- '--global-batch='
