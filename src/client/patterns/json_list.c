/* JSON arrays of strings. */
#include "client/patterns/json_list.h"

#include "base/utf8.h"

typedef struct reader {
    tv_slice rest;
    tvc_text item; /* the string that is being read, unescaped */
} reader;

static void skip_blanks(reader *self)
{
    while (self->rest.len && memchr(" \t\r\n", self->rest.data[0], 4))
        self->rest = tv_slice_skip(self->rest, 1);
}

static bool takes(reader *self, char c)
{
    if (self->rest.len == 0 || self->rest.data[0] != c)
        return false;
    self->rest = tv_slice_skip(self->rest, 1);
    return true;
}

/* Four hexadecimal digits; false when they are not. */
static bool take_unit(reader *self, uint32_t *ret_unit)
{
    uint32_t unit = 0;

    if (self->rest.len < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        char c = tv_ascii_lower(self->rest.data[i]);

        if (c >= '0' && c <= '9')
            unit = unit << 4 | (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            unit = unit << 4 | (uint32_t)(c - 'a' + 10);
        else
            return false;
    }
    self->rest = tv_slice_skip(self->rest, 4);
    *ret_unit = unit;
    return true;
}

static bool is_high(uint32_t unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(uint32_t unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

static bool take_code_point(reader *self)
{
    uint32_t unit, low;
    char utf8[4];

    if (!take_unit(self, &unit) || is_low(unit))
        return false;
    if (is_high(unit)) {
        if (!takes(self, '\\') || !takes(self, 'u') || !take_unit(self, &low) || !is_low(low))
            return false;
        unit = 0x10000 + ((unit - 0xd800) << 10 | (low - 0xdc00));
    }
    /* Items are C strings. */
    if (unit == 0)
        return false;
    tvc_text_add(&self->item, (tv_slice){utf8, tv_utf8_put(utf8, unit)});
    return true;
}

static bool take_escape(reader *self)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";

    if (takes(self, 'u'))
        return take_code_point(self);

    const char *at = self->rest.len && self->rest.data[0]
                         ? memchr(names, self->rest.data[0], sizeof names - 1)
                         : NULL;

    if (at == NULL)
        return false;
    self->rest = tv_slice_skip(self->rest, 1);
    tvc_text_add_char(&self->item, meanings[at - names]);
    return true;
}

static bool take_string(reader *self)
{
    tvc_text_reset(&self->item);
    if (!takes(self, '"'))
        return false;

    while (!takes(self, '"')) {
        if (takes(self, '\\')) {
            if (!take_escape(self))
                return false;
            continue;
        }
        if (self->rest.len == 0 || (unsigned char)self->rest.data[0] < 0x20)
            return false;
        tvc_text_add_char(&self->item, self->rest.data[0]);
        self->rest = tv_slice_skip(self->rest, 1);
    }
    return true;
}

static tavola_err take_items(reader *self, tavola_names *items)
{
    skip_blanks(self);
    if (!takes(self, '['))
        return TAVOLA_ERR_PROTOCOL;
    skip_blanks(self);
    if (takes(self, ']'))
        return TAVOLA_OK;

    for (;;) {
        skip_blanks(self);
        if (!take_string(self))
            return TAVOLA_ERR_PROTOCOL;
        if (self->item.has_failed || !tvc_names_add(items, tvc_text_slice(&self->item)))
            return TAVOLA_ERR_NO_MEMORY;
        skip_blanks(self);
        if (takes(self, ']'))
            return TAVOLA_OK;
        if (!takes(self, ','))
            return TAVOLA_ERR_PROTOCOL;
    }
}

tavola_err tvc_json_list_read(tv_slice text, tavola_names **ret_items)
{
    reader self = {.rest = text};
    tavola_names *items = tvc_names_new();
    tavola_err err = items ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;

    if (err == TAVOLA_OK && !tv_utf8_is_valid(text))
        err = TAVOLA_ERR_PROTOCOL;
    if (err == TAVOLA_OK && text.len > 0) {
        err = take_items(&self, items);
        skip_blanks(&self);
        if (err == TAVOLA_OK && self.rest.len > 0)
            err = TAVOLA_ERR_PROTOCOL;
    }
    tvc_text_done(&self.item);
    if (err)
        tavola_names_free(items);
    else
        *ret_items = items;
    return err;
}

void tvc_json_list_write(tvc_text *text, const tavola_names *items)
{
    tvc_text_add_char(text, '[');
    for (size_t i = 0; i < items->count; i++) {
        if (i > 0)
            tvc_text_add_char(text, ',');
        tvc_text_add_json(text, tv_slice_of(items->items[i]));
    }
    tvc_text_add_char(text, ']');
}

static bool find(const tavola_names *items, const char *item, size_t *ret_at)
{
    for (size_t i = 0; i < items->count; i++) {
        if (strcmp(items->items[i], item) == 0) {
            *ret_at = i;
            return true;
        }
    }
    return false;
}

bool tvc_json_list_add(tavola_names *items, const char *item)
{
    size_t at;

    return find(items, item, &at) || tvc_names_add(items, tv_slice_of(item));
}

void tvc_json_list_remove(tavola_names *items, const char *item)
{
    size_t at;

    /* Somebody may have written it twice. */
    while (find(items, item, &at)) {
        tvc_release(items->items[at]);
        items->count--;
        memmove(&items->items[at], &items->items[at + 1],
                (items->count - at) * sizeof *items->items);
    }
}
