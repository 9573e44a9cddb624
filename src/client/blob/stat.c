/* What there is to know of a blob without reading it. */
#include "base/base64.h"
#include "base/datetime.h"
#include "base/number.h"
#include "client/blob/blob.h"

typedef struct look {
    tv_slice name;
    tvc_blob_seen *seen; /* made of the answer */
} look;

static const char *put_text(char **at, tv_slice text)
{
    char *from = *at;

    *at = tv_slice_put(from, text);
    *(*at)++ = '\0';
    return from;
}

static bool read_md5(tv_slice text, unsigned char ret_md5[TV_MD5_BYTES])
{
    enum { TEXT_LEN = (TV_MD5_BYTES + 2) / 3 * 4 };
    char bytes[TEXT_LEN / 4 * 3];
    size_t len;

    if (text.len != TEXT_LEN || !tv_base64_decode(bytes, text, &len) || len != TV_MD5_BYTES)
        return false;
    memcpy(ret_md5, bytes, TV_MD5_BYTES);
    return true;
}

static tavola_err read_head(tavola_op *op, tvc_response *response)
{
    look *of = op->user_data;
    tv_slice size = tvc_response_header(response, TV_LIT("Content-Length"));
    tv_slice etag = tvc_response_header(response, TV_LIT("ETag"));
    tv_slice type = tvc_response_header(response, TV_LIT("Content-Type"));
    tv_slice kind = tvc_response_header(response, TV_LIT("x-ms-blob-type"));
    tv_slice date = tvc_response_header(response, TV_LIT("Last-Modified"));
    tavola_blob_info info = {.is_append = tv_slice_eq(kind, TV_LIT("AppendBlob"))};

    if (!tv_parse_uint64(size, &info.size) || etag.len == 0) {
        tvc_call_set_error(op->call, "", "the answer has no length or no etag");
        return TAVOLA_ERR_PROTOCOL;
    }
    (void)tv_http_date_parse(date, &info.last_modified);

    tvc_blob_seen *seen = tvc_zalloc(sizeof *seen + of->name.len + etag.len + type.len + 3);

    if (seen == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    char *at = seen->texts;

    info.name = put_text(&at, of->name);
    info.etag = put_text(&at, etag);
    info.content_type = type.len ? put_text(&at, type) : NULL;
    seen->info = info;
    seen->has_md5 = read_md5(tvc_response_header(response, TV_LIT("Content-MD5")), seen->md5);
    of->seen = seen;
    return TAVOLA_OK;
}

tavola_err tvc_blob_look(tavola_container *container, const char *name, tavola_call *call,
                         tvc_blob_seen **ret_seen)
{
    look of = {.name = tv_slice_of(name)};
    tavola_op *op = tvc_blob_ask(container, name, call, "HEAD", NULL);

    if (op) {
        op->is_read = true;
        op->finish = read_head;
        op->user_data = &of;
    }

    tavola_err err = tvc_resource_run(op);

    if (!err)
        *ret_seen = of.seen;
    return err;
}

tavola_err tavola_blob_stat(tavola_container *container, const char *name, tavola_call *call,
                            tavola_blob_info **ret_info)
{
    tvc_blob_seen *seen = NULL;
    tavola_err err = tvc_blob_check(container, name, call);

    if (!err && ret_info == NULL)
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID, "ret_info is needed");
    if (!err)
        err = tvc_blob_look(container, name, call, &seen);
    if (!err)
        *ret_info = &seen->info;
    return err;
}

void tavola_blob_info_free(tavola_blob_info *info)
{
    tvc_release(info);
}

tavola_err tavola_blob_exists(tavola_container *container, const char *name, tavola_call *call,
                              bool *ret_exists)
{
    tavola_blob_info *info = NULL;

    if (ret_exists == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "ret_exists is needed");

    tavola_err err = tavola_blob_stat(container, name, call, &info);

    tavola_blob_info_free(info);
    if (err && err != TAVOLA_ERR_NOT_FOUND)
        return err;
    *ret_exists = err == TAVOLA_OK;
    return TAVOLA_OK;
}
