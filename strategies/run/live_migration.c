#include "strategies/run/live_migration.h"

#include <math.h>

/* Bytes of memory that leave a second: compressing goes on while pages are sent. */
static double leaving_per_s(const RhLiveMigration *m)
{
    double sent = m->link_bytes_per_s / m->packed_frac;
    return m->pack_bytes_per_s > 0 ? fmin(sent, m->pack_bytes_per_s) : sent;
}

RhMigrationTimes rh_live_migration(const RhLiveMigration *m)
{
    RhMigrationTimes t = {0};
    double per_s = leaving_per_s(m), left = m->memory_bytes;
    while (t.rounds < RH_MIGRATION_ROUNDS && left > per_s * m->downtime_s) {
        double round_s = left / per_s, written = fmin(m->dirty_bytes_per_s * round_s, left);
        t.rounds++;
        t.moving_s += round_s;
        t.sent_bytes += left * m->packed_frac;
        if (written >= left)
            break;
        left = written;
    }
    t.stopped_s = left / per_s;
    t.moving_s += t.stopped_s;
    t.sent_bytes += left * m->packed_frac;
    return t;
}
