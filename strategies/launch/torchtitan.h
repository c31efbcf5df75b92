#pragma once
/* TorchTitan's settings as rows. Private to this folder. */
#include "strategies/launch/framework.h"

#define RH_TORCHTITAN_ROWS 46
extern const RhLaunchRow rh_torchtitan_rows[RH_TORCHTITAN_ROWS];
/* Patterns of settings that change neither time nor memory of a step. */
extern const char rh_torchtitan_costless[];
/* RH_ERROR_USAGE: stages, or degrees of experts, that no settings say. */
bool rh_torchtitan_check_stages(const RhProblem *c, const RhLayout *l,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
bool rh_torchtitan_check_expert(const RhProblem *c, const RhLayout *l,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Works out what settings mean together. */
void rh_torchtitan_finish(RhLaunchReading *r);
