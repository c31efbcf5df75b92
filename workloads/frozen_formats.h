#pragma once
/* In which format frozen weights of linear layers are held beside adapters (QLoRA, Dettmers et al.
 * 2023, arXiv 2305.14314). One row each. A product reads them in 16 bits: they are made wide by a
 * kernel of their own before it, in forward, in recomputation and in backward. */

typedef struct {
    const char *name;   /* --set lora.base */
    double bytes;       /* of a weight, its share of scales included */
    const char *source; /* who trains so */
} RhFrozenFormat;

/* ROW(what follows rh_frozen_format_, name) */
#define RH_FROZEN_FORMATS(ROW)                                                                     \
    ROW(nf4, "nf4")                                                                                \
    ROW(nf4_single, "nf4-single")                                                                  \
    ROW(int4, "int4")
#define RH_FROZEN_FORMAT_AS_CHOICE(row, name) "|" name
#define RH_FROZEN_FORMAT_CHOICES              (&(RH_FROZEN_FORMATS(RH_FROZEN_FORMAT_AS_CHOICE))[1])

#define RH_DECLARE_FROZEN_FORMAT(row, name) extern const RhFrozenFormat rh_frozen_format_##row;
RH_FROZEN_FORMATS(RH_DECLARE_FROZEN_FORMAT)
#undef RH_DECLARE_FROZEN_FORMAT

/* NULL when unknown. */
const RhFrozenFormat *rh_frozen_format_by_name(const char *name);
