#!/usr/bin/env bash
# A table of published steps: what is refused, and why. (That a fit finds its constants:
# tests/calibrate/stacks/steps_fit_test.c; the published table takes minutes.)
table=$CASES/../../calibrate/data/published-steps.csv
{ grep '^#' "$table" && grep -m 1 '^source,' "$table" && grep '^simumax,' "$table"; } >few.csv
rehearse calibrate --stack megatron --from few.csv 2>&1
echo "exit $?"
rehearse calibrate --stack none --from few.csv 2>&1
echo "exit $?"
sed 's/,tp1 pp2 dp4 /,tp3 pp2 dp4 /' few.csv >wrong.csv
rehearse calibrate --from wrong.csv 2>&1 | sed 's/wrong.csv:[0-9]*/wrong.csv:LINE/'
echo "exit ${PIPESTATUS[0]}"
cp few.csv twin.csv
rehearse calibrate --from few.csv twin.csv 2>&1
echo "exit $?"
