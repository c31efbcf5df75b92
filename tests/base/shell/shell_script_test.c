#include "base/shell/shell_script.h"

#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"

static RhShell *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    RhShell *shell = rh_shell_parse("t.sh", text, strlen(text), &error);
    if (error)
        CU_FAIL(error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(shell);
    return shell;
}

static void refuses(const char *text, const char *part)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhShell) shell = rh_shell_parse("t.sh", text, strlen(text), &error);
    CU_ASSERT_PTR_NULL_FATAL(shell);
    CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_TRUE(rh_test_says(error->message, part));
}

/* All commands, words joined by "|", commands by a line feed. */
static char *said(const char *text)
{
    g_autoptr(RhShell) shell = parse(text);
    g_autoptr(GString) out = g_string_new(NULL);
    for (guint i = 0; i < shell->commands->len; i++) {
        const RhShellCommand *command = shell->commands->pdata[i];
        if (i > 0)
            g_string_append_c(out, '\n');
        for (guint k = 0; k < command->words->len; k++) {
            const RhShellWord *word = rh_shell_word(command, k);
            g_string_append_printf(out, "%s%s%s", k > 0 ? "|" : "", word->text,
                                   word->whole ? "" : "?");
        }
        g_string_append(out, command->uncertain ? "~" : "");
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static void says(const char *text, const char *wanted)
{
    g_autofree char *got = said(text);
    if (strcmp(got, wanted) != 0)
        fprintf(stderr, "  got:\n%s\n  wanted:\n%s\n", got, wanted);
    CU_ASSERT_STRING_EQUAL(got, wanted);
}

static void quotes_and_lines_are_those_of_a_shell(void)
{
    says("a 'b c' \"d \\\"e\\\"\" f\\ g \\\n  h # comment\ni;j && k | l\n",
         "a|b c|d \"e\"|f g|h\ni\nj\nk~\nl");
    says("a x#y '#z' \"\" 2>&1 > log.txt\n", "a|x#y|#z|");
    says("a \\\r\n b\r\nc\r\n", "a|b\nc");
    says("(cd x; a) & b\n", "cd|x\na\nb");
}

static void variables_and_arrays_are_replaced(void)
{
    says("A=8; B=\"x y\"\nc $A ${A} \"$B\" $B pre${A}post '$A' \\$A\n",
         "c|8|8|x y|x|y|pre8post|$A|$A");
    says("A=(--x 1 # first\n  --y \"two words\")\nA+=(--z)\nc \"${A[@]}\" ${#A} end\n",
         "c|--x|1|--y|two words|--z|${#A}?|end");
    says("c ${N:-8} ${M:=4} $M ${A:+no} ${N:-${M}x}\n", "c|8|4|4|4x");
    says("c $UNSET \"$1\" $(date) `date` \"${E[@]}\"\n", "c|$UNSET?|$1?|$(date)?|`date`?");
    says("A=1\nA+=2\nexport B=$A C=3\nc $A $B $C\n", "export\nc|12|12|3");
    says("N=2 G=8\nW=$((N * $G + 1))\nc $W $((3-5)) $((Q*2))\n", "c|17|-2|$((Q*2))?");
    says("c \"$(cat \"$X\" | wc)\" d\n", "c|$(cat \"$X\" | wc)?|d");
}

static void branches_are_chosen_where_they_can_be(void)
{
    static const char text[] = "S=%s\nif [ \"$S\" = small ]; then\n  N=1\nelif [[ $S == mid* ]]; "
                               "then\n  N=2\nelse\n  N=3\nfi\nc $N\n";
    static const char *const sizes[] = {"small", "middle", "large"};
    for (int i = 0; i < 3; i++) {
        g_autofree char *script = g_strdup_printf(text, sizes[i]);
        g_autofree char *got = said(script);
        g_autofree char *wanted = g_strdup_printf("c|%d", i + 1);
        CU_ASSERT_TRUE(g_str_has_suffix(got, wanted));
    }
    says("[ -z \"$X\" ] && X=5\n[ -n \"$Y\" ] && X=6\nc $X\n", "[|-z|$X?|]\n[|-n|$Y?|]\nc|5");
    says("A=(1)\nif [ -f x ]; then A+=(2); B=3; fi\nc ${A[@]} $B\n", "[|-f|x|]\nc|1|3");
    says("M=b\ncase $M in\n  a) N=1 ;;\n  b|c) N=2; d ;;\n  *) N=3 ;;\nesac\ne $N\n", "d\ne|2");
    says("for X in 1 2; do a $X; done\nb\n", "a|1\na|2\nb");
    says("for X in 1 2\ndo\n for Y in u v; do a $X$Y; done\ndone | tee log\n",
         "a|1u\na|1v\na|2u\na|2v\ntee|log");
    says("A=x\nfor X in 1 2; do A+=$X; done\na $A\n", "a|x12");
    says("if [ 1 = 2 ]; then for X in 1 2; do a $X; done; fi\nb\n", "[|1|=|2|]\nb");
    says("if [ -f x ]; then a; fi\nb\n", "[|-f|x|]\na~\nb");
}

static void documents_and_directives_are_kept(void)
{
    g_autoptr(RhShell) shell = parse("#!/bin/bash\n#SBATCH --nodes=4 -n 8\nA=7\n"
                                     "cat > x.json <<END\n{\"a\": $A, \"b\": \"\\$c\"}\nEND\n"
                                     "cat <<'END' > y.json\n$A\nEND\nrun x.json\n");
    CU_ASSERT_EQUAL(shell->directives->len, 1);
    CU_ASSERT_STRING_EQUAL(rh_shell_word(shell->directives->pdata[0], 1)->text, "--nodes=4");
    CU_ASSERT_EQUAL_FATAL(shell->commands->len, 3);
    const RhShellCommand *first = shell->commands->pdata[0], *second = shell->commands->pdata[1];
    CU_ASSERT_STRING_EQUAL(first->output, "x.json");
    CU_ASSERT_STRING_EQUAL(first->input, "{\"a\": 7, \"b\": \"$c\"}\n");
    CU_ASSERT_STRING_EQUAL(second->output, "y.json");
    CU_ASSERT_STRING_EQUAL(second->input, "$A\n");
    CU_ASSERT_STRING_EQUAL(g_hash_table_lookup(shell->variables, "A"), "7");
}

static void words_know_their_place(void)
{
    static const char text[] = "A=(--x\n  --y 3)\nc \"${A[@]}\" --z\n";
    g_autoptr(RhShell) shell = parse(text);
    const RhShellCommand *command = shell->commands->pdata[0];
    static const char *const words[] = {"c", "--x", "--y", "3", "--z"};
    for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
        const RhShellWord *word = rh_shell_word(command, i);
        CU_ASSERT_STRING_EQUAL(word->text, words[i]);
        CU_ASSERT_EQUAL(strncmp(text + word->offset, words[i], word->span), 0);
        CU_ASSERT_EQUAL(word->span, strlen(words[i]));
    }
    g_autoptr(GError) error = NULL;
    const RhShellWord *y = rh_shell_word(command, 2);
    CU_ASSERT_FALSE(rh_shell_fail(shell, y->offset, y->span, "wrong", "mend it", &error));
    CU_ASSERT_TRUE(rh_test_says(error->message, "t.sh:2:3"));
}

static void hostile_scripts_end(void)
{
    refuses("a 'b\n", "t.sh:1:3");
    refuses("a\nA=(b\n", "t.sh:2:3");
    refuses("a ${b\n", "never closed");
    g_autoptr(GString) doubling = g_string_new("A=xx\n");
    for (int i = 0; i < 40; i++)
        g_string_append(doubling, "A=$A$A\n");
    refuses(doubling->str, "grow past 8 MiB");
    g_autoptr(GString) deep = g_string_new("a ");
    for (int i = 0; i < 100000; i++)
        g_string_append(deep, "\"$(");
    refuses(deep->str, "never closed");
}

int main(void)
{
    return rh_test_main(
        "shell_words",
        (RhTest[]){{"quotes_and_lines_are_those_of_a_shell", quotes_and_lines_are_those_of_a_shell},
                   {"variables_and_arrays_are_replaced", variables_and_arrays_are_replaced},
                   {"branches_are_chosen_where_they_can_be", branches_are_chosen_where_they_can_be},
                   {"documents_and_directives_are_kept", documents_and_directives_are_kept},
                   {"words_know_their_place", words_know_their_place},
                   {"hostile_scripts_end", hostile_scripts_end},
                   {0}});
}
