#pragma once
/* Several platforms, and what a GPU-hour of each costs: --price [NAME=]USD[@MONTH]. */
#include "cli/inputs/inputs.h"

/* Appends (owned strings) the names that lists (GPtrArray of const char*) say; they part at commas, but one-line
 * platforms have commas of their own. RH_ERROR_USAGE: none, or one twice. */
bool rh_prices_platforms(const GPtrArray *lists, GPtrArray *names, GError **error);
/* RH_ERROR_USAGE: no price, no month, or of a platform that is not named. */
bool rh_prices_check(const GPtrArray *prices, const GPtrArray *names, GError **error);
/* The settings of a command, and behind them what sets this platform's price and PUE, where they are given: char*, which the
 * array owns; caller unrefs. */
GPtrArray *rh_prices_sets(const RhArguments *arguments, const char *platform);
/* One price with its month, or not: "2USD@2026-11". RH_ERROR_USAGE: as rh_platform_set(), or no month. */
bool rh_prices_set(RhPlatform *platform, const char *key, const char *value, GError **error);
/* Does one of --price speak of the platform? */
bool rh_prices_has(const GPtrArray *prices, const char *platform);
/* "--price A=2USD --price B=2USD": how to say them. Caller frees. */
char *rh_prices_words(const GPtrArray *names);
/* RH_ERROR_USAGE: what the option needs the prices of these platforms (const char*) for is not known, and how to say
 * them all. */
bool rh_prices_missing(const char *option, const GPtrArray *names, GError **error);
