# What launches of trainings are, and what of them is not known.
cp "$CASES"/inputs/launch/* .
rehearse check ./*.sh ./*.toml ./*.y*ml ./*.json
rehearse check --json titan.toml
