#pragma once
/* Journals of a study: what became of its questions, in files that are only appended to.
 *
 * Every process writes a file of its own in the study's folder, one line a question, each by one
 * write: whatever kills a process, only its last line can be torn, and that is skipped. So journals
 * need no locks and no shared file, and a process that resumes reads all of them. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"

/* Statuses of questions: 0 and 1 are answers, of which 1 is no; 2 and 3 are questions that the
 * command refuses, as it will again; others are failures. Those that no command exits with: */
#define RH_JOURNAL_PASSING 75  /* memory, time or processes ran out, as of sysexits.h */
#define RH_JOURNAL_LATE    124 /* ended at the time limit, as of timeout(1) */
#define RH_JOURNAL_KILLED  128 /* and the signal's number: ended by it, as a shell tells */

/* Outcome of a question. Everything is borrowed. */
typedef struct {
    const char *key, *line; /* of the question; what to type for it */
    int32_t status;         /* as above */
    double seconds;         /* that it took */
    const char *error;      /* its message; NULL: none */
    const char *answer;     /* a JSON document; NULL: none */
} RhJournalEntry;

/* A file to append to, made at the first entry. */
typedef struct RhJournal RhJournal;
/* Both names are copied; the file is FOLDER/HOST-PID.jsonl. */
RhJournal *rh_journal_new(const char *folder);
void rh_journal_free(RhJournal *journal);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhJournal, rh_journal_free)
/* Appends an entry, which is in the file when this returns. RH_ERROR_IO. */
bool rh_journal_append(RhJournal *journal, const RhJournalEntry *entry,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* An entry that was read. */
typedef struct {
    const char *line; /* of the file, borrowed from the journals */
    size_t length;
    int32_t status;
    double seconds;
} RhJournalRecord;

/* All journals of a folder. */
typedef struct {
    GHashTable *records; /* key -> RhJournalRecord*, owned: an answer before a failure */
    GPtrArray *files;    /* GMappedFile*, owned */
    int64_t torn_count;  /* lines that are not whole */
} RhJournals;

/* Reads all journals of a folder; a folder that is not there holds none. RH_ERROR_IO. */
RhJournals *rh_journals_load(const char *folder, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_journals_free(RhJournals *journals);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhJournals, rh_journals_free)
/* Returns what is known of a question, borrowed; NULL: nothing. */
const RhJournalRecord *rh_journals_find(const RhJournals *journals, const char *key);
/* Is it the status of a failure, after which the question may be asked again? */
bool rh_journal_is_failure(int32_t status);
/* Parses an entry. RH_ERROR_INPUT. */
RhJson *rh_journal_parse(const RhJournalRecord *record, GError **error) G_GNUC_WARN_UNUSED_RESULT;
