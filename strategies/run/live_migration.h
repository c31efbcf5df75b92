#pragma once
/* Moving a machine to another one while it runs: memory is copied in rounds, each of which sends what was written during
 * the one before, until what is left is sent in a short stop (pre-copy: Clark et al., NSDI 2005). Pages may be
 * compressed on the way (VNIX with LZO, by Zhou et al.: 44.1 % less data). */
#include <stdint.h>

typedef struct {
    double memory_bytes; /* of a machine; 0: nothing is moved */
    double dirty_bytes_per_s;
    double link_bytes_per_s;
    double packed_frac;      /* of a page's bytes that are sent; 1: as they are */
    double pack_bytes_per_s; /* of pages that are compressed a second; 0: no limit */
    double downtime_s; /* that a stop may last for what is left; above it another round is sent */
} RhLiveMigration;

/* Downtime and rounds up to which QEMU's migration goes on by default (migrate_set_parameter downtime-limit), and
 * Xen's (max_iters). */
#define RH_MIGRATION_DOWNTIME_S 0.3
#define RH_MIGRATION_ROUNDS     30

typedef struct {
    int32_t rounds;    /* before the stop */
    double sent_bytes; /* all, the stop's included */
    double moving_s;   /* from the first byte to the last */
    double stopped_s;  /* part of it */
} RhMigrationTimes;

/* Returns what a move takes. Rounds end too where they no longer get shorter: memory is written as fast as it is
 * sent. */
RhMigrationTimes rh_live_migration(const RhLiveMigration *migration);
