#include "calibrate/measure/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET_S 270 /* with this, a run stays under five minutes including its start and end */

/* Converts "5m", "90s", "1.5m" or "90" to seconds; a negative number when `text` is no time. */
static double seconds_of(const char *text)
{
    long whole, tenths = 0;
    char *end;
    errno = 0;
    whole = strtol(text, &end, 10);
    if (end == text || errno != 0 || whole < 0 || text[0] == '+' || text[0] == ' ')
        return -1;
    if (end[0] == '.' && end[1] >= '0' && end[1] <= '9') {
        tenths = end[1] - '0';
        end += 2;
    }
    double value = (double)whole + (double)tenths / 10;
    if (strcmp(end, "m") == 0 || strcmp(end, "min") == 0)
        return 60 * value;
    return end[0] == '\0' || strcmp(end, "s") == 0 ? value : -1;
}

/* Selects every class whose name begins with `word`. */
static bool select_classes(RkOptions *options, const char *word, size_t length)
{
    bool found = false;
    for (int i = 1; i < RK_RUN_LAST && length > 0; i++) {
        if (strncmp(rk_class_name((RkClass)i), word, length) != 0)
            continue;
        options->classes[i] = true;
        found = true;
    }
    return found;
}

static bool parse_classes(RkOptions *options, const char *text, char *why, size_t why_size)
{
    memset(options->classes, 0, sizeof options->classes);
    while (true) {
        size_t length = strcspn(text, ",");
        if (!select_classes(options, text, length)) {
            snprintf(why, why_size, "--run %.*s: no class begins so (--help lists them)",
                     (int)length, text);
            return false;
        }
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

static bool parse_number(const char *flag, const char *text, uint64_t max, uint64_t *out, char *why,
                         size_t why_size)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > max) {
        snprintf(why, why_size, "%s %s: a whole number is wanted", flag, text);
        return false;
    }
    *out = value;
    return true;
}

/* Sets an option that has a value. */
static bool set_option(RkOptions *o, const char *flag, const char *value, char *why,
                       size_t why_size)
{
    uint64_t number = 0;
    if (strcmp(flag, "--run") == 0)
        return parse_classes(o, value, why, why_size);
    if (strcmp(flag, "--budget") == 0) {
        o->budget_s = seconds_of(value);
        if (o->budget_s > 0)
            return true;
        snprintf(why, why_size, "--budget %s: a time above 0 is wanted, as in 90s or 5m", value);
        return false;
    }
    if (strcmp(flag, "-o") == 0) {
        o->out_file = value;
        return true;
    }
    if (strcmp(flag, "--list") == 0 || strcmp(flag, "--serve") == 0) {
        o->list_file = value;
        o->task = flag[2] == 'l' ? RK_DO_LIST : RK_DO_SERVE;
        return true;
    }
    if (strcmp(flag, "--device") == 0) {
        if (!parse_number(flag, value, 1023, &number, why, why_size))
            return false;
        o->device = (int)number;
        return true;
    }
    if (strcmp(flag, "--threads") == 0) {
        if (!parse_number(flag, value, 4096, &number, why, why_size))
            return false;
        o->threads = number > 0 ? (int)number : 1;
        return true;
    }
    return parse_number(flag, value, UINT64_MAX, &o->seed, why, why_size);
}

static bool takes_value(const char *flag)
{
    static const char *const FLAGS[] = {"--run",   "--budget", "-o",        "--list",
                                        "--serve", "--device", "--threads", "--seed"};
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        if (strcmp(flag, FLAGS[i]) == 0)
            return true;
    return false;
}

static bool plain(RkOptions *o, const char *flag)
{
    static const struct {
        const char *flag;
        RkTask task;
    } FLAGS[] = {{"--grid", RK_DO_GRID},
                 {"--check", RK_DO_CHECK},
                 {"--help", RK_DO_HELP},
                 {"-h", RK_DO_HELP},
                 {"--version", RK_DO_VERSION}};
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++) {
        if (strcmp(flag, FLAGS[i].flag) == 0) {
            o->task = FLAGS[i].task;
            return true;
        }
    }
    return false;
}

bool rk_options_parse(int argc, char *const *argv, RkOptions *out, char *why, size_t why_size)
{
    RkOptions o = {.task = RK_DO_MEASURE, .budget_s = BUDGET_S, .threads = 1, .seed = 1};
    for (int i = 0; i < RK_CLASS_LAST; i++)
        o.classes[i] = true;
    for (int i = 1; i < argc; i++) {
        const char *flag = argv[i];
        if (plain(&o, flag))
            continue;
        if (!takes_value(flag)) {
            snprintf(why, why_size, "%s: no such option (--help lists them)", flag);
            return false;
        }
        if (i + 1 == argc) {
            snprintf(why, why_size, "%s wants a value", flag);
            return false;
        }
        if (!set_option(&o, flag, argv[++i], why, why_size))
            return false;
    }
    *out = o;
    return true;
}
