#pragma once
/* Translates hints into command-line options. Code below cli/ does not know the command line, so
 * its messages contain terms in backquotes: `zero<=1`, `dtype=bf16`, `moments=bf16`. */

/* Returns the message with its terms as options of `rehearse plan`: --limit 'zero<=1', --dtype
 * bf16, --set moments=bf16. Other text in backquotes is unchanged. Caller frees. */
char *rh_hint_options(const char *message);
