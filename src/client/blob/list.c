/* Lists of blobs, page by page. */
#include "base/datetime.h"
#include "base/grow.h"
#include "base/number.h"
#include "client/blob/blob.h"
#include "client/xml/xml.h"

struct tavola_blobs {
    char *document; /* the answer, in which all texts are */
    tavola_blob_info *list;
    size_t count, size;
    char *token; /* or NULL */
};

/* ---- an answer ------------------------------------------------------------------------------ */

/*
 * Lists have etags without their quotes, all other answers with them.  The quotes take the places
 * of the brackets around the text, which have been read.
 */
static const char *quote_etag(tv_slice etag)
{
    char *text = (char *)(uintptr_t)etag.data;

    if (etag.len == 0 || text[0] == '"')
        return etag.data;
    text[-1] = text[etag.len] = '"';
    text[etag.len + 1] = '\0';
    return text - 1;
}

static tavola_ticks read_date(tvc_xml *xml)
{
    int64_t ticks = 0;

    if (!tv_http_date_parse(tvc_xml_text(xml), &ticks))
        tvc_xml_fail(xml);
    return ticks;
}

static void read_properties(tvc_xml *xml, tavola_blob_info *info)
{
    tv_slice field;

    while (tvc_xml_child(xml, &field)) {
        if (tv_slice_eq(field, TV_LIT("Content-Length"))) {
            info->size = tvc_xml_number(xml);
        } else if (tv_slice_eq(field, TV_LIT("Etag"))) {
            info->etag = quote_etag(tvc_xml_text(xml));
        } else if (tv_slice_eq(field, TV_LIT("Last-Modified"))) {
            info->last_modified = read_date(xml);
        } else if (tv_slice_eq(field, TV_LIT("BlobType"))) {
            info->is_append = tv_slice_eq(tvc_xml_text(xml), TV_LIT("AppendBlob"));
        } else if (tv_slice_eq(field, TV_LIT("Content-Type"))) {
            tv_slice type = tvc_xml_text(xml);

            info->content_type = type.len ? type.data : NULL;
        } else {
            tvc_xml_skip(xml);
        }
    }
}

static void read_blob(tvc_xml *xml, tavola_blob_info *info)
{
    tv_slice field;

    while (tvc_xml_child(xml, &field)) {
        if (tv_slice_eq(field, TV_LIT("Name")))
            info->name = tvc_xml_text(xml).data;
        else if (tv_slice_eq(field, TV_LIT("Properties")) && !info->is_prefix)
            read_properties(xml, info);
        else
            tvc_xml_skip(xml);
    }
    if (info->name == NULL || *info->name == '\0')
        tvc_xml_fail(xml);
}

/* Room for one more; NULL: no memory. */
static tavola_blob_info *add_info(tavola_blobs *blobs)
{
    if (!tv_try_grow(&blobs->list, blobs->count, &blobs->size, 64))
        return NULL;

    tavola_blob_info *info = &blobs->list[blobs->count++];

    *info = (tavola_blob_info){0};
    return info;
}

/* False when there is no memory. */
static bool read_blobs(tvc_xml *xml, tavola_blobs *blobs)
{
    tv_slice name;

    while (tvc_xml_child(xml, &name)) {
        bool is_prefix = tv_slice_eq(name, TV_LIT("BlobPrefix"));

        if (!is_prefix && !tv_slice_eq(name, TV_LIT("Blob"))) {
            tvc_xml_skip(xml);
            continue;
        }

        tavola_blob_info *info = add_info(blobs);

        if (info == NULL)
            return false;
        info->is_prefix = is_prefix;
        read_blob(xml, info);
    }
    return true;
}

/* "p;marker", percent-encoded; 's' of the secondary, for which alone it is good. */
static char *make_token(tv_slice marker, bool is_secondary)
{
    tvc_text text = {0};

    tvc_text_add(&text, is_secondary ? TV_LIT("s;") : TV_LIT("p;"));
    tvc_text_add_encoded(&text, marker);
    return tvc_text_take(&text);
}

static tavola_err read_page(tvc_xml *xml, tavola_blobs *blobs, bool is_secondary)
{
    tv_slice group;

    while (tvc_xml_child(xml, &group)) {
        if (tv_slice_eq(group, TV_LIT("Blobs"))) {
            if (!read_blobs(xml, blobs))
                return TAVOLA_ERR_NO_MEMORY;
        } else if (tv_slice_eq(group, TV_LIT("NextMarker")) && blobs->token == NULL) {
            tv_slice marker = tvc_xml_text(xml);

            if (marker.len && (blobs->token = make_token(marker, is_secondary)) == NULL)
                return TAVOLA_ERR_NO_MEMORY;
        } else {
            tvc_xml_skip(xml);
        }
    }
    return tvc_xml_close(xml) ? TAVOLA_OK : TAVOLA_ERR_PROTOCOL;
}

