#!/usr/bin/env bash
# No page of ours is wider than 80 columns (drawings of platforms are drawn within them, too).
wide() {
    rehearse "$@" | sed -nE "s/^.{81,}\$/$* is wide: &/p"
}
commands=$(rehearse completions bash | grep -oE 'plan simulate [a-z -]*help' | head -n 1)
for command in $commands; do
    wide help "$command"
done
for topic in platforms devices workloads strategies stacks; do
    wide show "$topic"
done
for name in $(rehearse show stacks | grep -oE '^[a-z][a-z0-9-]*  ' | sort -u); do
    wide show stacks "$name"
done
for name in $(rehearse show workloads | sed -nE '2,/^$/s/^([a-z0-9][^ ]*) .*/\1/p'); do
    wide show workloads "$name"
done
for name in $(rehearse show devices | sed -nE '2,/^$/s/^([a-z0-9][^ ]*) .*/\1/p'); do
    wide show devices "$name" -v
done
echo "commands: $(wc -w <<<"$commands")"
