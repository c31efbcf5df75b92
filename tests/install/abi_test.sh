#!/usr/bin/env bash
# The binary interface of librehearse.so: what it exports, and how large the types of public headers are, as
# tests/install/abi.txt has it. A change of either breaks programs that were linked before: it is made on purpose, with
# --update, and with another minor version once one was released.
#
#   tests/install/abi_test.sh [--update] BUILD_FOLDER C_COMPILER
set -euo pipefail
tree=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
update=
[ "${1-}" != --update ] || { update=1 && shift; }
build=$1 cc=$2
export LC_ALL=C
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/prefix" --component rehearse >"$scratch/log"
headers=$scratch/prefix/include/rehearse
library=$(find "$scratch/prefix" -name 'librehearse.so')
PKG_CONFIG_PATH=$(dirname -- "$(find "$scratch/prefix" -name rehearse.pc)")
export PKG_CONFIG_PATH
{
    printf '#include <rehearse.h>\n#include <stdio.h>\nint main(void)\n{\n'
    find "$headers" -name '*.h' -exec cat {} + | sed -n 's/^} \(Rh[A-Za-z0-9]*\);$/\1/p' | sort -u |
        sed 's/.*/    printf("type &: %zu bytes\\n", sizeof(&));/'
    printf '    return 0;\n}\n'
} >"$scratch/sizes.c"
read -ra flags < <(pkg-config --cflags rehearse)
"$cc" -std=gnu11 "$scratch/sizes.c" "${flags[@]}" -o "$scratch/sizes"
{
    nm -D --defined-only "$library" | sed -n 's/^.* [A-Z] \(rh_[a-z0-9_]*\)$/symbol \1/p' | sort
    "$scratch/sizes"
} >"$scratch/abi.txt"
[ "$(grep -c '^symbol' "$scratch/abi.txt")" -gt 100 ] && [ "$(grep -c '^type' "$scratch/abi.txt")" -gt 50 ]
if [ -n "$update" ]; then
    cp "$scratch/abi.txt" "$tree/tests/install/abi.txt"
fi
diff -u "$tree/tests/install/abi.txt" "$scratch/abi.txt" || {
    echo 'the interface changed: meant? tests/install/abi_test.sh --update BUILD_FOLDER C_COMPILER'
    exit 1
}
printf 'abi: %d symbols, %d types as they were\n' "$(grep -c '^symbol' "$scratch/abi.txt")" "$(grep -c '^type' "$scratch/abi.txt")"
