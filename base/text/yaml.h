#pragma once
/* YAML (by libyaml), read into the tree of base/json/json.h with positions.
 *
 * Anchors, aliases and merge keys ("<<") are resolved by copying. It refuses an alias inside what it
 * names, files whose aliases make more than a million values, nesting over 64, keys that are lists
 * or mappings, duplicate keys, and files over 8 MiB. Words without quotes are null, true or false
 * (also yes, no, on, off), numbers or texts. Of several documents in a file the root is a list.
 *
 *     g_autoptr(RhJson) doc = rh_yaml_load("train.yaml", error); */
#include "base/json/json.h"

/* RH_ERROR_IO; RH_ERROR_INPUT with file:line:col. */
RhJson *rh_yaml_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhJson *rh_yaml_parse(const char *name, const char *text, size_t length,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
