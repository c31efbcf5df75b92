/* Writes the parts of a launch: flags, notes and files. */
#include "base/error.h"
#include "base/units.h"
#include "strategies/launch/framework.h"

G_GNUC_PRINTF(3, 0)
static void append(GString *text, const char *between, const char *format, va_list arguments)
{
    if (text->len > 0)
        g_string_append(text, between);
    g_string_append_vprintf(text, format, arguments);
}

void rh_launch_write(RhLaunchText *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(t->flags, " ", format, arguments);
    va_end(arguments);
}

void rh_launch_note(RhLaunchText *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(t->notes, "\n", format, arguments);
    va_end(arguments);
}

void rh_launch_file(RhLaunchText *t, const char *name, const char *text)
{
    g_string_append_printf(t->files, "cat > %s <<'END'\n%sEND\n", name, text);
}

bool rh_launch_has_narrow_moments(const RhProblem *c)
{
    return c->job.moments && c->job.moments != &rh_adam_moments_fp32;
}

bool rh_launch_fail_model(const RhFramework *framework, const RhProblem *c, const char *what,
                          GError **error)
{
    return rh_fail(error, RH_ERROR_USAGE,
                   "%s: how %s is told of %s is not supported\n"
                   "help: plan without a launch, or describe the model to it by hand",
                   c->model->name, framework->title, what);
}
