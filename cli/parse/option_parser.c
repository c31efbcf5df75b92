#include "cli/parse/option_parser.h"

#include <string.h>

#include "base/error.h"
#include "base/text/nearest_names.h"
#include "cli/inputs/launch_input.h"
#include "cli/inputs/result_file.h"
#include "cli/parse/commands.h"

#define FIELD(arguments, option, type) ((type *)(void *)((char *)(arguments) + (option)->offset))

static const RhOption *find_letter(const RhCommand *command, char letter)
{
    for (const RhOption *const *table = command->tables; *table; table++)
        for (const RhOption *o = *table; o->name; o++)
            if (o->letter == letter)
                return o;
    return NULL;
}

/* "note: ..." of another command that has this letter, or where the options are listed. Caller frees. */
static char *letter_advice(const RhCommand *command, char letter)
{
    for (const RhCommand *const *c = rh_commands; *c; c++)
        if (find_letter(*c, letter))
            return g_strdup_printf("note: that is an option of `rehearse %s`", (*c)->name);
    return g_strdup_printf("help: `rehearse %s -h` lists its options", command->name);
}

/* Which other command knows this option, for the note of the error. */
static const RhCommand *find_owner(const char *name, size_t length)
{
    for (const RhCommand *const *c = rh_commands; *c; c++)
        if (rh_options_find(*c, name, length))
            return *c;
    return NULL;
}

#define RH_LORA_HELP                                                                               \
    "adapters are set: --set lora.rank=16, and --set lora.base=nf4 or int4 for frozen weights of " \
    "4 bits (QLoRA); a model that is served takes --dtype int4-weights"

/* Words of other programs for what is said in another way here: of an option, or of a choice of one. */
static const struct {
    const char *option, *choice, *help;
} said_otherwise[] = {
    {"lora", NULL, RH_LORA_HELP},      {"qlora", NULL, RH_LORA_HELP},
    {"lora-rank", NULL, RH_LORA_HELP}, {"load-in-4bit", NULL, RH_LORA_HELP},
    {"dtype", "int4", RH_LORA_HELP},   {"dtype", "nf4", RH_LORA_HELP},
    {"dtype", "4bit", RH_LORA_HELP},
};

/* The help for such a word; NULL: none is known. `choice` NULL: of the option itself. */
static const char *help_otherwise(const char *option, const char *choice)
{
    for (size_t i = 0; i < G_N_ELEMENTS(said_otherwise); i++)
        if (strcmp(said_otherwise[i].option, option) == 0 &&
            g_strcmp0(said_otherwise[i].choice, choice) == 0)
            return said_otherwise[i].help;
    return NULL;
}

static bool fail_unknown(const RhCommand *command, const char *name, size_t length, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const RhOption *const *table = command->tables; *table; table++)
        for (const RhOption *o = *table; o->name; o++)
            g_ptr_array_add(names, (char *)o->name);
    g_ptr_array_add(names, NULL);
    g_autofree char *word = g_strndup(name, length);
    const char *near = rh_near_name(word, (const char *const *)names->pdata);
    const RhCommand *owner = find_owner(name, length);
    const char *otherwise = help_otherwise(word, NULL);
    if (otherwise)
        return rh_fail(error, RH_ERROR_USAGE, "%s has no option --%s\nhelp: %s", command->name,
                       word, otherwise);
    if (near)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s has no option --%s\nhelp: an option with a similar name exists: --%s",
                       command->name, word, near);
    if (owner)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s has no option --%s\nnote: that is an option of `rehearse %s`",
                       command->name, word, owner->name);
    return rh_fail(error, RH_ERROR_USAGE,
                   "%s has no option --%s\nhelp: `rehearse %s -h` lists its options", command->name,
                   word, command->name);
}

static bool check_choice(const RhOption *o, const char *text, GError **error)
{
    g_auto(GStrv) choices = g_strsplit(o->choices, "|", -1);
    if (g_strv_contains((const char *const *)choices, text))
        return true;
    g_autofree char *list = g_strjoinv(", ", choices);
    const char *near = rh_near_name(text, (const char *const *)choices);
    const char *otherwise = help_otherwise(o->name, text);
    rh_fail(error, RH_ERROR_USAGE, "--%s: \"%s\" is not one of %s", o->name, text, list);
    if (otherwise)
        rh_error_help(error, "%s", otherwise);
    if (near)
        rh_error_help(error, "a similar one exists: --%s %s", o->name, near);
    return false;
}

