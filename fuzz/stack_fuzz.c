/* rh_stack_parse: a stack that it accepts has facts within their ranges, and a name. */
#include "fuzz/fuzzkit.h"
#include "strategies/software_stack_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_parse("fuzz.json", (const char *)data, size, &error);
    g_autofree RhStack *stack = doc ? rh_stack_parse(doc, "./fuzz.json", &error) : NULL;
    if (!stack) {
        fuzz_check_error(&error);
        return 0;
    }
    size_t count;
    const RhStackFact *facts = rh_stack_facts(&count);
    FUZZ_CHECK(*stack->name != 0);
    for (size_t i = 0; i < count; i++) {
        const RhFact *fact = rh_stack_fact(stack, &facts[i]);
        FUZZ_CHECK(fact->tag == RH_TAG_NONE || rh_range_holds(&facts[i].range, fact->value));
    }
    return 0;
}
