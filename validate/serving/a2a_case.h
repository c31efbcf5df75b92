#pragma once
/* A row of measured exchanges between experts as a question to strategies/a2a_backend.h. Private to validate/. */
#include "strategies/a2a_backend.h"
#include "validate/cases/case_translation_state.h"

typedef struct {
    RhCaseTranslation way;
    GHashTable *platforms; /* name to RhPlatform, of a whole table; rh_exchange_platforms_new() */
    const RhA2aBackend *backend;
    const RhPlatform *platform;
    RhA2aLoad load;
    bool combine;
} RhExchangeCase;

/* Caller unrefs; owns its platforms. */
GHashTable *rh_exchange_platforms_new(void);
/* From `way` and `platforms`; false: it cannot be said, and way.why tells it. */
bool rh_exchange_case_translate(RhExchangeCase *c);
