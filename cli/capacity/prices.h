#pragma once
/* Several platforms and their prices per GPU-hour: --price [NAME=]USD[@MONTH]. */
#include "cli/inputs/inputs.h"

/* Appends (owned strings) the names that lists (GPtrArray of const char*) say; they part at commas, but one-line
 * platforms have commas of their own. RH_ERROR_USAGE: none, or one twice. */
bool rh_prices_platforms(const GPtrArray *lists, GPtrArray *names,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Checks prices. RH_ERROR_USAGE: a wrong price or month, or an unknown platform. */
bool rh_prices_check(const GPtrArray *prices, const GPtrArray *names,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The settings of a command, and behind them what sets this platform's price and PUE, where they are given: char*, which the
 * array owns; caller unrefs. */
GPtrArray *rh_prices_sets(const RhArguments *arguments, const char *platform);
/* The profile of the command where it is of the platform's device, else NULL, which is told: among
 * several platforms the others keep their own constants. */
const char *rh_prices_profile(const RhArguments *arguments, const char *platform);
/* Sets a price with or without its month: "2USD@2026-11". RH_ERROR_USAGE: as rh_platform_set(), or
 * a wrong month. */
bool rh_prices_set(RhPlatform *platform, const char *key, const char *value,
                   GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns whether a --price is for the platform. */
bool rh_prices_has(const GPtrArray *prices, const char *platform);
/* Returns an example of options: "--price A=2USD --price B=2USD". Caller frees. */
char *rh_prices_words(const GPtrArray *names);
/* RH_ERROR_USAGE: what the option needs the prices of these platforms (const char*) for is not known, and how to say
 * them all. */
bool rh_prices_missing(const char *option, const GPtrArray *names,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
