/* Names of the columns of tables of cases. */
#include <string.h>

#include "validate/cases/cases_table.h"

static const char *const names[RH_CASE_COLUMNS_LAST + 1] = {
#define COLUMN_NAME(word, name) name,
    RH_CASE_COLUMNS(COLUMN_NAME)
#undef COLUMN_NAME
};

const char *rh_case_column_name(RhCaseColumn column)
{
    return names[column];
}

RhCaseColumn rh_case_column_by_name(const char *name)
{
    int column = 0;
    while (column < RH_CASE_COLUMNS_LAST && strcmp(names[column], name) != 0)
        column++;
    return (RhCaseColumn)column;
}

const char *const *rh_case_column_names(void)
{
    return names;
}
