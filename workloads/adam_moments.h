#pragma once
/* In which format Adam keeps its two moments. One row each. The fp32 copy of a parameter that it
 * updates, its master, is apart. */
#include <stdint.h>

typedef struct {
    const char *name;   /* --set moments */
    double bytes;       /* of both, for a parameter, scales included */
    const char *source; /* who trains so */
} RhAdamMoments;

/* ROW(what follows rh_adam_moments_, name) */
#define RH_ADAM_MOMENTS(ROW)                                                                       \
    ROW(fp32, "fp32")                                                                              \
    ROW(bf16, "bf16")                                                                              \
    ROW(8bit, "8bit")
#define RH_ADAM_MOMENTS_AS_CHOICE(row, name) "|" name
#define RH_ADAM_MOMENTS_CHOICES              (&(RH_ADAM_MOMENTS(RH_ADAM_MOMENTS_AS_CHOICE))[1])
#define RH_ADAM_MOMENTS_AS_WORD(row, name)   name,

#define RH_DECLARE_ADAM_MOMENTS(row, name) extern const RhAdamMoments rh_adam_moments_##row;
RH_ADAM_MOMENTS(RH_DECLARE_ADAM_MOMENTS)
#undef RH_DECLARE_ADAM_MOMENTS

/* NULL when unknown. */
const RhAdamMoments *rh_adam_moments_by_name(const char *name);
