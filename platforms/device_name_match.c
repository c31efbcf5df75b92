#include "platforms/device_name_match.h"
#include "platforms/devices/generation.h"

#include <math.h>
#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/interned_strings.h"
#include "base/json/json.h"
#include "base/units.h"
#include "platforms/catalogue.h"
#include "platforms/platform.h"

/* Sizes in a driver's words and in a vendor's differ by what the driver keeps. */
#define ALIKE_FRAC 0.06

/* --- the lists in the files --- */

typedef struct {
    const char *file, *name; /* interned */
} Listed;

static void list_file(const char *kind, const char *file, GArray *out)
{
    g_autofree char *path = rh_catalogue_path(kind, file);
    g_autoptr(RhJson) doc = rh_json_load(path, NULL);
    const RhJsonNode *names = doc ? rh_json_array_or_null(doc, rh_json_root(doc), "names") : NULL;
    for (const RhJsonNode *n = names ? rh_json_first(names) : NULL; n; n = rh_json_next(n)) {
        Listed row = {rh_intern(file), rh_json_node_string(doc, n)};
        g_array_append_val(out, row);
    }
}

/* Lists the names in the files of a kind, read once per process. */
static const GArray *listed(const char *kind)
{
    static GMutex lock;
    static GArray *devices, *platforms;
    bool of_devices = strcmp(kind, "devices") == 0;
    g_mutex_lock(&lock);
    GArray **list = of_devices ? &devices : &platforms;
    if (!*list) {
        *list = g_array_new(FALSE, FALSE, sizeof(Listed));
        const char *const *files = of_devices ? rh_device_names() : rh_platform_names();
        for (; *files; files++)
            list_file(kind, *files, *list);
    }
    g_mutex_unlock(&lock);
    return *list;
}

/* --- a device's name in parts --- */

typedef struct {
    GString *model;   /* "rtx4090" */
    const char *form; /* "sxm"; NULL: not said */
    double gb;        /* 0: not said */
} Parts;

static void parts_clear(Parts *parts)
{
    g_string_free(parts->model, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Parts, parts_clear)

/* Returns whether the word is letters, of these, and then digits alone: "x8", "nvl72". */
static bool is_counted(const char *word, const char *letters)
{
    size_t n = strlen(letters);
    return strncmp(word, letters, n) == 0 && word[n] && !word[n + strspn(word + n, "0123456789")];
}

/* Returns whether the word says nothing of which device it is. */
static bool is_noise(const char *word)
{
    static const char *const words[] = {
        "nvidia", "amd",        "intel",  "google",       "cloud", "corporation", "corp", "inc",
        "tesla",  "geforce",    "quadro", "instinct",     "ati",   "accelerator", "gpu",  "gpus",
        "card",   "graphics",   "tensor", "core",         "cpu",   "r",           "tm",   "habana",
        "labs",   "generation", "vram",   "hbm",          "hbm2",  "hbm2e",       "hbm3", "hbm3e",
        "gddr6",  "gddr6x",     "gddr7",  "accelerators", "x",     "ac",          NULL};
    return g_strv_contains(words, word) || is_counted(word, "x") || is_counted(word, "nvl");
}

/* Returns the form factor of a word, NULL for others. */
static const char *form_of(const char *word)
{
    static const struct {
        const char *word, *form;
    } forms[] = {{"sxm", "sxm"},  {"hgx", "sxm"}, {"dgx", "sxm"}, {"pcie", "pcie"},
                 {"pci", "pcie"}, {"nvl", "nvl"}, {"oam", "oam"}};
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++)
        if (strcmp(word, forms[i].word) == 0)
            return forms[i].form;
    return is_counted(word, "sxm") ? "sxm" : NULL;
}

/* Returns the GB of "80gb", "80g" and "80gib", and of a number that the word behind it, or its
 * place behind a model, makes a size; 0 for others. */
