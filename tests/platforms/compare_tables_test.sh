#!/usr/bin/env bash
# platforms/data/compare-tables on tables whose ratios are known: tests/platforms/compare_tables_test.sh SCRIPT
set -uo pipefail
script=$1
# shellcheck source=tests/kit/want.sh
. "$(dirname "$0")/../kit/want.sh"

# A table out of lines "TYPE,m,n,k,latency".
table() {
    echo framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency
    sed 's/^/X,1,GPU,gemm,library,/'
}

table >"$scratch/first.csv" <<'END'
bfloat16,16,4096,4096,0.1
bfloat16,32,4096,4096,0.2
bfloat16,64,4096,4096,0.4
fp8,64,4096,4096,0.2
END
table >"$scratch/second.csv" <<'END'
bfloat16,64,4096,4096,0.8
bfloat16,16,4096,4096,0.18
bfloat16,32,4096,4096,0.44
bfloat16,128,4096,4096,1
END

# Ratios 1.8, 2, 2.2: 10, 0 and 10 % about 2.
same='3 in both, the second 2.000 times the first in the median; about that, in %: median 10.0, mean 6.7, p90 10.0'
want 0 "$same" "$script" bfloat16 "$scratch/first.csv" "$scratch/second.csv"
gzip "$scratch/second.csv"
want 0 "$same" "$script" bfloat16 "$scratch/first.csv" "$scratch/second.csv.gz"
want 3 'no time of fp8 is in both' "$script" fp8 "$scratch/first.csv" "$scratch/second.csv.gz"
want 1 'No such file' "$script" bfloat16 "$scratch/first.csv" "$scratch/none.csv"
want 2 'compare-tables TYPE TABLE OTHER' "$script" bfloat16 "$scratch/first.csv"
exit $failed
