#pragma once
/* The groups of a kind in one stage. Many layouts have the same ones: what their collectives take is found once. */
#include "strategies/search/screen.h"

typedef struct {
    int32_t id;
    bool intervals_alike; /* rh_screen_group_set */
    GArray *apart;        /* rh_screen_groups_apart; NULL: not asked for yet */
} RhGroupSet;

void rh_group_set_free(void *set);
/* The screen's. `intervals_alike`: the ranks that its groups take in, from the first place on and so on, meet links
 * like one another's. Those of one such interval of places begin together; those of another may not where they lie
 * otherwise. */
RhGroupSet *rh_screen_group_set(RhScreen *screen, const RhNet *net, int32_t stage,
                                RhGroupKind kind);
/* A rank of each of its groups (int32_t), but for those that lie as another does, moved over the fabric: alone
 * on the links they take as long. */
const GArray *rh_screen_groups_apart(RhScreen *screen, const RhNet *net, int32_t stage,
                                     RhGroupKind kind);
