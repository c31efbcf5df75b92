#pragma once
/* What to type so that a training framework runs a layout: one file and one row of RH_FRAMEWORKS per
 * framework. A framework has a word for each knob of a layout; a knob or a value that it
 * has no word for is refused by name, and never left out.
 *
 *     g_autoptr(RhLaunch) launch = rh_launch_new("megatron", c, &layout, &error);
 *     printf("%s pretrain_gpt.py %s\n", launch->environment, launch->flags); */
#include "strategies/train/train.h"

/* The frameworks, a ROW each: the name, whose file ends in rh_framework_NAME. As choices of an option:
 * RH_FRAMEWORK_CHOICES, names behind "|". */
#define RH_FRAMEWORKS(ROW)           ROW(megatron)
#define RH_FRAMEWORK_AS_CHOICE(name) "|" #name
#define RH_FRAMEWORK_CHOICES         (&(RH_FRAMEWORKS(RH_FRAMEWORK_AS_CHOICE))[1])

typedef struct {
    char *environment; /* "CUDA_DEVICE_MAX_CONNECTIONS=1", "" for nothing; owned, as all */
    char *flags;       /* one line; $WORDS stand for what only the user knows */
    char *notes;       /* what else must hold, a line each; "" for nothing */
} RhLaunch;

/* RH_ERROR_USAGE for a framework that is not known, and for what it cannot run, with the reason. */
RhLaunch *rh_launch_new(const char *framework, const RhCase *c, const RhLayout *layout,
                        GError **error);
void rh_launch_free(RhLaunch *launch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLaunch, rh_launch_free)

/* Names of the frameworks, NULL-ended. */
const char *const *rh_launch_frameworks(void);
