#pragma once
/* Finds the known names that a mistyped one may have meant, by one rule for all names that a user
 * types.
 *
 * A name is near if a few edits turn the word into it (letters added, removed, changed or swapped
 * with a neighbour; at most a third of the word's, and not all of it). A name that contains the
 * word between punctuation or at an end, as "dgx-h100" contains "h100", counts as one edit away, and
 * one that contains its parts so, as "a100-sxm-80" those of "a100-80", as many as it has parts.
 * Edits count letters and digits, ignoring case. Among equally near names those with the word's
 * first letters come first, then shorter ones, then those that are listed first. */

/* Returns the nearest of `names` (NULL-terminated), borrowed from them; NULL when none is near. */
const char *rh_near_name(const char *word, const char *const *names);

/* Lists up to `most` near names, nearest first, such as "h100-nvl, h100-sxm" for "h100", leaving
 * out those two or more edits further than the first; NULL when none is near. Caller frees. */
char *rh_near_names(const char *word, const char *const *names, unsigned most);
