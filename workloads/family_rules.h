#pragma once
/* Rules of a family: assignments that fill in what follows from other figures of a configuration, such as
 * "ssm.n_groups = max(ssm.num_heads, 1)". Private to workloads/. */
#include <stdbool.h>

#include "workloads/families.h"

/* Checks that `rule` is "FIELD = EXPRESSION" with known fields. Returns NULL, or what is wrong with it; the
 * caller frees that.
 *
 * Operators are those of C with their precedence, on whole numbers: ?: || && == != < <= > >= + - * / % ! and
 * unary -; functions are min(a, b) and max(a, b). Results that leave 64 bits stay at the limit, and a division
 * by zero gives 0. */
char *rh_rule_problem(const char *rule);
/* Performs the rules in order. `rules` ends with NULL; every rule has passed rh_rule_problem(). */
void rh_rules_apply(const char *const *rules, RhConfig *config);
