#!/usr/bin/env bash
# The picture in README.md is what its command draws. When figures moved on purpose: the command again, from
# the root of the tree.
tree=$CASES/../..
command=$(sed -n '/docs\/gantt.svg$/s/^\.\/start //p' "$tree/README.md")
mkdir docs
read -ra words <<<"$command"
rehearse "${words[@]}" -q >/dev/null
cmp docs/gantt.svg "$tree/docs/gantt.svg" && echo 'README.md shows what is drawn'
