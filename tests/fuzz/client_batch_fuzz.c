/*
 * Answers to batches, as the client reads them: any Content-Type in the first line, any body after
 * it.  What is read lies inside the body, is what a batch can have, and the etags can be sent back.
 */
#include "base/assert.h"
#include "client/table/batch.h"
#include "fuzz.h"

static void check_inside(tv_slice whole, tv_slice part)
{
    if (part.data)
        tv_assert(part.data >= whole.data && part.data + part.len <= whole.data + whole.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tvc_batch_answer answer;
    tv_slice body = {(const char *)data, size}, type = TV_NONE;

    if (!tv_slice_next(&body, '\n', &type) || body.data == NULL)
        return 0;
    if (!tvc_batch_answer_read(type, body, &answer))
        return 0;

    tv_assert(answer.count >= 1 && answer.count <= TVC_BATCH_WRITES_MAX);
    for (size_t i = 0; i < answer.count; i++) {
        const tvc_batch_part *part = &answer.parts[i];

        tv_assert(part->status >= 100 && part->status <= 999);
        check_inside(body, part->etag);
        check_inside(body, part->body);
        tv_assert(tv_slice_is_printable(part->etag));
        /* Room for the NUL that is put after it. */
        if (part->etag.data)
            tv_assert(part->etag.data + part->etag.len < body.data + body.len);
    }
    return 0;
}
