#pragma once
/* Programs of this project that start one another. */

/* The program that the environment's `variable` names, else `name` beside this one, else on the
 * path; NULL when there is none. Caller frees. */
char *rh_companion_program(const char *name, const char *variable);
