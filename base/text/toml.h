#pragma once
/* Reader of TOML 1.0, into the tree of base/json/json.h with positions.
 *
 * Dates and times are texts. It refuses keys and tables that stand twice, nesting over 32, files
 * over 4 MiB or 16,384 values.
 *
 *     g_autoptr(RhJson) doc = rh_toml_load("train.toml", error); */
#include "base/json/json.h"

/* RH_ERROR_IO; RH_ERROR_INPUT with file:line:col. */
RhJson *rh_toml_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhJson *rh_toml_parse(const char *name, const char *text, size_t length,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
