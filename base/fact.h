#pragma once
/* Fact: a number with its provenance. Constants of hardware and fits are facts, never plain
 * doubles. */
#include <stdbool.h>

typedef enum {
    RH_TAG_NONE,
    RH_TAG_MEASURED,  /* m: timed on the machine it describes */
    RH_TAG_FITTED,    /* f: fitted to measurements, source says which */
    RH_TAG_DATASHEET, /* d: the vendor's figure */
    RH_TAG_ASSUMED,   /* a: a stated assumption */
} RhTag;

typedef struct {
    double value; /* SI */
    RhTag tag;
    const char *source; /* interned; never NULL in a loaded fact */
    const char *date;   /* interned "YYYY-MM" or "" */
    double low, high;   /* 95 % interval of a fit or a measurement; both 0: unknown */
} RhFact;

const char *rh_tag_name(RhTag tag); /* "measured" ... */
char rh_tag_letter(RhTag tag);      /* 'm' 'f' 'd' 'a', '-' for none */
/* Returns whether `--set` gave the value, which nothing may change afterwards. */
bool rh_fact_is_users(const RhFact *fact);
#define RH_SOURCE_USER "set by the user"
