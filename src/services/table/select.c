/* Lists of property names. */
#include "services/table/select.h"

#include "base/uri.h"

static size_t count_commas(tv_slice list)
{
    size_t count = 0;

    for (size_t i = 0; i < list.len; i++)
        count += list.data[i] == ',';
    return count;
}

/* Everything but unreserved characters and the commas is escaped: "age, sex" gives "age,%20sex". */
static tv_slice escape(tv_arena *arena, tv_slice list)
{
    tv_buf text = TV_BUF_EMPTY;
    tv_slice part;
    bool is_first = true;

    while (tv_slice_next(&list, ',', &part)) {
        if (!is_first)
            tv_buf_add_char(&text, ',');
        tv_uri_add_key(&text, part);
        is_first = false;
    }
    tv_slice copy = tv_arena_dup(arena, tv_buf_slice(&text));
    tv_buf_done(&text);
    return copy;
}

tv_err tv_table_select_parse(tv_arena *arena, tv_slice list, tv_table_select *ret_select)
{
    tv_table_select select = {0};
    tv_slice rest = list, name;

    *ret_select = select;
    if (list.len == 0)
        return TV_OK;
    if (count_commas(list) + 1 > TV_NAMES_MAX)
        return TV_ERR_INVALID_INPUT;

    tv_names *names = tv_arena_alloc(arena, sizeof *names);

    names->count = 0;
    while (tv_slice_next(&rest, ',', &name)) {
        name = tv_slice_trim(name);
        if (tv_slice_eq(name, TV_LIT("*")))
            return TV_OK;
        if (name.len)
            tv_names_add(names, name);
    }
    select.names = names;
    select.count = (size_t)names->count;
    select.url_text = escape(arena, list);
    *ret_select = select;
    return TV_OK;
}

bool tv_table_select_has(const tv_table_select *select, tv_slice name)
{
    return select->count == 0 || tv_names_find(select->names, name) >= 0;
}
