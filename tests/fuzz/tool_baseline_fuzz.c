/*
 * The file of findings that lint is silent about.  The ids that were read, written and read again
 * are the same, each once.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "tool/lint/baseline.h"

static tool_baseline read_text(const char *text, bool *ret_is_one)
{
    tool_baseline baseline = {.count = 0};

    *ret_is_one = tool_baseline_parse(&baseline, text);
    baseline.is_found = calloc(baseline.count + 1, sizeof *baseline.is_found);
    tv_assert(baseline.is_found != NULL);
    return baseline;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool is_one, is_written_one;
    tool_text given = {0}, written = {0};
    tool_baseline first, second;

    tool_text_puts(&given, "");
    tool_text_add(&given, (const char *)data, size);
    first = read_text(given.at, &is_one);
    tool_baseline_format(first.ids, first.count, &written);
    second = read_text(written.at, &is_written_one);
    tv_assert(is_written_one && second.count <= first.count);
    for (size_t i = 0; i < first.count; i++)
        tv_assert(tool_baseline_take(&second, first.ids[i]));
    for (size_t i = 0; i < second.count; i++) {
        tv_assert(second.is_found[i]);
        tv_assert(i == 0 || strcmp(second.ids[i - 1], second.ids[i]) < 0);
    }
    tool_baseline_done(&first);
    tool_baseline_done(&second);
    tool_text_done(&given);
    tool_text_done(&written);
    return 0;
}
