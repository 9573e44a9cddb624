/*
 * Uploads.
 *
 *  (1) One job of an upload is under way at a time; while it is, the writer, the
 *      digests, the job's error and the buffer `busy` are the worker's, everything
 *      else the loop's.  So the loop learns of an error by the job's
 *      completion, not before, and gives up only when no job is under way.
 *      When there are several uploads a job is with the hasher first, which
 *      owns the MD5 and the buffer until it has handed the job to a worker, or
 *      back.
 *  (2) An upload has at most two buffers, and never waits for one that another
 *      upload has: its client may keep it for as long as it likes to send slowly.
 *      While there is none, each piece is written by itself.
 *  (3) A buffer is full when another piece might not fit, so that bytes are copied
 *      once.  What does not fit nevertheless is kept in `spill`, and the client
 *      waits until it has found its place.
 *  (4) When the request ends before the job does, the upload frees itself when the
 *      job comes back.
 */
#include "services/blob/body/upload.h"

#include "base/assert.h"
#include "base/buf.h"

/* The network layer reads this much at once. */
enum { PIECE_BYTES = 64 * 1024 };

struct tv_blob_upload {
    tv_blob_io io;
    tv_request *req; /* NULL when it has ended */
    tv_loop *loop;
    tv_charge charge; /* for its buffers, which may outlive the request's; the loop's */
    void (*fail)(tv_request *req, tv_err err);
    void (*done)(tv_request *req, tv_err err, const tv_blob_upload_result *result);

    char *filling; /* NULL when there is none */
    size_t filled;
    tv_buf spill;
    bool is_held;     /* the sink has been told to wait */
    bool is_finished; /* the body is complete */
    bool is_closed;   /* the last job is under way, or nothing is left to do */

    /* The job's. */
    tv_hash_job job;
    bool is_working;
    bool is_hashed; /* the hasher computes the MD5 of what is busy */
    char *busy;
    size_t busy_len;
    tv_buf piece; /* what `busy` is in when it is no buffer of the set: (2) */
    tv_extent_writer *writer;
    tv_md5 md5;
    tv_crc64 crc64;
    tv_err job_err;

    tv_err err; /* of the last job that has come back */
    tv_blob_upload_result result;
};

/* --- the beginning and the end --- */

tv_blob_upload *tv_blob_upload_new(const tv_blob_io *io, tv_request *req, const tv_digests *wanted,
                                   void (*fail)(tv_request *req, tv_err err))
{
    tv_blob_upload *upload = tv_calloc(1, sizeof *upload);

    upload->io = *io;
    upload->req = req;
    upload->loop = req->loop;
    upload->fail = fail;
    tv_charge_init(&upload->charge, req->charge.share);
    upload->spill.charge = &upload->charge;
    upload->result.digests.has_md5 = wanted->has_md5;
    upload->result.digests.has_crc64 = wanted->has_crc64;
    if (wanted->has_md5) {
        tv_md5_init(&upload->md5);
        tv_hasher_join(io->hasher);
    }
    if (wanted->has_crc64)
        tv_crc64_init(&upload->crc64);
    return upload;
}

/* What was busy is written, or never will be. */
static void release_busy(tv_blob_upload *upload)
{
    if (upload->piece.data) {
        tv_buf_done(&upload->piece);
    } else {
        tv_buffers_give(upload->io.in, upload->busy, &upload->charge);
    }
    upload->busy = NULL;
}

static void upload_free(tv_blob_upload *upload)
{
    tv_assert(!upload->is_working);
    tv_extent_discard(upload->writer);
    tv_buffers_give(upload->io.in, upload->filling, &upload->charge);
    release_busy(upload);
    tv_buf_done(&upload->spill);
    tv_charge_done(&upload->charge);
    if (upload->result.digests.has_md5)
        tv_hasher_leave(upload->io.hasher, &upload->job);
    free(upload);
}

/* --- on a worker --- */

