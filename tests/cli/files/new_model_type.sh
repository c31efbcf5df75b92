# A model type that the catalogue does not know is one more family file in a data folder; a mistake in it is told with
# its place.
tree=$(cd -- "$CASES/../.." && pwd -P)
export REHEARSE_DATA=$PWD/data
mkdir -p data/workloads
ln -s "$tree"/platforms "$tree"/strategies "$tree"/calibrate "$tree"/validate data/
cp -r "$tree"/workloads/families "$tree"/workloads/*.json "$tree"/workloads/data data/workloads/
cat >config.json <<'END'
{"model_type": "mine", "depth": 16, "hidden_size": 2048, "num_attention_heads": 32, "intermediate_size": 8192, "vocab_size": 128256,
 "groups": 8, "tie_word_embeddings": true}
END
rehearse show workloads ./config.json 2>&1 | head -n 1
cat >data/workloads/families/mine.json <<'END'
{
  "derives": "llama",
  "keys": {
    "depth": "num_hidden_layers",
    "groups": {"field": "attention.num_key_value_heads", "default": 4}
  },
  "rules": ["attention.head_dim = hidden_size / attention.num_attention_heads"]
}
END
rehearse show workloads ./config.json 2>&1 | head -n 3
sed -i -e 's/"num_hidden_layers"/"num_hidden_layer"/' -e 's/heads"\]/head"]/' data/workloads/families/mine.json
rehearse show workloads ./config.json 2>&1
