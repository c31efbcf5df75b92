#pragma once
/* `--scenario`: what goes wrong on a platform, in words or a file of them, as settings of `--set`.
 *
 *     straggler:node3.gpu5=0.9    its kernels run at 90 % of their pace; node3: all of that node; gpu29: by number
 *     link:nic/node0/0/tx=0.5     half its capacity; "dies@300ms" where the platform has messages
 *     KEY=VALUE                   any other setting
 *
 * Anything without "=" names a file with one of these a line; "#" begins a comment. */
#include <glib.h>
#include <stdbool.h>

/* Appends one KEY=VALUE for each to `sets` (char*, which it owns), and to `origins` where it stands: "FILE:LINE:COL",
 * or "" for a word. RH_ERROR_USAGE for words, RH_ERROR_INPUT with file:line:col for lines, RH_ERROR_IO. */
bool rh_scenario_sets(const GPtrArray *scenarios, GPtrArray *sets, GPtrArray *origins,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* An error of a setting that stands in a file is the file's: RH_ERROR_INPUT with its place. Others stay. */
void rh_scenario_blame(const char *origin, GError **error);
