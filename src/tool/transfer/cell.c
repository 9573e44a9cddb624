/* Values as cells. */
#include "cell.h"

#include <string.h>
#include <strings.h>

#include "../values.h"

/* Spreadsheets write TRUE and False. */
static bool parse_boolean(const char *text, bool *ret_value)
{
    *ret_value = strcasecmp(text, "true") == 0;
    return *ret_value || strcasecmp(text, "false") == 0;
}

bool xfer_cell_parse(tavola_type type, const char *text, size_t size, tool_text *scratch,
                     tavola_value *ret_value)
{
    *ret_value = (tavola_value){.type = type};
    if (type == TAVOLA_STRING) {
        ret_value->as.ptr = text;
        ret_value->size = size;
        return true;
    }
    if (type == TAVOLA_BOOLEAN)
        return strlen(text) == size && parse_boolean(text, &ret_value->as.boolean);
    scratch->size = 0;
    return tool_value_read(type, text, size, scratch, ret_value);
}
