/*
 * The multipart reply to a batch.  Its bytes are those of the service, because
 * clients read it with regular expressions: one of them takes any pair of braces
 * for an error, so an entity is only ever returned when it was requested.
 */
#include "base/uri.h"
#include "services/table/call.h"

/* Of the statuses that occur inside a batch reply. */
static const char *reason_phrase(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 201:
        return "Created";
    case 204:
        return "No Content";
    case 400:
        return "Bad Request";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 409:
        return "Conflict";
    case 412:
        return "Precondition Failed";
    case 413:
        return "Request Entity Too Large";
    case 415:
        return "Unsupported Media Type";
    case 500:
        return "Internal Server Error";
    case 501:
        return "Not Implemented";
    case 503:
        return "Service Unavailable";
    default:
        return "Error";
    }
}

static void add_header(tv_buf *buf, const char *name, tv_slice value)
{
    tv_buf_printf(buf, "%s: ", name);
    tv_buf_add(buf, value);
    tv_buf_add_lit(buf, "\r\n");
}

static void add_part_opening(tv_buf *buf, const char *kind, tv_slice id)
{
    tv_buf_printf(buf,
                  "--%s_%.*s\r\nContent-Type: application/http\r\n"
                  "Content-Transfer-Encoding: binary\r\n\r\n",
                  kind, TV_FMT(id));
}

static void add_status(tv_buf *buf, int status)
{
    tv_buf_printf(buf, "HTTP/1.1 %d %s\r\n", status, reason_phrase(status));
}

static void add_content_id(tv_buf *buf, const tv_table_command *command)
{
    if (command->content_id.data)
        add_header(buf, "Content-ID", command->content_id);
}

static void add_caching(tv_buf *buf)
{
    tv_buf_add_lit(buf, "X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n");
}

static void add_preference(tv_buf *buf, tv_table_prefer prefer)
{
    if (prefer == TV_TABLE_PREFER_NO_CONTENT)
        tv_buf_add_lit(buf, "Preference-Applied: return-no-content\r\n");
    else if (prefer == TV_TABLE_PREFER_CONTENT)
        tv_buf_add_lit(buf, "Preference-Applied: return-content\r\n");
}

static void add_location(tv_buf *buf, const char *name, const tv_table_command *command)
{
    tv_buf_printf(buf, "%s: ", name);
    tv_buf_add(buf, command->endpoint.base_url);
    tv_buf_add_char(buf, '/');
    tv_entity_add_link(buf, command->resource.table, command->resource.partition_key,
                       command->resource.row_key);
    tv_buf_add_lit(buf, "\r\n");
}

static void add_etag(tv_buf *buf, int64_t ticks)
{
    char etag[TV_TABLE_ETAG_TEXT_MAX];

    add_header(buf, "ETag", (tv_slice){etag, tv_table_etag_format(etag, ticks)});
}

/* The value was encoded just now, or was checked when it was read. */
static tv_err add_entity(tv_buf *buf, const tv_table_command *command, tv_slice value)
{
    tv_entity_view view = tv_table_command_view(command);
    tv_err err = tv_entity_add_json(buf, &view, command->resource.partition_key,
                                    command->resource.row_key, value, true);

    tv_assert(err == TV_OK || err == TV_ERR_OVERLOADED);
    tv_buf_add_lit(buf, "\r\n");
    return err;
}

/* 201 with the entity: an insert whose client did not say return-no-content. */
static tv_err add_created(tv_buf *buf, const tv_entity_change *change)
{
    const tv_table_command *command = change->command;

    add_status(buf, 201);
    tv_buf_add_lit(buf, "DataServiceVersion: 3.0;\r\n");
    add_header(buf, "Content-Type", tv_table_metadata_content_type(command->level));
    add_content_id(buf, command);
    add_caching(buf);
    add_preference(buf, command->prefer);
    add_location(buf, "Location", command);
    add_etag(buf, change->timestamp);
    tv_buf_add_lit(buf, "\r\n");
    return add_entity(buf, command, change->value);
}

static void add_no_content(tv_buf *buf, const tv_entity_change *change)
{
    const tv_table_command *command = change->command;
    bool is_insert = command->kind == TV_TABLE_OP_INSERT_ENTITY;

    add_status(buf, 204);
    add_content_id(buf, command);
    add_caching(buf);
    if (is_insert) {
        add_preference(buf, command->prefer);
        tv_buf_add_lit(buf, "DataServiceVersion: 3.0;\r\n");
        add_location(buf, "Location", command);
        add_location(buf, "DataServiceId", command);
    } else {
        tv_buf_add_lit(buf, "DataServiceVersion: 1.0;\r\n");
    }
    if (command->kind != TV_TABLE_OP_DELETE_ENTITY)
        add_etag(buf, change->timestamp);
    tv_buf_add_lit(buf, "\r\n\r\n");
}

static tv_err add_read(tv_buf *buf, const tv_table_command *command, tv_slice value)
{
    int64_t ticks = 0;
    tv_err err = tv_entity_timestamp(value, &ticks);

    tv_assert(err == TV_OK);
    add_status(buf, 200);
    tv_buf_add_lit(buf, "DataServiceVersion: 3.0;\r\n");
    add_header(buf, "Content-Type", tv_table_metadata_content_type(command->level));
    add_content_id(buf, command);
    add_caching(buf);
    add_etag(buf, ticks);
    tv_buf_add_lit(buf, "\r\n");
    return add_entity(buf, command, value);
}