static tv_err write_busy(tv_blob_upload *upload)
{
    tv_slice bytes = {upload->busy, upload->busy_len};
    tv_err err;

    if (upload->writer == NULL) {
        err = tv_extent_create(upload->io.extents, &upload->writer);
        if (err)
            return err;
    }
    if (upload->result.digests.has_md5 && !upload->is_hashed)
        tv_md5_update(&upload->md5, bytes);
    if (upload->result.digests.has_crc64)
        tv_crc64_update(&upload->crc64, bytes);
    upload->result.length += bytes.len;
    return tv_extent_append(upload->writer, bytes);
}

static tv_err close_extent(tv_blob_upload *upload)
{
    tv_extent_writer *writer = upload->writer;
    tv_blob_upload_result *result = &upload->result;

    upload->writer = NULL;
    if (result->digests.has_md5)
        tv_md5_final(&upload->md5, result->digests.md5);
    if (result->digests.has_crc64)
        tv_crc64_encode(tv_crc64_final(&upload->crc64), result->digests.crc64);
    return tv_extent_finish(writer, &result->extent);
}

static tv_blob_upload *upload_of_job(void *job)
{
    return (tv_blob_upload *)((char *)job - offsetof(tv_blob_upload, job));
}

static void run_write(tv_job *job)
{
    tv_blob_upload *upload = upload_of_job(job);

    upload->job_err = write_busy(upload);
    if (!upload->job_err && upload->is_closed)
        upload->job_err = close_extent(upload);
    if (upload->job_err) {
        tv_extent_discard(upload->writer);
        upload->writer = NULL;
    }
}

/* --- on the loop --- */

static void deliver_written(tv_mail *mail);

static bool submit(tv_blob_upload *upload)
{
    tv_job *job = &upload->job.job;

    job->run = run_write;
    job->mail.deliver = deliver_written;
    job->reply_to = tv_loop_mailbox(upload->loop);
    upload->job.md5 = &upload->md5;
    upload->job.bytes = (tv_slice){upload->busy, upload->busy_len};
    upload->job.is_last = upload->is_closed;
    upload->is_hashed = upload->result.digests.has_md5;
    upload->is_working = upload->is_hashed && tv_hasher_submit(upload->io.hasher, &upload->job);
    if (!upload->is_working) {
        upload->is_hashed = false;
        upload->is_working = tv_workers_submit(upload->io.workers, job);
    }
    return upload->is_working;
}

/* The body cannot be stored.  The request may be gone after it. */
static void give_up(tv_blob_upload *upload, tv_err err)
{
    tv_blob_upload_result none = {0};

    tv_assert(!upload->is_working);
    upload->is_closed = true;
    if (upload->is_finished)
        upload->done(upload->req, err, &none);
    else
        upload->fail(upload->req, err);
}

/* Hand the filling buffer to a worker. */
static bool pass_on(tv_blob_upload *upload)
{
    tv_assert(!upload->is_working && upload->filled > 0);

    upload->busy = upload->filling;
    upload->busy_len = upload->filled;
    upload->filling = NULL;
    upload->filled = 0;
    return submit(upload);
}

/* Hand to a worker what has come while there is no buffer. */
static bool pass_on_spill(tv_blob_upload *upload)
{
    tv_assert(!upload->is_working && upload->filling == NULL);
    upload->piece = upload->spill;
    upload->spill = (tv_buf){.charge = &upload->charge};
    upload->busy = upload->piece.data;
    upload->busy_len = upload->piece.len;
    return submit(upload);
}

/* Copy what fits of some bytes into the filling buffer. */
static tv_slice fill(tv_blob_upload *upload, tv_slice piece)
{
    size_t room = upload->filling ? tv_buffers_size(upload->io.in) - upload->filled : 0;
    size_t count = piece.len < room ? piece.len : room;

    if (count)
        memcpy(upload->filling + upload->filled, piece.data, count);
    upload->filled += count;
    return tv_slice_skip(piece, count);
}

static bool is_full(const tv_blob_upload *upload)
{
    return upload->filling && upload->filled + PIECE_BYTES > tv_buffers_size(upload->io.in);
}

/*
 * Get ready for the next piece.  True when it can come; false when the client
 * has to wait; *ret_err when it will not come.
 */