static bool read_choice(const RhOption *o, const char *text, RhArguments *a, GError **error)
{
    g_auto(GStrv) words = g_strsplit(text, o->several ? "," : "|", -1);
    for (char **word = words; *word; word++)
        if (!check_choice(o, o->several ? *word : text, error))
            return false;
    *FIELD(a, o, const char *) = text;
    return *words || check_choice(o, text, error);
}

/* A value that could not be read is a wrong command line, whatever the reader calls it; what is asked for is said. */
static bool as_usage(const RhOption *o, GError *local, GError **error)
{
    local->code = RH_ERROR_USAGE;
    rh_error_note(&local, "--%s  %s", o->name, o->help);
    g_propagate_prefixed_error(error, local, "--%s: ", o->name);
    return false;
}

/* Every fraction that an option takes is a share. */
static bool read_quantity(const RhOption *o, const char *text, double *value, GError **error)
{
    bool fine = o->quantity == RH_QUANTITY_FRAC
                    ? rh_share_parse_like(text, o->otherwise, value, error)
                    : rh_quantity_parse_like(text, o->quantity, o->value, value, error);
    if (fine && o->positive && *value <= 0)
        return rh_fail(error, RH_ERROR_USAGE, "\"%s\" must be more than 0", text);
    if (fine && o->high > 0 && *value > (double)o->high) {
        g_autofree char *most = rh_quantity_format((double)o->high, o->quantity, 3);
        return rh_fail(error, RH_ERROR_USAGE, "\"%s\" must be at most %s", text, most);
    }
    return fine;
}

/* Numbers of tokens in a sample are powers of two: 8k is 8,192. */
static bool read_integer(const RhOption *o, const char *text, int64_t *value, GError **error)
{
    size_t length = strlen(text);
    if (!o->binary || length < 2 || (text[length - 1] != 'k' && text[length - 1] != 'K'))
        return rh_integer_parse(text, o->low, o->high, value, error);
    g_autofree char *number = g_strndup(text, length - 1);
    if (!rh_integer_parse(number, 1, o->high / 1024, value, NULL))
        return rh_integer_parse(text, o->low, o->high, value, error);
    *value *= 1024;
    return true;
}

static bool store_value(const RhOption *o, const char *text, RhArguments *a, GError **error)
{
    GError *local = NULL;
    switch (o->kind) {
    case RH_OPTION_TEXT:
        *FIELD(a, o, const char *) = text;
        return true;
    case RH_OPTION_LIST:
        g_ptr_array_add(*FIELD(a, o, GPtrArray *), (char *)text);
        return true;
    case RH_OPTION_CHOICE:
        return read_choice(o, text, a, error);
    case RH_OPTION_INTEGER:
        return read_integer(o, text, FIELD(a, o, int64_t), &local) || as_usage(o, local, error);
    case RH_OPTION_QUANTITY:
        return read_quantity(o, text, FIELD(a, o, double), &local) || as_usage(o, local, error);
    case RH_OPTION_FLAG:
        *FIELD(a, o, bool) = true;
        return true;
    case RH_OPTION_COUNT:
        *FIELD(a, o, int64_t) += 1;
        return true;
    case RH_OPTION_NONE:
        break;
    }
    g_return_val_if_reached(false);
}

static bool takes_value(const RhOption *o)
{
    return o->kind != RH_OPTION_FLAG && o->kind != RH_OPTION_COUNT;
}

typedef struct {
    const RhCommand *command;
    RhArguments *arguments;
    int count, at;
    char **words;
    GPtrArray *seen; /* const RhOption*, borrowed */
} Reading;

/* Notes the option as given; only lists and counts may come twice. */
static bool mark_seen(Reading *r, const RhOption *o, const char *value, GError **error)
{
    if (o->kind != RH_OPTION_LIST && o->kind != RH_OPTION_COUNT &&
        g_ptr_array_find(r->seen, o, NULL))
        return rh_fail(error, RH_ERROR_USAGE, "--%s is given twice", o->name);
    g_ptr_array_add(r->seen, (void *)o);
    if (!o->neutral) {
        g_ptr_array_add(r->arguments->recorded, g_strconcat("--", o->name, NULL));
        if (value)
            g_ptr_array_add(r->arguments->recorded, g_strdup(value));
    }
    return true;
}

