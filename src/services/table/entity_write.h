/*
 * From stored bytes to the JSON of a response, at the three metadata levels.
 * Nothing is built in between.
 */
#ifndef TV_SERVICES_TABLE_ENTITY_WRITE_H
#define TV_SERVICES_TABLE_ENTITY_WRITE_H

#include "base/buf.h"
#include "model/entity/entity.h"
#include "services/table/select.h"

typedef enum tv_table_metadata_level {
    TV_TABLE_METADATA_NONE,
    TV_TABLE_METADATA_MINIMAL,
    TV_TABLE_METADATA_FULL,
} tv_table_metadata_level;

/** "application/json;odata=minimalmetadata;streaming=true;charset=utf-8" and its variants. */
tv_slice tv_table_metadata_content_type(tv_table_metadata_level level);

/** What the JSON of an entity says in addition to its properties, and which of those it shows. */
typedef struct tv_entity_view {
    tv_table_metadata_level level;
    tv_slice base_url; /* "http://127.0.0.1:10002/devstoreaccount1", as the client wrote it */
    tv_slice account;
    tv_slice table;
    tv_table_select select;
} tv_entity_view;

/** "{base}/$metadata#{table}[suffix][&$select=…]" as the value of odata.metadata, with a comma. */
void tv_entity_add_metadata_url(tv_buf *buf, const tv_entity_view *view, tv_slice suffix);

/** "{table}(PartitionKey='..',RowKey='..')", keys escaped as the service does. */
void tv_entity_add_link(tv_buf *buf, tv_slice table, tv_slice partition_key, tv_slice row_key);

/**
 * Append one entity as a JSON object.  `is_alone`: it is a response by itself
 * and names its metadata, rather than an element of a feed.  A selected property
 * that the entity lacks is null.  TV_ERR_CORRUPT when the stored bytes are not
 * an entity; then the contents of the buffer are undefined.
 */
tv_err tv_entity_add_json(tv_buf *buf, const tv_entity_view *view, tv_slice partition_key,
                          tv_slice row_key, tv_slice value, bool is_alone) TV_WARN_UNUSED;

#endif