static double gigabytes_of(const char *word, const char *next, const char *model)
{
    static const char *const units[] = {"gb", "g", "gib", NULL};
    size_t digits = strspn(word, "0123456789");
    double value = digits > 0 && digits < 5 ? g_ascii_strtod(word, NULL) : 0;
    if (value == 0)
        return 0;
    if (word[digits])
        return g_strv_contains(units, word + digits) ? value : 0;
    bool said = next && g_strv_contains(units, next);
    return said || (value >= 10 && value <= 600 && strpbrk(model, "0123456789")) ? value : 0;
}

/* Splits a form factor that is written onto a model, "a100sxm4", off it. Returns the form. */
static const char *split_form(char *word)
{
    static const char *const forms[] = {"sxm", "pcie", "nvl", NULL};
    for (const char *const *form = forms; *form; form++) {
        char *at = strstr(word, *form);
        if (at && at != word && form_of(at)) {
            *at = '\0';
            return *form;
        }
    }
    return NULL;
}

static void take_word(Parts *p, char *word, const char *next)
{
    const char *form = form_of(word);
    if (form) {
        p->form = p->form ? p->form : form;
        return;
    }
    if (is_noise(word))
        return;
    double gb = gigabytes_of(word, next, p->model->str);
    if (gb > 0) {
        p->gb = p->gb > 0 ? p->gb : gb;
        return;
    }
    form = split_form(word);
    p->form = p->form ? p->form : form;
    g_string_append(p->model, word);
}

/* Returns the part of a line that names the device: what lspci has in brackets behind the chip. */
static char *named_part(const char *text)
{
    g_autoptr(GRegex) bracket = g_regex_new("\\[([^\\]\\[]*)\\]", 0, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;
    char *found = NULL;
    g_regex_match(bracket, text, 0, &match);
    for (; g_match_info_matches(match); g_match_info_next(match, NULL)) {
        g_autofree char *inside = g_match_info_fetch(match, 1);
        if (g_regex_match_simple("^[0-9a-f]{4}(:[0-9a-f]{4})?$|^AMD/ATI$", inside, 0, 0))
            continue;
        g_free(found);
        found = g_steal_pointer(&inside);
    }
    return found ? found : g_strdup(text);
}

/* Words of a name in lower case, without a count of devices before them ("8x H100"). */
static char **words_of(const char *text)
{
    g_autofree char *part = named_part(text);
    g_autoptr(GStrvBuilder) words = g_strv_builder_new();
    g_autofree char *lower = g_ascii_strdown(part, -1);
    lower[strcspn(lower, "@")] = '\0';
    for (char *c = lower; *c; c++)
        *c = g_ascii_isalnum(*c) ? *c : ' ';
    g_autoptr(GRegex) count = g_regex_new("^ *[0-9]+ *x *(?=[a-z])", 0, 0, NULL);
    g_autofree char *one = g_regex_replace_literal(count, lower, -1, 0, "", 0, NULL);
    g_auto(GStrv) all = g_strsplit(one, " ", -1);
    for (char **word = all; *word; word++)
        if (**word)
            g_strv_builder_add(words, *word);
    return g_strv_builder_end(words);
}

static Parts parts_of(const char *text)
{
    static const char *const units[] = {"gb", "g", "gib", NULL};
    Parts p = {.model = g_string_new(NULL)};
    g_auto(GStrv) words = words_of(text);
    for (char **word = words; *word; word++)
        if (!g_strv_contains(units, *word))
            take_word(&p, *word, word[1]);
    return p;
}

/* --- which devices fit --- */

/* A device whose model is that of the name. */
typedef struct {
    const char *device; /* interned */
    bool form, gb;      /* one of its names says those of the name, which says them */
    bool exact;         /* one of its names has the same parts */
    double nearest_gb;  /* its size nearest to the wanted one; 0: no name says any */
} Candidate;

static double nearer(double a, double b, double wanted)
{
    if (a == 0 || b == 0)
        return a + b;
    return fabs(a - wanted) <= fabs(b - wanted) ? a : b;
}

static Candidate *candidate_of(GArray *all, const char *device)
{
    for (guint i = 0; i < all->len; i++)
        if (g_array_index(all, Candidate, i).device == device)
            return &g_array_index(all, Candidate, i);
    Candidate fresh = {.device = device};
    g_array_append_val(all, fresh);
    return &g_array_index(all, Candidate, all->len - 1);
}

/* Lists the devices of the name's model; caller unrefs. */
static GArray *candidates_of(const Parts *wanted, double gb)
{
    GArray *all = g_array_new(FALSE, TRUE, sizeof(Candidate));
    const GArray *names = listed("devices");
    for (guint i = 0; i < names->len; i++) {
        const Listed *row = &g_array_index(names, Listed, i);
        g_auto(Parts) own = parts_of(row->name);
        if (strcmp(own.model->str, wanted->model->str) != 0)
            continue;
        Candidate *c = candidate_of(all, row->file);
        bool form = g_strcmp0(own.form, wanted->form) == 0;
        c->form |= !wanted->form || form;
        c->gb |= wanted->gb == 0 || own.gb == wanted->gb;
        c->exact |= form && own.gb == wanted->gb;
        c->nearest_gb = nearer(c->nearest_gb, own.gb, gb);
    }
    return all;
}

typedef bool (*Fits)(const Candidate *c, double gb);

static bool fits_form(const Candidate *c, double gb)
{
    (void)gb;
    return c->form;
}

static bool fits_gb(const Candidate *c, double gb)
{
    (void)gb;
    return c->gb;
}

static bool fits_memory(const Candidate *c, double gb)
{
    return fabs(c->nearest_gb - gb) <= ALIKE_FRAC * gb;
}

static bool is_exact(const Candidate *c, double gb)
{
    (void)gb;
    return c->exact;
}

/* Removes the candidates that do not fit, unless none does; returns whether one did. */
static bool keep(GArray *all, Fits fits, double gb)
{
    guint fitting = 0;
    for (guint i = 0; i < all->len; i++)
        fitting += fits(&g_array_index(all, Candidate, i), gb);
    for (guint i = all->len; fitting > 0 && i-- > 0;)
        if (!fits(&g_array_index(all, Candidate, i), gb))
            g_array_remove_index(all, i);
    return fitting > 0;
}

static char *names_but_first(const GArray *all, guint from)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = from; i < all->len; i++)
        g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "",
                               g_array_index(all, Candidate, i).device);
    return text->len > 0 ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

