#!/usr/bin/env bash
# The Debian package as a machine gets it: made by cpack, unpacked into an empty root by dpkg where that may be, the
# program there finds the catalogues there, a program of the library compiles, and shells find their completions.
#
#   tests/install/package_test.sh BUILD_FOLDER C_COMPILER
set -euo pipefail
tree=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
build=$1 cc=$2
for tool in cpack dpkg dpkg-deb dpkg-shlibdeps file gzip; do
    command -v "$tool" >/dev/null || {
        echo "skipped: $tool is not here"
        exit 77
    }
done
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
failed=0
fail() {
    echo "wrong: $*"
    failed=1
}

# As with Ninja, which packs what is built; with make, cpack would build everything first, beside other tests.
cpack -G DEB -D CPACK_CMAKE_GENERATOR=Ninja --config "$build/CPackConfig.cmake" -B "$scratch/made" >"$scratch/log" 2>&1 || {
    cat "$scratch/log"
    exit 1
}
package=$(find "$scratch/made" -maxdepth 1 -name '*.deb')
version=$(sed -n 's/^project(rehearse VERSION \([0-9.]*\).*/\1/p' "$tree/CMakeLists.txt")
[ "$(dpkg-deb -f "$package" Version)" = "$version" ] || fail "its version is $(dpkg-deb -f "$package" Version)"
for library in libc6 libglib2.0-0 libcjson1 libyaml-0-2 libgsl libsimgrid; do
    dpkg-deb -f "$package" Depends | grep -qE "(^|, )$library" || fail "it does not depend on $library"
done

# The dependencies are those of this machine: an empty root has none of them, and its scripts have no shell.
root=$scratch/root
mkdir -p "$root"
if [ "$(id -u)" = 0 ]; then
    mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers}
    touch "$root"/var/lib/dpkg/{status,available}
    dpkg --root="$root" --force-depends --force-unsafe-io --unpack "$package" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
    altered=$(dpkg --root="$root" --verify rehearse) || true
    [ -z "$altered" ] || fail "$altered"
else
    dpkg-deb -x "$package" "$root"
fi

alone=(env -i "PATH=$root/usr/bin:/usr/bin:/bin" HOME="$scratch" ${LD_LIBRARY_PATH:+"LD_LIBRARY_PATH=$LD_LIBRARY_PATH"})
cd "$scratch"
"${alone[@]}" rehearse --version || fail 'it does not start'
gzip -dc "$root/usr/share/man/man1/rehearse.1.gz" | cmp - <("${alone[@]}" rehearse help --man) || fail 'its manual page'
for shell in bash:bash-completion/completions/rehearse zsh:zsh/vendor-completions/_rehearse \
    fish:fish/vendor_completions.d/rehearse.fish; do
    "${alone[@]}" rehearse completions "${shell%%:*}" | cmp - "$root/usr/share/${shell#*:}" || fail "completions of $shell"
done
# A platform of theirs that the tree lacks.
clusters=$root/usr/share/rehearse/platforms/data/clusters
cp "$clusters/dgx-h100.json" "$clusters/only-here.json" || fail 'no catalogue of clusters'
"${alone[@]}" rehearse simulate -w llama-3.1-8b -p only-here -s tp2 --global-batch 16 --seq 4096 -q | head -n 1 ||
    fail 'no answer'
[ -s "$root/usr/share/doc/rehearse/copyright" ] || fail 'no copyright'

pkgconfig=$(dirname -- "$(find "$root/usr/lib" -name rehearse.pc)")
read -ra flags < <(PKG_CONFIG_PATH=$pkgconfig pkg-config --cflags --libs rehearse)
"$cc" -std=gnu11 "$tree/examples/collective.c" "${flags[@]}" -o "$scratch/collective" || fail 'the example does not compile'
LD_LIBRARY_PATH=$(dirname -- "$(find "$root/usr/lib" -name librehearse.so)") REHEARSE_DATA=$root/usr/share/rehearse \
    "$scratch/collective" | grep -q . || fail 'the example says nothing'
exit $failed
