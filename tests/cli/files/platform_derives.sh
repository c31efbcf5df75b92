#!/usr/bin/env bash
# A platform that names another has everything of it but what it says itself.
try() {
    echo "\$ rehearse $*"
    rehearse "$@" 2>&1
    echo "exit $?"
}
write() { printf '%s\n' "$2" >"$1"; }
write mine.json '{"name": "mine", "derives": "lab-star", "nodes": 4,
  "nic": {"bandwidth": {"value": "1Gb/s", "tag": "datasheet", "source": "my switch", "date": "2026-11"}}}'
mkdir deeper
write deeper/yours.json '{"name": "yours", "derives": "../mine.json", "description": "of mine"}'
rehearse show platforms deeper/yours.json | sed -n '1,2p;/^NIC /p;/^NVLink /p'
write a.json '{"name": "a",
  "derives": "b.json"}'
write b.json '{"name": "b", "derives": "a.json"}'
write self.json '{"derives": "self.json", "name": "self"}'
write unknown.json '{"name": "x", "derives": "lab-sta"}'
write broken.json '{"name": "x", "derives": "nosuch.json"}'
write wrong.json '{"name": "x", "derives": "lab-star",
  "nodes": 0,
  "nicks": 2,
  "nic": {"efficiency": {"value": 65, "tag": "assumed", "source": "typed", "date": "2026-11"}}}'
write of_wrong.json '{"name": "y", "derives": "wrong.json"}'
for file in a self unknown broken wrong of_wrong; do try check "$file.json"; done
# The hash of what is derived knows what it derives from.
hash() { rehearse simulate -w gpt2 -p "$1" --stack bare --global-batch 4 --seq 128 -s dp4 --json | grep -A3 '"platform"' | grep sha256; }
before=$(hash mine.json)
sed -i 's/1Gb/2Gb/' mine.json
[ "$before" != "$(hash mine.json)" ] && [ -n "$before" ] && echo 'the hash moved'
