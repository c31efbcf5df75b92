#pragma once
/* The manual page rehearse(1), made from the table of commands and their options. */

/* Returns roff for man(1); caller frees. */
char *rh_manual(void);
