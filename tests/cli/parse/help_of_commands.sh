#!/usr/bin/env bash
# Both helps come from the option tables.
rehearse plan -h
rehearse help simulate
rehearse completions --help
