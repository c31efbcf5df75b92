# shellcheck shell=bash
# For tests of programs, sourced: a folder $scratch that goes when the test ends, want(), and $failed,
# which is to be the exit status.
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
failed=0

# want STATUS TEXT COMMAND...: the status, and TEXT somewhere in what was said.
want() {
    local status=$1 text=$2 got=0 said
    shift 2
    said=$("$@" 2>&1) || got=$?
    if [ "$got" != "$status" ] || [[ $said != *"$text"* ]]; then
        printf 'FAILED: %s\n  wanted %s and "%s"\n  got %s and "%s"\n' "$*" "$status" "$text" "$got" "${said:0:300}"
        # shellcheck disable=SC2034 # whoever sources this reads it
        failed=1
    fi
}
