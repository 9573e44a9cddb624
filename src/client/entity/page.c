/* Pages: many entities of one answer. */
#include "client/entity/own.h"
#include "client/entity/read.h"
#include "client/entity/room.h"

enum {
    ENTITIES_FIRST = 16,
    /* The service has at most 1,000 on a page: more than this is an attack on our memory. */
    ENTITIES_MAX = 64 * 1024,
};

static bool fail(tvc_entity_reader *reader, tavola_err err)
{
    reader->err = err;
    return false;
}

static bool malformed(tvc_entity_reader *reader)
{
    return fail(reader, TAVOLA_ERR_PROTOCOL);
}

static bool grow(tvc_entity_reader *reader, tavola_page *page)
{
    size_t wanted = page->count ? tvc_entity_reader_estimate(reader, page->count) : ENTITIES_FIRST;

    if (page->count == ENTITIES_MAX)
        return malformed(reader);
    if (wanted > ENTITIES_MAX)
        wanted = ENTITIES_MAX;

    tavola_entity *entities = tvc_resize(page->entities, wanted * sizeof *entities);

    if (entities == NULL)
        return fail(reader, TAVOLA_ERR_NO_MEMORY);
    page->entities = entities;
    page->entities_size = wanted;
    return true;
}

/* The array of entities. */
static bool read_entities(tvc_entity_reader *reader, tavola_page *page)
{
    tvc_scan *scan = &reader->scan;

    if (!tvc_scan_pass(scan, '['))
        return malformed(reader);
    if (tvc_scan_pass(scan, ']'))
        return true;

    do {
        if (page->count == page->entities_size && !grow(reader, page))
            return false;

        tavola_entity *entity = &page->entities[page->count];

        *entity = (tavola_entity){.partition_key = tvc_no_key,
                                  .row_key = tvc_no_key,
                                  .is_view = true,
                                  .memory = &page->memory};
        if (!tvc_entity_reader_next(reader, entity))
            return false;
        page->count++;
    } while (tvc_scan_pass(scan, ','));
    return tvc_scan_pass(scan, ']') || malformed(reader);
}

static bool read_page(tvc_entity_reader *reader, tavola_page *page)
{
    tvc_scan *scan = &reader->scan;
    bool has_entities = false;
    tv_slice name;

    if (!tvc_scan_pass(scan, '{'))
        return malformed(reader);
    do {
        tvc_scan_blanks(scan);
        if (!tvc_scan_string(scan, false, &name) || !tvc_scan_pass(scan, ':'))
            return malformed(reader);
        tvc_scan_blanks(scan);
        if (tv_slice_eq(name, TV_LIT("value"))) {
            if (has_entities)
                return malformed(reader);
            has_entities = true;
            if (!read_entities(reader, page))
                return false;
        } else if (!tvc_scan_skip(scan)) {
            return malformed(reader);
        }
    } while (tvc_scan_pass(scan, ','));
    if (!tvc_scan_pass(scan, '}') || !has_entities)
        return malformed(reader);
    return tvc_entity_reader_is_at_end(reader);
}

/* Only now the properties do not move any more. */
static void hand_out_properties(tavola_page *page)
{
    tvc_property *properties = page->memory.read;

    for (size_t i = 0; i < page->count; i++) {
        if (page->entities[i].count == 0)
            continue;
        page->entities[i].properties = properties;
        page->entities[i].size = page->entities[i].count;
        properties += page->entities[i].count;
    }
}

void tvc_page_clear(tavola_page *page)
{
    tavola_page cleared = {.entities = page->entities,
                           .entities_size = page->entities_size,
                           .memory = {.read = page->memory.read},
                           .properties_size = page->properties_size};

    page->memory.read = NULL;
    tvc_room_done(&page->memory);
    tvc_release(page->token);
    *page = cleared;
}

tavola_err tvc_page_read_into(tavola_page *spare, char *json, size_t json_len,
                              tavola_page **ret_page)
{
    tavola_page *page = spare ? spare : tvc_zalloc(sizeof *page);
    tvc_entity_reader reader;

    if (page == NULL || json == NULL) {
        tvc_page_free(page);
        tvc_release(json);
        return json ? TAVOLA_ERR_NO_MEMORY : TAVOLA_ERR_PROTOCOL;
    }

    tvc_page_clear(page);
    tvc_entity_reader_init(&reader, json, json_len);
    reader.properties = page->memory.read;
    reader.size = page->properties_size;
    read_page(&reader, page);
    page->memory.json = json;
    page->memory.read = reader.properties;
    page->properties_size = reader.size;
    if (reader.err) {
        tvc_page_free(page);
        return reader.err;
    }
    hand_out_properties(page);
    *ret_page = page;
    return TAVOLA_OK;
}

tavola_err tvc_page_read(char *json, size_t json_len, tavola_page **ret_page)
{
    return tvc_page_read_into(NULL, json, json_len, ret_page);
}

void tvc_page_free(tavola_page *page)
{
    if (page == NULL)
        return;

    tvc_room_done(&page->memory);
    tvc_release(page->entities);
    tvc_release(page->token);
    tvc_release(page);
}