/* `inlined` is the value after '=' (or glued to a letter), NULL when there is none. */
static bool read_option(Reading *r, const RhOption *o, const char *inlined, GError **error)
{
    const char *value = inlined;
    if (!takes_value(o) && value)
        return rh_fail(error, RH_ERROR_USAGE, "--%s takes no value, \"%s\" given", o->name, value);
    bool last = r->at + 1 >= r->count;
    if (takes_value(o) && !value && o->implied && (last || r->words[r->at + 1][0] == '-'))
        value = o->implied;
    if (takes_value(o) && !value) {
        if (last)
            return rh_fail(error, RH_ERROR_USAGE, "--%s needs a value: %s\nnote: --%s  %s", o->name,
                           o->value, o->name, o->help);
        value = r->words[++r->at];
    }
    return mark_seen(r, o, value, error) && store_value(o, value, r->arguments, error);
}

static bool read_long(Reading *r, const char *word, GError **error)
{
    size_t length = strcspn(word, "=");
    const RhOption *o = rh_options_find(r->command, word, length);
    if (!o)
        return fail_unknown(r->command, word, length, error);
    return read_option(r, o, word[length] ? word + length + 1 : NULL, error);
}

static bool read_letters(Reading *r, const char *letters, GError **error)
{
    for (const char *c = letters; *c; c++) {
        const RhOption *o = find_letter(r->command, *c);
        if (!o) {
            g_autofree char *advice = letter_advice(r->command, *c);
            return rh_fail(error, RH_ERROR_USAGE, "%s has no option -%c\n%s", r->command->name, *c,
                           advice);
        }
        if (takes_value(o))
            return read_option(r, o, c[1] ? c + 1 + (c[1] == '=') : NULL, error);
        if (!read_option(r, o, NULL, error))
            return false;
    }
    return true;
}

static void init_arguments(RhArguments *a)
{
    *a = (RhArguments){0};
    GPtrArray **lists[] = {&a->sets,    &a->limits, &a->fixes,    &a->what_ifs, &a->operands,
                           &a->outputs, &a->froms,  &a->besides,  &a->tables,   &a->platforms,
                           &a->prices,  &a->phases, &a->scenarios};
    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++)
        *lists[i] = g_ptr_array_new();
    a->recorded = g_ptr_array_new_with_free_func(g_free);
}

char **rh_arguments_words(const GPtrArray *words)
{
    char **out = g_new0(char *, words->len + 1);
    for (guint i = 0; i < words->len; i++)
        out[i] = g_strdup(g_ptr_array_index(words, i));
    return out;
}

bool rh_arguments_given(const RhArguments *a, const char *option)
{
    return g_ptr_array_find_with_equal_func(a->recorded, option, g_str_equal, NULL);
}

void rh_arguments_clear(RhArguments *a)
{
    GPtrArray **lists[] = {&a->sets,      &a->limits, &a->fixes,   &a->what_ifs, &a->operands,
                           &a->outputs,   &a->froms,  &a->besides, &a->tables,   &a->recorded,
                           &a->platforms, &a->prices, &a->phases,  &a->scenarios};
    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++)
        g_clear_pointer(lists[i], g_ptr_array_unref);
    g_clear_pointer(&a->launch_file, rh_launch_file_free);
    g_clear_pointer(&a->launch_options, g_strfreev);
    g_clear_pointer(&a->launch_words, g_free);
}

static void fill_defaults(const RhCommand *command, RhArguments *a)
{
    for (const RhOption *const *table = command->tables; *table; table++)
        for (const RhOption *o = *table; o->name; o++)
            if (o->otherwise && o->kind != RH_OPTION_LIST)
                g_assert(store_value(o, o->otherwise, a, NULL));
}

/* The first of "a|b" that is given; NULL: none. */
static const RhOption *given_of(const Reading *r, const char *names)
{
    g_auto(GStrv) list = g_strsplit(names ? names : "", "|", -1);
    for (char **name = list; *name; name++) {
        const RhOption *o = rh_options_find(r->command, *name, strlen(*name));
        if (o && g_ptr_array_find(r->seen, o, NULL))
            return o;
    }
    return NULL;
}

static bool check_alternatives(const Reading *r, GError **error)
{
    for (guint i = 0; i < r->seen->len; i++) {
        const RhOption *o = g_ptr_array_index(r->seen, i), *other = given_of(r, o->unless);
        if (other)
            return rh_fail(error, RH_ERROR_USAGE, "--%s does not go with --%s", o->name,
                           other->name);
    }
    return true;
}

