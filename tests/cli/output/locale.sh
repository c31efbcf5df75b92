#!/usr/bin/env bash
# A language in which "I" is no capital "i": SimGrid folds case by the locale.
mkdir locales
localedef -i tr_TR -f UTF-8 locales/tr_TR.UTF-8 2>/dev/null # where there is none, C stands in
env LOCPATH="$PWD/locales" LC_ALL=tr_TR.UTF-8 rehearse simulate -w llama-3.2-1b -p dgx-h100:2 \
    --global-batch 16 --seq 2048 -s tp2,dp8 | head -n 1
