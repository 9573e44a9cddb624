/*
 * Block blobs from a callback.  What fits into one block is put at once.  More goes in blocks,
 * which nobody sees until the list of them is put: that is the write, and has its condition.
 */
#include "base/guid.h"
#include "client/blob/blob.h"
#include "client/xml/xml.h"

/* An upload.  The ids of its blocks begin alike, so that those of two uploads do not mix. */
typedef struct upload {
    tavola_container *container;
    const char *name;
    const tavola_blob_options *options;
    tavola_call *call;
    tavola_source_fn source;
    void *user;
    char *block; /* memory for one */
    size_t block_len;
    uint64_t size; /* of all blocks so far */
    tv_md5 md5;
    uint32_t block_count;
    tv_guid id;
} upload;

/* Base64 of 20 bytes: all ids of a blob must have one length. */
static void add_block_id(tvc_text *text, const upload *up, uint32_t index)
{
    char id[sizeof up->id.bytes + sizeof index];

    memcpy(id, up->id.bytes, sizeof up->id.bytes);
    memcpy(id + sizeof up->id.bytes, &index, sizeof index);
    tvc_text_add_base64(text, (tv_slice){id, sizeof id});
}

/* Blocks become larger when half of them are used up. */
static size_t block_size(const upload *up)
{
    return up->block_count < TVC_BLOB_BLOCKS_MAX / 2 ? TVC_BLOB_PIECE : TVC_BLOB_LARGE_PIECE;
}

/* Read the next block: as much as there is, empty at the end. */
static tavola_err read_block(upload *up)
{
    size_t size = block_size(up);

    if (up->block_count == TVC_BLOB_BLOCKS_MAX / 2) {
        char *larger = tvc_resize(up->block, size);

        if (larger == NULL)
            return TAVOLA_ERR_NO_MEMORY;
        up->block = larger;
    }
    up->block_len = 0;
    while (up->block_len < size) {
        size_t room = size - up->block_len, len = 0;

        if (!up->source(up->user, up->block + up->block_len, room, &len))
            return tvc_call_refuse(up->call, TAVOLA_ERR_CANCELLED, "the source gave up");
        if (len > room)
            return tvc_call_refuse(up->call, TAVOLA_ERR_INVALID, "the source gave too much");
        if (len == 0)
            break;
        up->block_len += len;
    }
    return TAVOLA_OK;
}

static tavola_err put_block(upload *up)
{
    tv_slice bytes = {up->block, up->block_len};
    unsigned char md5[TV_MD5_BYTES];
    tvc_text id = {0};

    if (up->block_count == TVC_BLOB_BLOCKS_MAX)
        return tvc_call_refuse(up->call, TAVOLA_ERR_TOO_LARGE, "a blob has at most 50,000 blocks");

    tavola_op *op = tvc_blob_ask(up->container, up->name, up->call, "PUT", "block");

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    add_block_id(&id, up, up->block_count);
    if (id.has_failed)
        op->request.query.has_failed = true;
    else
        tvc_op_add_parameter(op, "blockid", tvc_text_slice(&id));
    tvc_text_done(&id);
    tv_md5_of(bytes, md5);
    tvc_blob_add_md5(op, TV_LIT("Content-MD5"), md5);
    tvc_blob_send(op, &bytes);

    tavola_err err = tvc_op_run(op);

    tavola_op_free(op);
    /* A block that nobody knows of changes nothing. */
    if (err == TAVOLA_ERR_UNKNOWN_OUTCOME && up->call && tvc_call_is_over(up->call))
        return tvc_call_refuse(up->call, TAVOLA_ERR_CANCELLED,
                               "it was cancelled; the blob is what it was");
    if (err == TAVOLA_ERR_UNKNOWN_OUTCOME)
        return tvc_call_refuse(up->call, TAVOLA_ERR_NETWORK,
                               "no answer came to a block; the blob is what it was");
    if (err)
        return err;

    tv_md5_update(&up->md5, bytes);
    up->size += up->block_len;
    up->block_count++;
    return TAVOLA_OK;
}

static tavola_err put_list(upload *up)
{
    tvc_blob_wanted wanted = {.size = up->size, .options = *up->options};
    tavola_op *op = tvc_blob_ask(up->container, up->name, up->call, "PUT", "blocklist");

    tv_md5_final(&up->md5, wanted.md5);
    if (op) {
        tvc_text *body = &op->request.body;

        tvc_text_add_lit(body, "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
        for (uint32_t i = 0; i < up->block_count; i++) {
            tvc_text_add_lit(body, "<Latest>");
            add_block_id(body, up, i);
            tvc_text_add_lit(body, "</Latest>");
        }
        tvc_text_add_lit(body, "</BlockList>");
        tvc_op_add_header(op, TV_LIT("Content-Type"), TV_LIT("application/xml"));
        tvc_blob_add_md5(op, TV_LIT("x-ms-blob-content-md5"), wanted.md5);
        tvc_blob_options_add(op, up->options);
    }
    return tvc_blob_run_put(op, up->container, up->name, &wanted);
}

static tavola_err run(upload *up)
{
    tavola_err err = read_block(up);

    if (err)
        return err;
    if (up->block_len < block_size(up))
        return tvc_blob_put_single(up->container, up->name, (tv_slice){up->block, up->block_len},
                                   up->options, up->call);

    while (up->block_len > 0) {
        err = put_block(up);
        if (!err)
            err = read_block(up);
        if (err)
            return err;
    }
    return put_list(up);
}

tavola_err tvc_blob_put_blocks(tavola_container *container, const char *name,
                               tavola_source_fn source, void *user,
                               const tavola_blob_options *options, tavola_call *call)
{
    upload up = {
        .container = container,
        .name = name,
        .options = options,
        .call = call,
        .source = source,
        .user = user,
        .block = tvc_alloc(TVC_BLOB_PIECE),
        .id = tv_guid_new(),
    };

    if (up.block == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tv_md5_init(&up.md5);

    tavola_err err = run(&up);

    tvc_release(up.block);
    return err;
}

tavola_err tavola_blob_write(tavola_container *container, const char *name, tavola_source_fn source,
                             void *user, const tavola_blob_options *options, tavola_call *call)
{
    tavola_blob_options complete;
    tavola_err err = tvc_blob_check(container, name, call);

    if (!err && source == NULL)
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID, "a source is needed");
    if (!err)
        err = tvc_blob_options_read(options, call, &complete);
    if (err)
        return err;
    return tvc_blob_put_blocks(container, name, source, user, &complete, call);
}