static bool make_room(tv_blob_upload *upload, tv_err *ret_err)
{
    *ret_err = TV_OK;
    for (;;) {
        if (is_full(upload)) {
            if (upload->is_working)
                return false; /* (1) */
            if (!pass_on(upload)) {
                *ret_err = TV_ERR_OVERLOADED;
                return false;
            }
        }
        if (upload->filling == NULL)
            upload->filling = tv_buffers_take(upload->io.in, &upload->charge);
        if (upload->filling == NULL)
            break;
        if (upload->spill.len == 0)
            return true;

        tv_slice rest = fill(upload, tv_buf_slice(&upload->spill));

        memmove(upload->spill.data, rest.data, rest.len);
        upload->spill.len = rest.len;
        if (rest.len == 0 && !is_full(upload))
            return true;
    }
    if (upload->is_working)
        return false; /* it comes back, perhaps with a buffer */
    if (upload->spill.len == 0)
        return true; /* the next piece is dealt with when it is here: (2) */

    if (!pass_on_spill(upload))
        *ret_err = TV_ERR_OVERLOADED;
    return false;
}

bool tv_blob_upload_take(tv_blob_upload *upload, tv_slice piece)
{
    tv_err err = upload->is_working ? TV_OK : upload->err; /* (1) */

    tv_assert(!upload->is_held && !upload->is_finished);
    if (!err) {
        tv_slice rest = fill(upload, piece);

        err = tv_buf_try_grow(&upload->spill, rest.len);
        if (!err) {
            tv_buf_add(&upload->spill, rest);
            if (make_room(upload, &err))
                return true;
        }
    }
    if (err)
        give_up(upload, err);
    else
        upload->is_held = true;
    return false;
}

/* The last job: the rest of the body, and the end of the extent. */
static void close_upload(tv_blob_upload *upload)
{
    tv_err err = upload->err;

    tv_assert(!upload->is_working && upload->spill.len == 0);
    if (!err && upload->filled == 0) {
        /* All has been written: the end is a job with an empty buffer. */
        upload->busy_len = 0;
        upload->is_closed = true;
        if (submit(upload))
            return;
        err = TV_ERR_OVERLOADED;
    } else if (!err) {
        upload->is_closed = true;
        if (pass_on(upload))
            return;
        err = TV_ERR_OVERLOADED;
    }
    give_up(upload, err);
}

void tv_blob_upload_finish(tv_blob_upload *upload,
                           void (*done)(tv_request *req, tv_err err,
                                        const tv_blob_upload_result *result))
{
    tv_assert(!upload->is_held && !upload->is_finished);
    upload->done = done;
    upload->is_finished = true;
    if (!upload->is_working)
        close_upload(upload);
}

/* Something has changed while the client, or the end, was waiting. */
static void go_on(tv_blob_upload *upload)
{
    tv_err err = upload->err;

    if (upload->is_finished) {
        close_upload(upload);
        return;
    }
    if (!upload->is_held)
        return; /* the next piece learns of an error */
    if (!err && make_room(upload, &err)) {
        upload->is_held = false;
        tv_request_resume(upload->req);
    } else if (err) {
        give_up(upload, err);
    }
}

/* A buffer has been written. */
static void deliver_written(tv_mail *mail)
{
    tv_blob_upload *upload = upload_of_job(mail);
    tv_loop *loop = upload->loop;

    upload->is_working = false;
    upload->err = upload->job.is_refused ? TV_ERR_OVERLOADED : upload->job_err;
    if (upload->req == NULL) {
        /* What was just finished has no owner: (4) */
        if (upload->is_closed && !upload->err)
            tv_extents_remove(upload->io.extents, &upload->result.extent, 1);
        upload_free(upload);
        tv_loop_release(loop);
        return;
    }
    if (upload->filling == NULL && upload->piece.data == NULL) {
        upload->filling = upload->busy;
        upload->busy = NULL;
    } else {
        release_busy(upload); /* others may need it more */
    }
    if (upload->is_closed)
        upload->done(upload->req, upload->err, &upload->result);
    else
        go_on(upload);
}

void tv_blob_upload_end(tv_blob_upload *upload)
{
    if (upload == NULL)
        return;

    upload->req = NULL;
    if (upload->is_working)
        tv_loop_hold(upload->loop);
    else
        upload_free(upload);
}
