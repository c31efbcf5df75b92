#!/usr/bin/env bash
# librehearse as others use it: installed under a prefix, found by pkg-config, the examples compiled
# against it and against the build tree say the same; the installed program finds its catalogues.
#
#   tests/install/install_test.sh BUILD_FOLDER C_COMPILER
set -euo pipefail
tree=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
build=$1 cc=$2
prefix=$(mktemp -d)
trap 'rm -rf -- "$prefix"' EXIT
unset REHEARSE_DATA

cmake --install "$build" --prefix "$prefix" --component rehearse >"$prefix/log"
PKG_CONFIG_PATH=$(dirname -- "$(find "$prefix" -name rehearse.pc)")
LD_LIBRARY_PATH=$(dirname -- "$(find "$prefix" -name librehearse.so)")
export PKG_CONFIG_PATH LD_LIBRARY_PATH
read -ra flags < <(pkg-config --cflags --libs rehearse)
failed=0
for example in plan rehearse serve collective; do
    "$cc" -std=gnu11 -Wall -Wextra "$tree/examples/$example.c" "${flags[@]}" -o "$prefix/$example"
    there=$(REHEARSE_DATA=$(pkg-config --variable=datadir rehearse) "$prefix/$example")
    here=$(REHEARSE_DATA=$tree "$build/example_$example")
    printf '%s\n%s\n' "$example:" "$there"
    [ "$(wc -l <"$tree/examples/$example.c")" -le 40 ] || failed=1 # it fits on a screen
    # Nothing twice: a child of a rehearsal prints nothing of its parent's.
    if [ -z "$there" ] || [ "$there" != "$here" ] || [ -n "$(uniq -d <<<"$there")" ]; then
        printf 'the build tree says:\n%s\n' "$here"
        failed=1
    fi
done
# Where the prefix goes, program and catalogues go: a platform of theirs that the tree lacks is found.
moved=$prefix/moved
mkdir "$moved"
mv "$prefix/bin" "$prefix/share" "$moved"
clusters=$moved/share/rehearse/platforms/data/clusters
cp "$clusters/dgx-h100.json" "$clusters/only-here.json"
"$moved/bin/rehearse" show platforms only-here | head -n 1 || failed=1
# Files that name others of the catalogue: a service's server and its profile.
"$moved/bin/rehearse" serve-simulate -w llama-3.1-8b -p only-here -s tp1 --lengths in=512,out=64 \
    --rate 5/s --count 50 | head -n 1 || failed=1
# What it says of itself came along, and is what it says now.
"$moved/bin/rehearse" help --man | cmp - "$moved/share/man/man1/rehearse.1" || failed=1
for file in bash-completion/completions/rehearse zsh/site-functions/_rehearse fish/vendor_completions.d/rehearse.fish; do
    test -s "$moved/share/$file" || failed=1
done
exit $failed
