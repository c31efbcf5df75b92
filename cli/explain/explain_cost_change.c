#include "cli/explain/explain_cost_change.h"

#include "report/format.h"

/* Within a text that stands `indent` in. */
static void append_shares(GString *out, const char *name, const RhComparedSide *changed,
                          const RhComparedSide *before, const char *indent)
{
    g_autofree char *shares = rh_report_token_shares(changed, before, "");
    g_autofree char *line = shares ? g_strconcat(indent, name, " takes ", shares, NULL) : NULL;
    if (line)
        rh_text_wrap(out, line, 4, 75); /* less the indent, and the four it is not in yet */
}

void rh_explain_append_sizes(GString *out, const char *name, const RhComparedSide *changed,
                             const RhComparedSide *before)
{
    if (!rh_compared_alike(changed, before))
        append_shares(out, name, changed, before, "");
}

void rh_explain_append_money(GString *out, const char *name, const RhComparedSide *changed,
                             const RhComparedSide *before)
{
    bool priced = changed->r->cost_usd > 0, was_priced = before->r->cost_usd > 0;
    if (rh_compared_alike(changed, before))
        append_shares(out, name, changed, before, "  ");
    if (priced != was_priced)
        g_string_append_printf(out, "  a step costs %.4g USD %s; %s no price is known\n",
                               priced ? changed->r->cost_usd : before->r->cost_usd,
                               priced ? name : "before", priced ? "before" : name);
}
