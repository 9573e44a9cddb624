/* What the answer to a batch means for it. */
#include "client/table/batch.h"

/* Hangs at the operation. */
typedef struct expectation {
    size_t count;
    tvc_batch_etags *etags; /* or NULL */
} expectation;

/* Each etag gets a NUL after it, in place of its line's end. */
static void keep_etags(tvc_batch_etags *etags, const tvc_batch_answer *answer,
                       tvc_response *response)
{
    tvc_release(etags->answer);
    etags->answer = response->body;
    response->body = NULL;
    for (size_t i = 0; i < answer->count; i++) {
        tv_slice etag = answer->parts[i].etag;

        if (etag.data == NULL)
            continue;
        etags->answer[etag.data + etag.len - etags->answer] = '\0';
        etags->at[i] = etag.data;
    }
}

static tavola_err fail_part(tavola_op *op, const tvc_batch_part *part, size_t count)
{
    const tvc_response inner = {
        .status = part->status, .body = (char *)part->body.data, .body_len = part->body.len};
    tavola_err err = tvc_call_read_error(op->call, &inner);
    int index = tvc_batch_take_index(op->call->message);

    if (index < 0 && count == 1)
        index = 0;
    op->call->status = part->status;
    op->call->failed_index = index < (int)count ? index : -1;
    return err;
}

static tavola_err read_answer(tavola_op *op, tvc_response *response)
{
    const expectation *expected = op->user_data;
    tv_slice type = tvc_response_header(response, TV_LIT("Content-Type"));
    tvc_batch_answer answer;

    if (!tvc_batch_answer_read(type, (tv_slice){response->body, response->body_len}, &answer)) {
        tvc_call_set_error(op->call, "", "the answer to the batch cannot be read");
        return TAVOLA_ERR_PROTOCOL;
    }
    for (size_t i = 0; i < answer.count; i++) {
        if (answer.parts[i].status >= 300)
            return fail_part(op, &answer.parts[i], expected->count);
    }
    if (answer.count != expected->count) {
        tvc_call_set_error(op->call, "", "the answer has not one part for each write");
        return TAVOLA_ERR_PROTOCOL;
    }
    if (expected->etags)
        keep_etags(expected->etags, &answer, response);
    return TAVOLA_OK;
}

static void release_expected(tavola_op *op)
{
    tvc_release(op->user_data);
}

tavola_err tvc_batch_expect(tavola_op *op, size_t count, tvc_batch_etags *etags)
{
    expectation *user_data = tvc_alloc(sizeof *user_data);

    if (user_data == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    *user_data = (expectation){count, etags};
    op->user_data = user_data;
    op->release = release_expected;
    op->finish = read_answer;
    return TAVOLA_OK;
}
