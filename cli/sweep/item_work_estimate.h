#pragma once
/* Estimates of the work of questions, by closed forms that cost milliseconds, so that a coordinator
 * hands out the dearest first before any was asked. A study asks one command, so each kind has a unit
 * of its own; 0: the inputs cannot be read, or nothing is known. */
#include "cli/parse/parsed_arguments.h"

/* Returns the tasks of a layout's step; of a search for one the layers times the micro-batches of a
 * replica on as few GPUs as hold the training states. */
double rh_item_work_training(const RhArguments *arguments);
/* Returns the number of requests. */
double rh_item_work_service(const RhArguments *arguments);
/* Returns either, of all cells. */
double rh_item_work_capacity(const RhArguments *arguments);
double rh_item_work_rl(const RhArguments *arguments);
