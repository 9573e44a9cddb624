/* What the lists of the Blob service say about a container or a blob. */
#include "base/base64.h"
#include "base/datetime.h"
#include "base/xml.h"
#include "services/blob/call.h"
#include "services/service/list.h"
#include "services/service/metadata.h"

static void add_date(tv_buf *out, const char *name, int64_t ticks)
{
    char text[TV_DATETIME_TEXT_MAX];

    tv_xml_add_element(out, name, (tv_slice){text, tv_http_date_format(text, ticks)});
}

void tv_blob_add_etag_xml(tv_buf *out, int64_t ticks, bool is_quoted)
{
    const char *quote = is_quoted ? "\"" : "";
    char etag[TV_BLOB_ETAG_LEN];

    add_date(out, "Last-Modified", ticks);
    tv_blob_etag_format(etag, ticks);
    tv_buf_printf(out, "<Etag>%s%.*s%s</Etag>", quote, TV_BLOB_ETAG_LEN, etag, quote);
}

void tv_blob_add_lease_xml(tv_buf *out, const tv_lease *lease, int64_t now)
{
    tv_lease_state state = tv_lease_state_at(lease, now);

    tv_xml_add_element(out, "LeaseStatus", tv_lease_status_text(state));
    tv_xml_add_element(out, "LeaseState", tv_lease_state_text(state));
    if (state == TV_LEASE_LEASED)
        tv_xml_add_element(out, "LeaseDuration",
                           lease->duration_s == TV_LEASE_INFINITE ? TV_LIT("infinite")
                                                                  : TV_LIT("fixed"));
}

/* --- blobs --- */

static void add_content_headers(tv_buf *out, const tv_blob_headers *headers)
{
    char md5[(TV_BLOB_MD5_BYTES_MAX + 2) / 3 * 4]; /* in base 64 */

    tv_xml_add_element(out, "Content-Type", headers->type);
    tv_xml_add_element(out, "Content-Encoding", headers->encoding);
    tv_xml_add_element(out, "Content-Language", headers->language);
    tv_base64_encode(md5, headers->md5);
    tv_xml_add_element(out, "Content-MD5",
                       (tv_slice){md5, tv_base64_encoded_len(headers->md5.len)});
    tv_xml_add_element(out, "Cache-Control", headers->cache_control);
    tv_xml_add_element(out, "Content-Disposition", headers->disposition);
}

static void add_copy(tv_buf *out, const tv_blob_copy *copy)
{
    tv_xml_add_element(out, "CopyId", copy->id);
    tv_xml_add_element(out, "CopySource", copy->source);
    tv_buf_add_lit(out, "<CopyStatus>success</CopyStatus>");
    tv_buf_printf(out, "<CopyProgress>%llu/%llu</CopyProgress>", (unsigned long long)copy->bytes,
                  (unsigned long long)copy->bytes);
    add_date(out, "CopyCompletionTime", copy->completed);
}

static void add_properties(tv_buf *out, const tv_blob_head *head, const tv_blob_entry_view *view)
{
    bool is_block_blob = head->type == TV_BLOB_BLOCK;

    tv_buf_add_lit(out, "<Properties>");
    add_date(out, "Creation-Time", head->created);
    tv_blob_add_etag_xml(out, head->etag, false);
    tv_buf_printf(out, "<Content-Length>%llu</Content-Length>", (unsigned long long)head->length);
    add_content_headers(out, &head->headers);
    tv_xml_add_element(out, "BlobType", is_block_blob ? TV_LIT("BlockBlob") : TV_LIT("AppendBlob"));
    if (is_block_blob)
        tv_buf_add_lit(out, "<AccessTier>Hot</AccessTier>"
                            "<AccessTierInferred>true</AccessTierInferred>");
    if (head->snapshot == 0)
        tv_blob_add_lease_xml(out, &head->lease, view->now);
    if (view->copy && head->copy.id.len)
        add_copy(out, &head->copy);
    tv_buf_add_lit(out, "<ServerEncrypted>true</ServerEncrypted></Properties>");
}

/* Of a blob that has only blocks there is nothing to read, and nothing of it was ever changed. */
static void add_uncommitted_properties(tv_buf *out, const tv_blob_entry_view *view)
{
    static const tv_lease none;

    tv_buf_add_lit(out, "<Properties><Content-Length>0</Content-Length>"
                        "<BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier>"
                        "<AccessTierInferred>true</AccessTierInferred>");
    tv_blob_add_lease_xml(out, &none, view->now);
    tv_buf_add_lit(out, "<ServerEncrypted>true</ServerEncrypted></Properties>");
}

void tv_blob_add_entry_xml(tv_buf *out, const tv_blob_entry *entry, const tv_blob_entry_view *view)
{
    char snapshot[TV_DATETIME_TEXT_MAX];

    if (entry->kind == TV_BLOB_ENTRY_PREFIX) {
        tv_buf_add_lit(out, "<BlobPrefix>");
        tv_list_add_name(out, "Name", entry->name);
        tv_buf_add_lit(out, "</BlobPrefix>");
        return;
    }
    tv_buf_add_lit(out, "<Blob>");
    tv_list_add_name(out, "Name", entry->name);
    if (entry->kind == TV_BLOB_ENTRY_UNCOMMITTED) {
        add_uncommitted_properties(out, view);
    } else {
        if (entry->head.snapshot)
            tv_xml_add_element(
                out, "Snapshot",
                (tv_slice){snapshot, tv_datetime_format7(snapshot, entry->head.snapshot)});
        add_properties(out, &entry->head, view);
    }
    if (view->metadata)
        tv_metadata_add_xml(out, entry->head.metadata);
    tv_buf_add_lit(out, "</Blob>");
}
