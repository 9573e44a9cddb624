/* tavola-lint.toml: what somebody has written, or a text editor has made of it. */
#include "../../src/tool/lint/config.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void require(bool is_so)
{
    if (!is_so)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tool_lint_config config = {.fail_on = TOOL_LEVEL_WARNING, .min_requests = 1};
    tool_toml_error error = {.line = 0};

    if (tool_lint_config_parse(&config, (const char *)data, size, &error)) {
        require(config.fail_on > TOOL_LEVEL_OFF && config.min_requests >= 0);
        for (size_t i = 0; i < config.allow_count; i++)
            require(config.allows[i].reason[0] != '\0');
        for (size_t i = 0; i < config.limit_count; i++)
            tool_patterns_match(&config.limits[i].tables, "Employees");
        tool_lint_config_level(&config, "table-scan-property", "Q01");
    } else {
        /* One line that names a line of the file. */
        require(error.text[0] && !strchr(error.text, '\n') && error.line <= size + 1);
    }
    tool_lint_config_done(&config);
    return 0;
}
