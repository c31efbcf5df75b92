#pragma once
/* Which known names a mistyped one may have meant. One rule of what is near, for every name that a user types.
 *
 * Near is a name that a few edits make of the word (letters added, left out, changed or swapped with their neighbour; a third of
 * the word's at most, and not all of it), and one in which the word stands between punctuation or at an end, as "h100" in "dgx-h100":
 * as near as one edit. Edits count letters and digits, without regard to case. Of equally near names those come first that
 * begin as the word does, then shorter ones. */

/* The nearest of `names` (NULL-ended), borrowed from them; NULL when none is near. */
const char *rh_near_name(const char *word, const char *const *names);

/* "h100-nvl, h100-sxm" of "h100": up to `most`, nearest first, none two edits further than the first; NULL when none is near.
 * Caller frees. */
char *rh_near_names(const char *word, const char *const *names, unsigned most);
