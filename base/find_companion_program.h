#pragma once
/* Finds programs of this project that start one another. */

/* Returns the path of the program that the environment variable `variable` names, else of `name`
 * beside this program, else on the path; NULL when there is none. Caller frees. */
char *rh_companion_program(const char *name, const char *variable);
