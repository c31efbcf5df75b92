#pragma once
/* Readers of launches, by framework: private to this folder. */
#include "strategies/launch/framework.h"
#include "strategies/launch/launch_read.h"

/* Tables that launches are read by, of frameworks whose launches other functions write or nothing does. */
extern const RhFramework rh_framework_axolotl, rh_framework_llamafactory, rh_framework_trainer,
    rh_framework_maxtext_read, rh_framework_nemo_read;

/* Names the model by what was said of it, as r->model and r->sets. */
void rh_launch_find_workload(RhLaunchReading *r);

/* Finds problems that the launch's framework refuses to start with: degrees that do not divide the
 * GPUs, the heads or the layers, batches that no micro-batches make. */
void rh_launch_check_rules(RhLaunchReading *r);

/* Runs of a command beside the one that is read. */
typedef struct {
    guint runs;
    char *place; /* of the command, file:line:col; owned; NULL: no command */
} RhLaunchRuns;

/* Reads one run, from 1; 0: the first. Errors as of rh_launch_read. */
RhLaunchFile *rh_launch_read_run(const char *path, guint run, RhLaunchRuns *runs,
                                 GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Splits "FILE#2"; caller frees. *run is 0 where none is said. */
char *rh_launch_file_of_run(const char *path, guint *run);

typedef enum {
    RH_LAUNCH_NONE,
    RH_LAUNCH_JSON,
    RH_LAUNCH_TOML,
    RH_LAUNCH_YAML,
    RH_LAUNCH_PYTHON,
    RH_LAUNCH_COMMAND
} RhLaunchFormat;

/* Kinds of launches, by what only they have: keys of a file, or words of a command. A file is the
 * first kind of which it has a key of `any`, and all of `all`. */
typedef struct {
    const char *about;
    const RhFramework *framework;
    RhLaunchFormat format;
    const char *any, *all; /* names, "|" between */
} RhLaunchKind;

RhLaunchFormat rh_launch_format_of(const char *name, const char *text);
/* Return a kind of the table; NULL: it is of none. */
const RhLaunchKind *rh_launch_kind_of_tree(RhLaunchFormat format, const RhLaunchSettings *s);
const RhLaunchKind *rh_launch_kind_of_command(const RhShellCommand *command);

/* --- commands --- */

/* What a launcher's words say: torchrun, srun, accelerate, deepspeed, mpirun; and #SBATCH lines. */
void rh_launch_read_launcher(RhLaunchReading *r, const RhShellCommand *command, guint words);

/* Makes the script that a manifest of Kubernetes runs on each node (PyTorchJob, TrainJob, Job), its
 * lines those of the manifest, and takes nodes and GPUs; NULL: it is none. Caller frees. */
char *rh_launch_manifest_script(RhLaunchReading *reading, RhJson *doc);
