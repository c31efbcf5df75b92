#pragma once
/* The Trainer of Hugging Face Transformers: rows that its launches are read by, and the program that
 * trains adapters with it. Private to this folder. */
#include "strategies/launch/framework.h"

#define RH_TRAINER_ROWS      59
#define RH_TRAINER_USUAL     "sp=off,recompute=none"
#define RH_TRAINER_FILE      "rehearsed_lora.py"
#define RH_TRAINER_FSDP_FILE "fsdp_config.json" /* that --fsdp_config names */
extern const RhLaunchRow rh_trainer_rows[RH_TRAINER_ROWS];
/* Patterns of settings that change neither time nor memory of a step. */
extern const char rh_trainer_costless[];
/* Works out what settings mean together. */
void rh_trainer_finish(RhLaunchReading *r);

/* Writes RH_TRAINER_FILE as the launch's program, with the options that no knob determines. */
void rh_launch_write_trainer(RhLaunchText *t);
/* Names the variables that the user fills in: how long and how fast to train, and where to. */
const char *rh_trainer_choices(const RhLaunchText *t);
/* Notes that Transformers resumes from one checkpoint, not from the folder that it saves them
 * in. */
void rh_trainer_note_load(RhLaunchText *t);