/* Puts the candidate whose size is nearest to the wanted one first. */
static void nearest_first(GArray *all, double gb)
{
    guint best = 0;
    for (guint i = 1; i < all->len; i++)
        if (fabs(g_array_index(all, Candidate, i).nearest_gb - gb) <
            fabs(g_array_index(all, Candidate, best).nearest_gb - gb))
            best = i;
    Candidate first = g_array_index(all, Candidate, best);
    g_array_index(all, Candidate, best) = g_array_index(all, Candidate, 0);
    g_array_index(all, Candidate, 0) = first;
}

/* Puts the candidate that a bare name of the model means first. */
static void plain_first(GArray *all, const Parts *wanted)
{
    Parts plain = {.model = wanted->model, .form = wanted->form};
    g_autoptr(GArray) again = candidates_of(&plain, 0);
    for (guint i = 0; i < again->len; i++)
        for (guint k = 1; g_array_index(again, Candidate, i).exact && k < all->len; k++)
            if (g_array_index(all, Candidate, k).device ==
                g_array_index(again, Candidate, i).device) {
                Candidate first = g_array_index(all, Candidate, k);
                g_array_index(all, Candidate, k) = g_array_index(all, Candidate, 0);
                g_array_index(all, Candidate, 0) = first;
            }
}

static bool is_same(const char *a, const char *b)
{
    for (;;) {
        while (*a && !g_ascii_isalnum(*a))
            a++;
        while (*b && !g_ascii_isalnum(*b))
            b++;
        if (!*a || !*b)
            return *a == *b;
        if (g_ascii_tolower(*a++) != g_ascii_tolower(*b++))
            return false;
    }
}

/* Is the text a name that a tool prints for this device, letter by letter? Tools name the vendor,
 * and each device by one name, so nothing else is meant. */
