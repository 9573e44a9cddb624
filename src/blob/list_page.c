/* What both lists of the Blob service share: how much a page may have, and its way out. */
#include "base/utf8.h"
#include "blob/call.h"

/* Pages that have been read and not been sent yet, of all clients together. */
enum { UNSENT_PAGE_BYTES_MAX = 256 * 1024 * 1024 };

/* What was asked for is repeated in the answer, which is XML. */
tv_err tv_blob_check_list_text(tv_blob_call *call, tv_slice name, tv_slice text)
{
    tv_slice rest = text;

    while (rest.len) {
        uint32_t c = tv_utf8_next(&rest);

        if (c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0xfffe || c == 0xffff)
            return tv_call_bad_parameter(&call->base, name, TV_NONE, NULL);
    }
    return TV_OK;
}

/* Looked at when the job runs and not when it is queued: only as many pages as there are workers
 * can then go beyond the limit. */
tv_err tv_blob_begin_page(tv_blob_call *call)
{
    if (atomic_load(&tv_blob_service_of(call)->page_bytes) >= UNSENT_PAGE_BYTES_MAX)
        return TV_ERR_OVERLOADED;

    tv_call_start_xml(&call->base, 200);
    return TV_OK;
}

void tv_blob_end_page(tv_blob_call *call, tv_err err)
{
    call->base.job_result = err;
    call->page_bytes = call->base.req->out.len;
    atomic_fetch_add(&tv_blob_service_of(call)->page_bytes, call->page_bytes);
}

void tv_blob_respond_list(tv_blob_call *call)
{
    if (call->base.job_result)
        tv_call_respond_error(&call->base, call->base.job_result);
    else
        tv_call_finish(&call->base);
}
