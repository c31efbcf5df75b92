#pragma once
/* Blanks the prefixes that launchers and collectors put before the lines of a log: kubectl's
 * "[pod/NAME/CONTAINER] ", srun -l's "12: ", pdsh's "host: ", mpirun's "[1,0]<stdout>:", torchrun's
 * "[default0]:", docker compose's "name  | ", Ray's "(worker pid=1, ip=10.0.0.1) ", time stamps. */
#include <glib.h>

/* Returns the text with each prefix whose form nearly all lines share replaced by spaces, so that
 * lines and columns stay where they are; several such prefixes may follow one another. `dates`
 * keeps dates and times of day, for readers that need them. Caller frees. */
char *rh_log_without_prefixes(const char *text, gboolean dates);