static bool is_tools_name(const char *text, const char *device)
{
    const GArray *names = listed("devices");
    if (!g_regex_match_simple("^(NVIDIA|Tesla|AMD|Quadro|Intel) ", text, G_REGEX_CASELESS, 0))
        return false;
    for (guint i = 0; i < names->len; i++) {
        const Listed *row = &g_array_index(names, Listed, i);
        if (row->file == device && is_same(row->name, text))
            return true;
    }
    return false;
}

/* Fails with the nearest names; of those alike the calibrated device of a generation first, which a
 * bare "h100" means most often. */
static bool fail_unknown(const char *text, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const RhGeneration *g = rh_generations; g->name; g++)
        if (!g_ptr_array_find_with_equal_func(names, g->reference, g_str_equal, NULL))
            g_ptr_array_add(names, (gpointer)g->reference);
    for (const char *const *name = rh_device_names(); *name; name++)
        if (!g_ptr_array_find_with_equal_func(names, *name, g_str_equal, NULL))
            g_ptr_array_add(names, (gpointer)*name);
    g_ptr_array_add(names, NULL);
    return rh_catalogue_fail_unknown("device", text, (const char *const *)names->pdata, error);
}

bool rh_device_by_name(const char *text, double memory_bytes, RhDeviceName *out, GError **error)
{
    g_auto(Parts) wanted = parts_of(text);
    double gb = wanted.gb > 0 ? wanted.gb : memory_bytes / RH_GIB_BYTES;
    g_autoptr(GArray) all = candidates_of(&wanted, gb);
    if (all->len == 0)
        return fail_unknown(text, error);
    if (!keep(all, fits_form, gb)) {
        g_autofree char *known = names_but_first(all, 0);
        return rh_fail(error, RH_ERROR_INPUT,
                       "the catalogue has no \"%s\": of this model it has %s, in another form "
                       "factor",
                       text, known);
    }
    RhDeviceName found = {.bare = !wanted.form && wanted.gb == 0};
    bool sized = keep(all, fits_gb, gb);
    if (wanted.gb == 0 && memory_bytes > 0 && all->len > 1)
        (void)keep(all, fits_memory, gb);
    GArray *fitting = g_array_copy(all);
    if (!keep(all, is_exact, gb))
        plain_first(all, &wanted);
    if (!sized)
        nearest_first(all, gb);
    const Candidate *chosen = &g_array_index(all, Candidate, 0);
    found.device = chosen->device;
    if (!sized) {
        found.other_gb = gb;
        found.known_gb = chosen->nearest_gb;
    }
    if (is_tools_name(text, found.device))
        g_array_set_size(fitting, 0);
    for (guint i = fitting->len; i-- > 0;)
        if (g_array_index(fitting, Candidate, i).device == found.device)
            g_array_remove_index(fitting, i);
    found.also = sized ? names_but_first(fitting, 0) : NULL;
    g_array_unref(fitting);
    *out = found;
    return true;
}

void rh_device_name_clear(RhDeviceName *match)
{
    g_clear_pointer(&match->also, g_free);
}

const char *rh_device_of_name(const char *text, bool exact, GError **error)
{
    g_auto(RhDeviceName) match = {0};
    if (!rh_device_by_name(text, 0, &match, error))
        return NULL;
    if (exact && match.bare && match.also) {
        fail_unknown(text, error);
        return NULL;
    }
    if (match.other_gb == 0)
        return match.device;
    rh_fail(error, RH_ERROR_INPUT,
            "the catalogue has no \"%s\": the nearest, %s, has %g GB\n"
            "help: take %s and set device.hbm=%gGiB, and device.hbm_bandwidth where it differs",
            text, match.device, match.known_gb, match.device, match.other_gb);
    return NULL;
}

/* --- platforms --- */

const char *rh_platform_of_name(const char *text)
{
    const GArray *names = listed("clusters");
    for (const char *const *own = rh_platform_names(); *own; own++)
        if (is_same(*own, text))
            return *own;
    for (guint i = 0; i < names->len; i++)
        if (is_same(g_array_index(names, Listed, i).name, text))
            return g_array_index(names, Listed, i).file;
    return NULL;
}
