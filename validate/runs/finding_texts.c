#include "validate/runs/finding_texts.h"

#include "report/format.h"

void rh_finding_add(GPtrArray *findings, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_ptr_array_add(findings, g_strdup_vprintf(format, args));
    va_end(args);
}

void rh_findings_append(GString *out, const GPtrArray *findings)
{
    for (guint i = 0; i < findings->len; i++) {
        g_autofree char *line = g_strconcat("finding: ", findings->pdata[i], NULL);
        rh_text_wrap(out, line, 2, 79);
    }
}
