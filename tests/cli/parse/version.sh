#!/usr/bin/env bash
# --version says the version; -v and --json add the schemas of what is written.
rehearse --version
rehearse -V -v
rehearse --version --json | head -n 4
rehearse --version --nonsense
echo "exit $?"
