#!/usr/bin/env bash
# tests/cli/mask.sed hides figures and nothing else: lines that must become one, lines that must not.
set -euo pipefail
mask=$(dirname -- "${BASH_SOURCE[0]}")/mask.sed
failed=0

masked() { sed -E -f "$mask" <<<"$1"; }

same() {
    [ "$(masked "$1")" = "$(masked "$2")" ] || {
        printf 'should be the same:\n  %s\n  %s\n' "$(masked "$1")" "$(masked "$2")"
        failed=1
    }
}

differs() {
    [ "$(masked "$1")" != "$(masked "$2")" ] || {
        printf 'should differ: %s\n               %s\n' "$1" "$2"
        failed=1
    }
}

same '68.7 ms/step +-3.9 %' '101 ms/step +-12 %'
same '  compute      51.1 ms  74.3 %  54.0 ms on r4' '  compute       151 ms   4.3 %   4.0 ms on r4'
same '16.6 % MFU   59,590 tok/s/GPU   fits' '9.0 % MFU   9,590 tok/s/GPU   fits'
same '    "value_s": 0.0376352137,' '    "value_s": 1.2e-05,'
same '511 requests/s (511 per GPU)' '94.6 requests/s (23.6 per GPU)'
same '  "tokens_per_usd": 198838436,' '  "tokens_per_usd": 98838436,'
# A unit that is missing, another one, another word, layout, count, sign, name, version or row.
differs '68.7 ms/step' '68.7 /step'
differs '149 us' '149'
differs '68.7 ms/step' '68.7 s/step'
differs '16 % MFU' '16 % HFU'
differs 'compute 51.1 ms' 'compute'
differs 'compute  51.1 ms  74.3 %' 'compute  51.1 ms'
differs 'tp2 pp2 dp2, micro-batch 1' 'tp2 pp2 dp4, micro-batch 1'
differs '12 sizes fit' '13 sizes fit'
differs '+3.3 % slower' '-3.3 % slower'
differs 'llama-3.1-8b' 'llama-3.2-8b'
differs 'core_v0.15.3' 'core_v0.15.4'
differs '    "mfu_frac": 0.5,' '    "mfu_frac": null,'
differs 'error: must be from 0.100% to 120%' 'error: must be from 0.100% to 130%'
differs '$ rehearse simulate --set price=2USD' '$ rehearse simulate --set price=3USD'
differs '2 |  "kernel_gap": "3us",' '2 |  "kernel_gap": "4us",'
exit "$failed"
