#pragma once
/* Rules of a family: assignments that fill in what follows from other figures of a configuration, such as
 * "ssm.n_groups = max(ssm.num_heads, 1)". Private to workloads/. */
#include <stdbool.h>

#include "workloads/config/family_keys.h"

/* Checks that `rule` is "FIELD = EXPRESSION" with known fields and an expression of base/text/expression.h.
 * Returns NULL, or what is wrong with it; the caller frees that. */
char *rh_rule_problem(const char *rule);
/* Performs the rules in order. `rules` ends with NULL; every rule has passed rh_rule_problem(). */
void rh_rules_apply(const char *const *rules, RhConfig *config);
