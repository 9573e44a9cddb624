/*
 * Lists of the index entities pattern, and messages of far indexes, as somebody else wrote them: a
 * list that is read is written and read again as the same.
 */
#include "fuzz.h"

#include "client/patterns/json_list.h"

static void check_same(const tavola_names *a, const tavola_names *b)
{
    tv_assert(tavola_names_count(a) == tavola_names_count(b));
    for (size_t i = 0; i < tavola_names_count(a); i++)
        tv_assert(strcmp(tavola_names_at(a, i), tavola_names_at(b, i)) == 0);
}

static void check_item(tavola_names *items, const char *item)
{
    tv_assert(tvc_json_list_add(items, item));

    size_t count = tavola_names_count(items);

    tv_assert(tvc_json_list_add(items, item));
    tv_assert(tavola_names_count(items) == count);
    tvc_json_list_remove(items, item);
    tv_assert(tavola_names_count(items) < count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tavola_names *items = NULL, *again = NULL;
    tvc_text text = {0};
    tavola_err err = tvc_json_list_read((tv_slice){(const char *)data, size}, &items);

    if (err) {
        tv_assert(err == TAVOLA_ERR_PROTOCOL && items == NULL);
        return 0;
    }
    tvc_json_list_write(&text, items);
    tv_assert(tvc_json_list_read(tvc_text_slice(&text), &again) == TAVOLA_OK);
    check_same(items, again);
    check_item(items, "item");
    tvc_text_done(&text);
    tavola_names_free(items);
    tavola_names_free(again);
    return 0;
}
