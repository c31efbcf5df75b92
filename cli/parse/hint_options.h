#pragma once
/* Below cli/ nobody knows the command line: a message says a mend as a term in backquotes, `zero<=1`, `dtype=bf16`,
 * `moments=bf16`. Here it becomes the words to type. */

/* The message with its terms as options of `rehearse plan`: --limit 'zero<=1', --dtype bf16, --set moments=bf16. What
 * else stands in backquotes stays. Caller frees. */
char *rh_hint_options(const char *message);
