#!/usr/bin/env bash
# What a stranger sees first.
rehearse help
