/* Branches and loops of a shell script: which commands are performed. */
#include <string.h>

#include "base/error.h"
#include "base/shell/shell_private.h"

#define FRAMES_MAX 256

RhShellFrame *rh_shell_top_frame(const RhShellReader *r)
{
    return r->frames->len > 0 ? &g_array_index(r->frames, RhShellFrame, r->frames->len - 1) : NULL;
}

RhTruth rh_shell_active(const RhShellReader *r)
{
    RhTruth all = RH_TRUTH_YES;
    for (guint i = 0; i < r->frames->len; i++) {
        RhTruth one = g_array_index(r->frames, RhShellFrame, i).active;
        all = all == RH_TRUTH_NO || one == RH_TRUTH_NO ? RH_TRUTH_NO
              : one == RH_TRUTH_UNKNOWN                ? one
                                                       : all;
    }
    bool skipped = (r->joined == '&' && r->before == RH_TRUTH_NO) ||
                   (r->joined == '|' && r->before == RH_TRUTH_YES);
    bool open = r->joined && r->before == RH_TRUTH_UNKNOWN;
    return skipped || all == RH_TRUTH_NO ? RH_TRUTH_NO : open ? RH_TRUTH_UNKNOWN : all;
}

bool rh_shell_push_frame(RhShellReader *r, RhShellFrame frame)
{
    g_array_append_val(r->frames, frame);
    return r->frames->len <= FRAMES_MAX ||
           rh_shell_fail(r->shell, r->at, 1, "nested deeper than 256 levels", NULL, r->state.error);
}

void rh_shell_pop_frame(RhShellReader *r)
{
    if (r->frames->len > 0)
        g_array_set_size(r->frames, r->frames->len - 1);
}

void rh_shell_choose(RhShellFrame *f, RhTruth says)
{
    f->asks = false;
    f->active = f->taken == RH_TRUTH_YES       ? RH_TRUTH_NO
                : f->taken == RH_TRUTH_UNKNOWN ? (says == RH_TRUTH_NO ? says : f->taken)
                                               : says;
    if (f->active != RH_TRUTH_NO)
        f->taken = f->active;
}

bool rh_shell_read_reserved(RhShellReader *r, const char *word, bool *known)
{
    static const char *const silent[] = {"do", "{", "}", "!", "time", "exec", "nohup", NULL};
    RhShellFrame *f = rh_shell_top_frame(r);
    *known = true;
    if (strcmp(word, "if") == 0)
        return rh_shell_push_frame(
            r, (RhShellFrame){FRAME_IF, RH_TRUTH_YES, RH_TRUTH_NO, true, 0, NULL, NULL});
    if (strcmp(word, "while") == 0 || strcmp(word, "until") == 0)
        return rh_shell_push_frame(
            r, (RhShellFrame){FRAME_LOOP, RH_TRUTH_UNKNOWN, 0, false, 0, NULL, NULL});
    if (f && f->loop && strcmp(word, "done") == 0)
        return rh_shell_end_loop(r);
    if (strcmp(word, "fi") == 0 || strcmp(word, "done") == 0 || strcmp(word, "esac") == 0)
        rh_shell_pop_frame(r);
    else if (f && f->kind == FRAME_IF && strcmp(word, "then") == 0)
        rh_shell_choose(f, f->asked);
    else if (f && f->kind == FRAME_IF && strcmp(word, "else") == 0)
        rh_shell_choose(f, RH_TRUTH_YES);
    else if (f && f->kind == FRAME_IF && strcmp(word, "elif") == 0)
        *f = (RhShellFrame){FRAME_IF, RH_TRUTH_YES, f->taken, true, RH_TRUTH_UNKNOWN, NULL, NULL};
    else
        *known = g_strv_contains(silent, word);
    return true;
}
