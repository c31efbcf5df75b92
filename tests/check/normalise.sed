# What may differ between two equal runs, made equal before comparing: time spent, machine, version.
# Words and simulated numbers are compared as they stand; those of goldens go through tests/cli/mask.sed after this.
s/\bin [0-9][0-9.,]* ?(ms|s|min)( on [0-9]+ cores?)?/in N s/g
s/\b[0-9][0-9.,]* (sec|seconds)\b/N sec/g
s/"version":"[^"]*"/"version":"V"/g
s/\brehearse [0-9]+\.[0-9]+\.[0-9]+[^ ]*/rehearse V/g
# ./start test
s/^[0-9]+ passed, 0 failed$/N passed, 0 failed/
s/^CUnit: [0-9]+ tests with [0-9]+ checks ran/CUnit: N tests with N checks ran/
/^start: /d
# however long a run takes
/^progress: /d
s/[0-9]+ models are known/N models are known/
