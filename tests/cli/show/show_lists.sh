#!/usr/bin/env bash
# What there is.
rehearse show platforms
rehearse show workloads
rehearse show strategies | head -n 4 # every key: tests/strategies/layout_test.c
rehearse show strategies tp8,pp4,mb2,zero3
rehearse show stacks
rehearse show strategies | grep -A 2 '^  schedule='