/* Everything that must be said and is not, as far as the tables know: one error names it all. */
static bool check_given(const Reading *r, GError **error)
{
    const RhCommand *c = r->command;
    g_autoptr(GPtrArray) missing = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GString) notes = g_string_new(NULL);
    for (const RhOption *const *table = c->tables; *table; table++)
        for (const RhOption *o = *table; o->name; o++) {
            if (given_of(r, o->unless) || (given_of(r, o->or_else) && !r->arguments->launch) ||
                g_ptr_array_find(r->seen, o, NULL))
                continue;
            bool needed = o->required && !rh_option_has_stand_in(c, o);
            g_autofree char *full = needed && o->unless ? rh_option_text(c, o) : g_strdup(o->help);
            const char *text = g_str_has_suffix(full, " (needed)") ? o->help : full;
            if (needed)
                g_ptr_array_add(missing, g_strdup_printf("--%s %s", o->name, o->value));
            if (needed || (o->usual && missing->len > 0))
                g_string_append_printf(notes, "\nnote: --%s  %s", o->name, text);
        }
    if ((int32_t)r->arguments->operands->len < c->operands_low)
        g_ptr_array_add(missing, g_strdup(c->operands));
    if (missing->len == 0)
        return true;
    char *last = missing->len > 1 ? g_ptr_array_steal_index(missing, missing->len - 1) : NULL;
    g_autofree char *tail = last ? g_strdup_printf(" and %s", last) : g_strdup("");
    g_free(last);
    g_ptr_array_add(missing, NULL);
    g_autofree char *names = g_strjoinv(", ", (char **)missing->pdata);
    return rh_fail(error, RH_ERROR_USAGE,
                   "%s needs %s%s%s\nhelp: `rehearse %s --help` has examples", c->name, names, tail,
                   notes->str, c->name);
}

static bool check_complete(const Reading *r, GError **error)
{
    const RhCommand *c = r->command;
    const GPtrArray *operands = r->arguments->operands;
    if (!check_alternatives(r, error))
        return false;
    if ((int32_t)operands->len > c->operands_high)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s: \"%s\" is one word too many\nnote: usage: "
                       "rehearse %s%s%s [options]",
                       c->name, (const char *)g_ptr_array_index(operands, c->operands_high),
                       c->name, *c->operands ? " " : "", c->operands);
    return check_given(r, error);
}

static bool read_words(Reading *r, GError **error)
{
    bool options_ended = false;
    for (r->at = 0; r->at < r->count; r->at++) {
        const char *word = r->words[r->at];
        bool fine = true;
        if (options_ended || word[0] != '-' || !word[1]) {
            g_ptr_array_add(r->arguments->operands, r->words[r->at]);
            g_ptr_array_add(r->arguments->recorded, g_strdup(word));
        } else if (strcmp(word, "--") == 0) {
            options_ended = true;
        } else if (word[1] == '-') {
            fine = read_long(r, word + 2, error);
        } else {
            fine = read_letters(r, word + 1, error);
        }
        if (!fine)
            return false;
    }
    return true;
}

/* Takes an option back that was given. */
static void forget(Reading *r, const RhOption *o)
{
    g_autofree char *word = g_strconcat("--", o->name, NULL);
    guint at = 0;
    g_ptr_array_remove(r->seen, (void *)o);
    if (g_ptr_array_find_with_equal_func(r->arguments->recorded, word, g_str_equal, &at))
        g_ptr_array_remove_range(r->arguments->recorded, at, 2);
}

/* Takes an operand back. */
static void forget_operand(Reading *r, const char *word)
{
    guint at = 0;
    g_ptr_array_set_size(r->arguments->operands, 0);
    if (g_ptr_array_find_with_equal_func(r->arguments->recorded, word, g_str_equal, &at))
        g_ptr_array_remove_index(r->arguments->recorded, at);
}

/* Reads one option that a launch of the user's or a result stands for; one that is given goes before it, but for
 * a layout, of which knobs that are not given are its. */
