/*
 * The list of encrypted names.  .NET and Python write an array of JSON, Java writes [A, B].
 */
#include "base/json.h"
#include "client/crypto/metadata.h"

void tvc_name_list_add(tvc_text *text, tv_slice name)
{
    bool is_plain = true;

    for (size_t i = 0; i < name.len; i++)
        is_plain &=
            (unsigned char)name.data[i] >= 0x20 && name.data[i] != '"' && name.data[i] != '\\';

    tvc_text_add_char(text, tvc_text_slice(text).len == 0 ? '[' : ',');
    if (!is_plain) {
        tvc_text_add_json(text, name);
        return;
    }
    /* As .NET writes it, letters beyond ASCII as they are: Java does not undo escapes. */
    tvc_text_add_char(text, '"');
    tvc_text_add(text, name);
    tvc_text_add_char(text, '"');
}

void tvc_name_list_end(tvc_text *text)
{
    if (tvc_text_slice(text).len == 0)
        tvc_text_add_char(text, '[');
    tvc_text_add_char(text, ']');
}

/*
 * Our reader of JSON reads objects, so make one: {"A":0,"B":0} of ["A","B"].  What is not an array
 * of strings does not become an object by this.
 */
static void make_object(tvc_text *object, tv_slice inside)
{
    bool is_string = false;

    tvc_text_add_char(object, '{');
    for (size_t i = 0; i < inside.len; i++) {
        char c = inside.data[i];

        tvc_text_add_char(object, c);
        if (is_string && c == '\\' && i + 1 < inside.len) {
            tvc_text_add_char(object, inside.data[++i]);
        } else if (c == '"') {
            is_string = !is_string;
            if (!is_string)
                tvc_text_add_lit(object, ":0");
        }
    }
    tvc_text_add_char(object, '}');
}

static tavola_err read_json(tv_slice inside, void (*found)(void *user, tv_slice name), void *user)
{
    tvc_text object = {0};
    tv_json_reader reader = {0};
    tv_json_member member;
    tv_arena arena;

    tv_arena_init(&arena);
    make_object(&object, inside);
    /* Strings with escapes are copied, once. */
    if (!object.has_failed && tv_arena_reserve(&arena, tvc_text_slice(&object).len) != TV_OK)
        object.has_failed = true;

    tavola_err err = object.has_failed ? TAVOLA_ERR_NO_MEMORY : TAVOLA_OK;

    if (err == TAVOLA_OK) {
        tv_json_reader_init(&reader, &arena, tvc_text_slice(&object));
        while (tv_json_next(&reader, &member))
            found(user, member.name);
        err = reader.failed ? TAVOLA_ERR_CRYPTO : TAVOLA_OK;
    }
    tv_arena_done(&arena);
    tvc_text_done(&object);
    return err;
}

tavola_err tvc_name_list_read(tv_slice list, void (*found)(void *user, tv_slice name), void *user)
{
    tv_slice rest, name;

    list = tv_slice_trim(list);
    if (list.len < 2 || list.data[0] != '[' || list.data[list.len - 1] != ']')
        return TAVOLA_ERR_CRYPTO;

    rest = tv_slice_trim((tv_slice){list.data + 1, list.len - 2});
    if (rest.len == 0 || rest.data[0] == '"')
        return read_json(rest, found, user);

    /* Java's form.  A name has neither a comma nor a blank in it. */
    while (tv_slice_next(&rest, ',', &name)) {
        name = tv_slice_trim(name);
        if (name.len == 0)
            return TAVOLA_ERR_CRYPTO;
        found(user, name);
    }
    return TAVOLA_OK;
}
