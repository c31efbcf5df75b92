/* Rehearsals as bytes: the struct itself, then the data that it points to. */
#include "base/serialize.h"
#include "sim/program_result.h"
#include "strategies/search/rehearsals/run_metrics.h"

static void pack_links(GByteArray *out, const GArray *links)
{
    rh_pack_array(out, links, sizeof(RhLinkUse));
    for (guint i = 0; i < links->len; i++)
        rh_pack_text(out, g_array_index(links, RhLinkUse, i).name);
}

static GArray *unpack_links(RhUnpack *in)
{
    GArray *links = g_array_new(FALSE, FALSE, sizeof(RhLinkUse));
    rh_unpack_array(in, links, sizeof(RhLinkUse));
    for (guint i = 0; i < links->len; i++)
        g_array_index(links, RhLinkUse, i).name = rh_unpack_text(in);
    return links;
}

void rh_rehearsal_pack(GByteArray *out, const RhRehearsal *r)
{
    rh_pack(out, r, sizeof *r);
    rh_pack_text(out, r->approximate_why);
    rh_pack_text(out, r->memory_when);
    if (r->costs)
        rh_cost_pack(out, r->costs);
    if (r->links)
        pack_links(out, r->links);
}

RhRehearsal *rh_rehearsal_unpack(RhUnpack *in, const RhProblem *c)
{
    RhRehearsal *r = g_new(RhRehearsal, 1);
    rh_unpack(in, r, sizeof *r);
    bool costs = r->costs, links = r->links; /* theirs: only whether there are any */
    r->approximate_why = rh_unpack_text(in);
    r->memory_when = rh_unpack_text(in);
    r->costs = costs ? rh_cost_unpack(in) : NULL;
    r->links = links ? unpack_links(in) : NULL;
    if (!in->whole || (costs && !r->costs)) {
        rh_rehearsal_free(r);
        return NULL;
    }
    rh_run_metrics_record(c, r);
    return r;
}