static bool read_launched(Reading *r, const char *word, const char *value, GString *said,
                          GError **error)
{
    const RhOption *o = rh_options_find(r->command, word + 2, strlen(word) - 2);
    bool layout = strcmp(word, "--strategy") == 0;
    const char letter[] = {o ? o->letter : 0, 0};
    if (layout && o && !o->layout_keys)
        return true; /* deployments of a service are no layouts */
    if (layout)
        r->arguments->strategy = value;
    if (!o || (o->kind != RH_OPTION_LIST && !layout && g_ptr_array_find(r->seen, o, NULL)))
        return true;
    if (o->kind == RH_OPTION_TEXT && strcmp(word, "--gpus") == 0)
        return true; /* of a range to choose from the launch says nothing */
    if (layout)
        forget(r, o);
    g_string_append_printf(said, " %s%s %s", o->letter ? "-" : word, o->letter ? letter : "",
                           value);
    return mark_seen(r, o, value, error) && store_value(o, value, r->arguments, error);
}

/* The launch among the files of --from, where these are a list of several kinds: it stands beside a
 * log of what it started. NULL: there is none. */
static const char *launch_among(const Reading *r)
{
    const GPtrArray *froms = r->arguments->froms;
    bool takes = rh_options_find(r->command, "strategy", strlen("strategy")) != NULL;
    for (guint i = 0; takes && i < froms->len; i++)
        if (rh_launch_kind_of(froms->pdata[i]))
            return froms->pdata[i];
    return NULL;
}

/* Reads the options that the file of --from stands for. */
static bool read_launch(Reading *r, GError **error)
{
    RhArguments *a = r->arguments;
    if (!a->launch)
        a->launch = launch_among(r);
    if (!a->launch)
        return true;
    g_autoptr(GString) said = g_string_new(NULL);
    a->launch_options = rh_launch_input_words(a, error);
    for (char **word = a->launch_options; word && *word; word += 2)
        if (!read_launched(r, word[0], word[1], said, error))
            return false;
    a->launch_words = g_strdup(said->str);
    return a->launch_options != NULL;
}

/* Takes an operand that names a layout of a result as --strategy. */
static bool read_layout_operand(Reading *r, GError **error)
{
    RhArguments *a = r->arguments;
    const RhOption *o = rh_options_find(r->command, "strategy", strlen("strategy"));
    if (!r->command->operand_is_layout || a->operands->len != 1)
        return true;
    const char *word = a->operands->pdata[0];
    if (!rh_result_is_named(word))
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s: \"%s\" is no plan.json#RANK\nhelp: a layout stands behind -s",
                       r->command->name, word);
    if (a->strategy)
        return rh_fail(error, RH_ERROR_USAGE, "%s: --strategy and \"%s\" are two layouts",
                       r->command->name, word);
    forget_operand(r, word);
    return mark_seen(r, o, word, error) && store_value(o, word, a, error);
}

/* Reads the options of the question behind a layout of a result, where no model and no platform is given; others that are
 * given go before them. */
static bool read_result(Reading *r, GError **error)
{
    RhArguments *a = r->arguments;
    if (!read_layout_operand(r, error))
        return false;
    const RhOption *o = rh_options_find(r->command, "strategy", strlen("strategy"));
    if (!o || !o->layout_keys || !a->strategy || !rh_result_is_named(a->strategy) || a->launch ||
        given_of(r, "workload|platform|program"))
        return true;
    g_autoptr(GString) said = g_string_new(NULL);
    a->launch_options = rh_result_options(a->strategy, error);
    for (char **word = a->launch_options; word && *word; word += 2)
        if (!read_launched(r, word[0], word[1], said, error))
            return false;
    return a->launch_options != NULL;
}

bool rh_options_parse(const RhCommand *command, int count, char **words, RhArguments *arguments,
                      GError **error)
{
    init_arguments(arguments);
    fill_defaults(command, arguments);
    g_autoptr(GPtrArray) seen = g_ptr_array_new();
    Reading r = {
        .command = command, .arguments = arguments, .count = count, .words = words, .seen = seen};
    g_ptr_array_add(arguments->recorded, g_strdup(command->name));
    if (!read_words(&r, error))
        return false;
    if (arguments->help_short || arguments->help_long)
        return true;
    if (!read_launch(&r, error) || !read_result(&r, error))
        return false;
    bool complete = check_complete(&r, error);
    if (!complete && arguments->launch_words)
        rh_error_note(error, "%s is %s:%s", arguments->launch, arguments->launch_file->about,
                      arguments->launch_words);
    return complete;
}
