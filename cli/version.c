#include "cli/version.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"

/* Schemas of answers and files that the program writes, and what writes them. tests/cli/parse/contract.sh compares
 * them with the sources. */
static const struct {
    const char *schema, *of;
} schemas[] = {
    {"rehearse.beside/1", "simulate --beside"},
    {"rehearse.capacity/1", "capacity of training"},
    {"rehearse.capacity-service/1", "capacity of a service"},
    {"rehearse.check/1", "check"},
    {"rehearse.collective/1", "collective"},
    {"rehearse.compare/1", "compare"},
    {"rehearse.exchange-fit/1", "calibrate with measured exchanges of experts"},
    {"rehearse.explain/1", "explain"},
    {"rehearse.memory/1", "memory"},
    {"rehearse.perform/1", "a program performed by validate --suite"},
    {"rehearse.plan/1", "plan"},
    {"rehearse.playground/1", "the page of show playground"},
    {"rehearse.profile/1", "calibrate: constants of a cluster or a GPU"},
    {"rehearse.program/1", "-o x.program.json"},
    {"rehearse.program-run/1", "simulate --program"},
    {"rehearse.record/1", "validate --record"},
    {"rehearse.rl-plan/1", "rl-plan"},
    {"rehearse.run-changes/1", "explain of a run"},
    {"rehearse.run/1", "run"},
    {"rehearse.serve/1", "serve-plan and serve-simulate"},
    {"rehearse.server-fit/1", "calibrate --server"},
    {"rehearse.show/1", "show"},
    {"rehearse.simulate/1", "simulate"},
    {"rehearse.stack-fit/1", "calibrate --stack"},
    {"rehearse.study-table/1", "sweep merge"},
    {"rehearse.study/1", "sweep --template"},
    {"rehearse.sweep/1", "sweep"},
    {"rehearse.validate/1", "validate"},
    {"rehearse.version/1", "--version"},
};

static void print_json(void)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.version/1");
    rh_json_put_string(w, "version", RH_VERSION);
    rh_json_begin_array(w, "schemas");
    for (size_t i = 0; i < G_N_ELEMENTS(schemas); i++)
        rh_json_put_string(w, NULL, schemas[i].schema);
    rh_json_end_array(w);
    rh_json_end_object(w);
    g_autofree char *text = rh_json_writer_steal(w);
    fputs(text, stdout);
}

static void print_text(bool verbose)
{
    puts("rehearse " RH_VERSION);
    for (size_t i = 0; verbose && i < G_N_ELEMENTS(schemas); i++)
        printf("  %-28s %s\n", schemas[i].schema, schemas[i].of);
}

int rh_version_run(int count, char **words, GError **error)
{
    bool verbose = false, json = false;
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--json") == 0) {
            json = true;
        } else if (strcmp(words[i], "-v") == 0 || strcmp(words[i], "--verbose") == 0) {
            verbose = true;
        } else {
            rh_fail(error, RH_ERROR_USAGE,
                    "--version takes no %s\nhelp: `rehearse --version -v` or `rehearse --version "
                    "--json` adds the schemas of answers and files",
                    words[i]);
            return 2;
        }
    }
    if (json)
        print_json();
    else
        print_text(verbose);
    return 0;
}
