#!/usr/bin/env bash
# Models and ways of sharding of 2026: published steps that nothing was fitted to, each said and fitting.
cp "$CASES/inputs/bridge-2608.csv" bridge.csv
rehearse validate --cases bridge.csv -q 2>&1
echo "exit $?"
rehearse validate --cases bridge.csv -q --json | grep -E '"(strategy|fits)":'
