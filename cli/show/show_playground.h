#pragma once
/* rehearse show playground: a page on which model, cluster and layout are sliders. */
#include "cli/parse/parsed_arguments.h"

/* Computes the answers of its grid and writes the page to each -o. */
bool rh_show_playground(const RhArguments *arguments, GError **error) G_GNUC_WARN_UNUSED_RESULT;
