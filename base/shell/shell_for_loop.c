/* Loops of a shell script over words that are known: the body is read for each. */
#include <string.h>

#include "base/shell/shell_private.h"

#define REPEATED_MAX (1u << 20) /* bytes of bodies that are read again */

void rh_shell_loop_free(RhShellLoop *loop)
{
    if (!loop)
        return;
    g_free(loop->name);
    g_ptr_array_unref(loop->words);
    g_free(loop);
}

static bool is_pattern(const RhShellWord *word)
{
    return strpbrk(word->text, "*?[{") != NULL;
}

static bool set_word(RhShellReader *r, const char *name, const RhShellWord *word)
{
    GPtrArray *value = rh_shell_words_new();
    g_ptr_array_add(value, rh_shell_word_new(g_strdup(word->text), word->offset, word->span,
                                             word->whole && !is_pattern(word)));
    return rh_shell_store(r, name, value, false, false);
}

/* Returns the words behind `in`; NULL: one of them is not known. */
static RhShellLoop *loop_of(const RhShellReader *r, const RhShellCommand *command)
{
    GPtrArray *words = rh_shell_words_new();
    bool known = true;
    const RhShellWord *w;
    for (guint i = 3; (w = rh_shell_word(command, i)); i++) {
        known = known && w->whole && !is_pattern(w);
        g_ptr_array_add(words, rh_shell_word_new(g_strdup(w->text), w->offset, w->span, w->whole));
    }
    RhShellLoop *loop = g_new(RhShellLoop, 1);
    *loop = (RhShellLoop){g_strdup(rh_shell_word(command, 1)->text), words, 1, r->at};
    if (known)
        return loop;
    rh_shell_loop_free(loop);
    return NULL;
}

bool rh_shell_begin_loop(RhShellReader *r, const RhShellCommand *command)
{
    const RhShellWord *name = rh_shell_word(command, 1), *first = rh_shell_word(command, 3);
    bool named = name && first && strspn(name->text, RH_SHELL_NAME) == strlen(name->text);
    if (named && !set_word(r, name->text, first))
        return false;
    bool performed = rh_shell_active(r) == RH_TRUTH_YES;
    RhShellLoop *loop = named && performed ? loop_of(r, command) : NULL;
    return rh_shell_push_frame(r,
                               (RhShellFrame){FRAME_LOOP, RH_TRUTH_YES, 0, false, 0, NULL, loop});
}

bool rh_shell_end_loop(RhShellReader *r)
{
    RhShellLoop *loop = rh_shell_top_frame(r)->loop;
    bool again = loop->next < loop->words->len && r->heres->len == 0;
    if (!again) {
        rh_shell_pop_frame(r);
        return true;
    }
    r->repeated += r->at - loop->body;
    if (r->repeated > REPEATED_MAX)
        return rh_shell_fail(r->shell, r->at, 1, "the loops of this script are longer than 1 MiB",
                             NULL, r->state.error);
    r->at = loop->body;
    return set_word(r, loop->name, loop->words->pdata[loop->next++]);
}
