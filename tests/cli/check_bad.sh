#!/usr/bin/env bash
# All problems of all files, with places; exit 3.
cp "$CASES/inputs/bad-platform.json" "$CASES/inputs/bad-model.json" .
printf '{"a": 1} junk\n' >trailing.json
printf '{"color": "blue"}\n' >unknown.json
printf 'tp8,pp=many\n' >layout.txt
rehearse check bad-platform.json bad-model.json trailing.json unknown.json layout.txt 2>&1
echo "exit $?"
sed "s/\"vocab_size\": 32000/\"vocab_size\": []/" "$CASES/inputs/tiny-llama.json" >list.json
rehearse check list.json 2>&1
echo "exit $?"
