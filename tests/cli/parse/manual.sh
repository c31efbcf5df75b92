#!/usr/bin/env bash
# rehearse(1): every command, every option that a command's help lists, and roff that groff takes as it is.
rehearse help --man >rehearse.1
head -n 5 rehearse.1
rehearse help | sed '/^WORKLOAD/,$d' | sed -nE 's/^  ([a-z-]+) .*/\1/p' | while read -r command; do
    rehearse "$command" -h >help.txt || continue
    grep -q "^\.SS rehearse ${command//-/\\\\-}" rehearse.1 || echo "not in the manual: $command"
    sed -nE 's/^ +(-[a-z], +)?(--[a-z0-9-]+).*/\2/p' help.txt | while read -r option; do
        grep -qF -- "${option//-/\\-}" rehearse.1 || echo "not in the manual: $command $option"
    done
    echo "$command" >>seen
done
[ "$(wc -l <seen)" -gt 10 ] && echo 'all commands looked for'
if command -v groff >/dev/null; then
    groff -man -ww -Tutf8 rehearse.1 2>&1 >page.txt | head -n 3
    grep -c . page.txt >/dev/null || echo 'groff makes nothing of it'
fi
grep -A 2 '^.SH EXIT STATUS' rehearse.1 | tail -n 1
