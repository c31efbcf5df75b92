#pragma once
/* Megatron-LM's words for a model. Private to this folder. */
#include "strategies/launch/framework.h"

/* RH_ERROR_USAGE: layers, biases or an activation that it has no words for. */
bool rh_megatron_check_model(const RhFramework *framework, const RhProblem *c,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Flags and notes. */
void rh_megatron_say_model(const RhFramework *framework, RhLaunchText *t);