tavola_err tvc_blobs_read(char *document, size_t len, bool is_secondary, tavola_blobs **ret_blobs)
{
    tavola_blobs *blobs = tvc_zalloc(sizeof *blobs);
    tvc_xml xml;

    if (blobs == NULL) {
        tvc_release(document);
        return TAVOLA_ERR_NO_MEMORY;
    }
    blobs->document = document;
    tvc_xml_open(&xml, document, len, TV_LIT("EnumerationResults"));

    tavola_err err = read_page(&xml, blobs, is_secondary);

    if (err)
        tavola_blobs_free(blobs);
    else
        *ret_blobs = blobs;
    return err;
}

/* ---- a request ------------------------------------------------------------------------------ */

typedef struct page {
    tavola_blobs *blobs; /* read from the answer */
} page;

static tavola_err read_list(tavola_op *op, tvc_response *response)
{
    page *of = op->user_data;
    char *document = response->body;

    response->body = NULL;

    tavola_err err = tvc_blobs_read(document, response->body_len, op->was_secondary, &of->blobs);

    if (err == TAVOLA_ERR_PROTOCOL)
        tvc_call_set_error(op->call, "", "the answer is not a list of blobs in XML");
    return err;
}

/* The token is encoded as a URL needs it; what else is in it is not ours. */
static bool is_token(const char *token)
{
    if ((token[0] != 'p' && token[0] != 's') || token[1] != ';' || token[2] == '\0')
        return false;
    for (token += 2; *token; token++) {
        if (strchr("&?#= +", *token) || *token < '!' || *token > '~')
            return false;
    }
    return true;
}

static tavola_err check_list(tavola_container *container, const char *prefix, const char *delimiter,
                             const char *token, tavola_call *call)
{
    if (container == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "a container is needed");
    if ((prefix && !tvc_xml_can_hold(tv_slice_of(prefix))) ||
        (delimiter && !tvc_xml_can_hold(tv_slice_of(delimiter))))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "prefix or delimiter is not text in UTF-8");
    if (token && !is_token(token))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the token is not one of tavola_blob_list");
    return TAVOLA_OK;
}

tavola_err tavola_blob_list(tavola_container *container, const char *prefix, const char *delimiter,
                            uint32_t page_size, const char *token, tavola_call *call,
                            tavola_blobs **ret_blobs)
{
    page of = {0};
    tavola_err err = check_list(container, prefix, delimiter, token, call);

    if (!err && ret_blobs == NULL)
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID, "ret_blobs is needed");
    if (err)
        return err;

    tavola_op *op = tvc_resource_ask(&container->resource, call, "GET", "list");

    if (op) {
        op->is_read = true;
        op->finish = read_list;
        op->user_data = &of;
        if (prefix && *prefix)
            tvc_op_add_parameter(op, "prefix", tv_slice_of(prefix));
        if (delimiter && *delimiter)
            tvc_op_add_parameter(op, "delimiter", tv_slice_of(delimiter));
        if (page_size) {
            char digits[TV_INT64_TEXT_MAX];

            tvc_op_add_parameter(op, "maxresults",
                                 (tv_slice){digits, tv_format_int64(digits, page_size)});
        }
        if (token) {
            op->location = token[0] == 's' ? TVC_AT_SECONDARY : TVC_AT_PRIMARY;
            tvc_text_add_lit(&op->request.query, "&marker=");
            tvc_text_add(&op->request.query, tv_slice_of(token + 2));
        }
    }
    err = tvc_resource_run(op);
    if (!err)
        *ret_blobs = of.blobs;
    return err;
}

size_t tavola_blobs_count(const tavola_blobs *blobs)
{
    return blobs ? blobs->count : 0;
}

const tavola_blob_info *tavola_blobs_at(const tavola_blobs *blobs, size_t i)
{
    return blobs && i < blobs->count ? &blobs->list[i] : NULL;
}

const char *tavola_blobs_token(const tavola_blobs *blobs)
{
    return blobs ? blobs->token : NULL;
}

void tavola_blobs_free(tavola_blobs *blobs)
{
    if (blobs == NULL)
        return;

    tvc_release(blobs->token);
    tvc_release(blobs->list);
    tvc_release(blobs->document);
    tvc_release(blobs);
}
