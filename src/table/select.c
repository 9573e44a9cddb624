/* Lists of property names. */
#include "table/select.h"

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

tv_err tv_select_parse(tv_arena *arena, tv_slice list, tv_select *ret_select)
{
    tv_select select = {0};
    size_t names_max = count_commas(list) + 1;
    tv_slice rest = list, name;

    *ret_select = select;
    if (list.len == 0)
        return TV_OK;
    if (names_max > TV_SELECT_NAMES_MAX)
        return TV_ERR_INVALID_INPUT;

    tv_slice *names = tv_arena_alloc(arena, names_max * sizeof *names);

    while (tv_slice_next(&rest, ',', &name)) {
        name = tv_slice_trim(name);
        if (tv_slice_eq(name, TV_LIT("*")))
            return TV_OK;
        select.names = names;
        if (name.len && !(select.count && tv_select_has(&select, name)))
            names[select.count++] = name;
    }
    select.url_text = escape(arena, list);
    *ret_select = select;
    return TV_OK;
}

bool tv_select_has(const tv_select *select, tv_slice name)
{
    for (size_t i = 0; i < select->count; i++) {
        if (tv_slice_eq(select->names[i], name))
            return true;
    }
    return select->count == 0;
}