/*
 * The index in front of an error's message.  A batch of one has none when it
 * failed in the store or had too large a value; that is how the cloud service
 * behaves.
 */
static bool has_index(const tv_table_batch *batch, tv_err err)
{
    bool is_bare = err == TV_ERR_ENTITY_NOT_FOUND || err == TV_ERR_ETAG_MISMATCH ||
                   err == TV_ERR_ENTITY_EXISTS || err == TV_ERR_PROPERTY_VALUE_TOO_LARGE;

    return batch->count != 1 || batch->is_query || !is_bare;
}

static bool is_table_error(tv_err err)
{
    return err == TV_ERR_TABLE_NOT_FOUND || err == TV_ERR_NAME_INVALID ||
           err == TV_ERR_NAME_LENGTH || err == TV_ERR_NAME_RESERVED;
}

static void add_error(tv_buf *buf, tv_call *call, tv_err err, size_t failed)
{
    const tv_table_batch *batch = &tv_table_call_of(call)->batch;
    char prefix[24] = "";

    add_status(buf, tv_err_status(err));
    tv_buf_add_lit(buf, "X-Content-Type-Options: nosniff\r\n");
    if (!is_table_error(err))
        tv_buf_add_lit(buf, "Cache-Control: no-cache\r\n");
    if (batch->commands)
        add_preference(buf, batch->commands[failed].prefer);
    tv_buf_add_lit(buf, "DataServiceVersion: 3.0;\r\n");
    add_header(buf, "Content-Type", tv_table_metadata_content_type(TV_TABLE_METADATA_MINIMAL));
    tv_buf_add_lit(buf, "\r\n");
    if (has_index(batch, err))
        snprintf(prefix, sizeof prefix, "%zu:", failed);
    tv_table_add_error_json(buf, err, &call->info, tv_slice_of(prefix),
                            (tv_slice){call->request_id, sizeof call->request_id});
    tv_buf_add_lit(buf, "\r\n");
}

/*
 * What a part takes without an entity that it shows: lines of about 500 bytes, and two URLs
 * in which a byte becomes up to three, and a quote, which is doubled, six.
 */
static size_t part_bytes_max(const tv_table_command *command)
{
    enum { LINES_BYTES = 1024, ESCAPE_FACTOR = 6 };
    const tv_table_resource *resource = &command->resource;
    size_t keys_len = resource->partition_key.len + resource->row_key.len;

    return LINES_BYTES + command->content_id.len +
           2 * (command->endpoint.base_url.len + resource->table.len + ESCAPE_FACTOR * keys_len);
}

size_t tv_table_batch_reply_max(const tv_table_change_set *set)
{
    size_t bytes = 1024; /* what opens and closes it */

    for (size_t i = 0; i < set->count; i++)
        bytes += part_bytes_max(set->changes[i].command);
    return bytes;
}

static tv_err add_changes(tv_buf *buf, const tv_table_change_set *set, tv_slice changeset_id)
{
    tv_err err = TV_OK;

    for (size_t i = 0; err == TV_OK && i < set->count; i++) {
        const tv_entity_change *change = &set->changes[i];
        bool has_content = change->command->kind == TV_TABLE_OP_INSERT_ENTITY &&
                           change->command->prefer != TV_TABLE_PREFER_NO_CONTENT;

        err = tv_buf_try_grow(buf, part_bytes_max(change->command));
        if (err)
            break;
        add_part_opening(buf, "changesetresponse", changeset_id);
        if (has_content)
            err = add_created(buf, change);
        else
            add_no_content(buf, change);
    }
    return err;
}

tv_err tv_table_add_batch_reply(tv_buf *buf, tv_call *call, tv_slice batch_id, tv_err err,
                                size_t failed)
{
    const tv_table_batch *batch = &tv_table_call_of(call)->batch;
    char changeset_text[TV_GUID_TEXT_LEN];
    tv_guid guid = tv_guid_new();
    tv_slice changeset_id = {changeset_text, sizeof changeset_text};
    tv_err reply_err = TV_OK;

    tv_guid_format(changeset_text, &guid);
    if (batch->is_query) {
        add_part_opening(buf, "batchresponse", batch_id);
        if (err)
            add_error(buf, call, err, failed);
        else
            reply_err = add_read(buf, &batch->commands[0], tv_table_call_of(call)->outcome.value);
        tv_buf_printf(buf, "--batchresponse_%.*s--\r\n", TV_FMT(batch_id));
        return reply_err;
    }

    tv_buf_printf(buf,
                  "--batchresponse_%.*s\r\n"
                  "Content-Type: multipart/mixed; boundary=changesetresponse_%.*s\r\n\r\n",
                  TV_FMT(batch_id), TV_FMT(changeset_id));
    if (err) {
        add_part_opening(buf, "changesetresponse", changeset_id);
        add_error(buf, call, err, failed);
    } else {
        reply_err = add_changes(buf, &tv_table_call_of(call)->outcome.changes, changeset_id);
    }
    tv_buf_printf(buf, "--changesetresponse_%.*s--\r\n--batchresponse_%.*s--\r\n",
                  TV_FMT(changeset_id), TV_FMT(batch_id));
    return reply_err;
}
