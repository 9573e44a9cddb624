/*
 * Downloads.
 *
 *  (1) One job of a download is under way at a time; while it is, everything but
 *      the buffer that goes out, and the flags of the loop, is the worker's.
 *  (2) A piece once given to the connection stays where it is until the next
 *      pull; so the job fills the other buffer.
 *  (3) A download never waits for a buffer of the set: a client may keep one for as
 *      long as it likes to read slowly, and all of them may be with such clients.
 *      Then it goes on with a little memory of its own.
 *  (4) When the request ends before the job does, the download frees itself when
 *      the job comes back.  Jobs touch nothing in the request's arena.
 *  (5) A job is done by a worker, or, where the content comes in very many small
 *      pieces, in turns with scans: rows cost, not bytes, and workers do not
 *      distinguish accounts.  A download that is refused a turn goes on with
 *      few pieces at a time: its body has begun.
 */
#include "services/blob/body/download.h"

#include "base/assert.h"
#include "services/blob/body/visit.h"

/* Ranges of up to this size are read into memory of their own size. */
enum { SMALL_BYTES = 64 * 1024 };

/*
 * A buffer that takes this many pieces is long work: a worker reads no more of
 * them, and what follows is read in turns.
 */
enum { PIECES_MAX = 16 };

/* When its share is used up a download has this much memory of its own; thousands may need it. */
enum { SPARE_BYTES = 16 * 1024 };

/* A buffer and what it holds. */
typedef struct load {
    char *buffer;
    size_t size, len;
    bool is_own; /* not of the set */
} load;

struct tv_blob_download {
    tv_blob_io io;
    tv_engine *engine;
    tv_request *req; /* NULL when it has ended */
    void (*fail)(tv_request *req, tv_err err);
    tv_loop *loop;
    tv_slice account; /* whose turns it takes */
    tv_slice partition;
    int64_t snapshot;
    tv_extent_visit visit;
    tv_charge charge; /* for its memory, which may outlive the request's; no job touches it */

    /* The content. */
    int64_t etag;
    tv_blob_piece inline_pieces[TV_BLOB_INLINE_PIECES];
    tv_slice chunks[TV_BLOB_INLINE_PIECES]; /* of the pieces that are chunks in the range */
    size_t inline_count;
    tv_arena chunk_arena;
    tv_blob_reader *reader; /* for a content with many pieces */

    /* What is to be read next. */
    uint64_t start, offset, end;
    bool has_piece;
    tv_blob_piece piece;      /* holds `offset` unless it is used up */
    tv_slice chunk;           /* its data, if it is one */
    tv_extent_reader *extent; /* open, or NULL */
    tv_extent_id damaged;     /* the extent that could not be read; all zeros for none */
    int found_count;          /* pieces that were looked for to fill this buffer */
    bool is_piecemeal;        /* many small pieces are expected */

    bool is_small; /* the range is read at once, into memory of its own */
    load slots[2]; /* what goes out, and what is read ahead */
    int out;       /* which of them goes out */
    bool is_out;   /* the connection has it */
    bool is_ahead; /* the other is full */
    bool is_asked; /* the connection waits for a piece */

    tv_job job;   /* fills a slot, */
    tv_task task; /* or this one does */
    bool is_working;
    tv_err err; /* of either */
};

/* --- the beginning --- */

tv_blob_download *tv_blob_download_new(const tv_blob_io *io, tv_engine *engine, tv_request *req,
                                       tv_slice account, tv_slice partition, int64_t snapshot,
                                       void (*fail)(tv_request *req, tv_err err))
{
    tv_blob_download *download = tv_calloc(1, sizeof *download);

    download->io = *io;
    download->engine = engine;
    download->req = req;
    download->fail = fail;
    download->loop = req->loop;
    download->account = account;
    download->partition = partition;
    download->snapshot = snapshot;
    tv_charge_init(&download->charge, req->charge.share);
    tv_arena_init(&download->chunk_arena);
    download->chunk_arena.charge = &download->charge;
    tv_extent_visit_begin(io->extents, &download->visit);
    return download;
}

static void forget_piece(tv_blob_download *download)
{
    tv_extent_close(download->extent);
    download->extent = NULL;
    download->has_piece = false;
}

static void give_back(tv_blob_download *download, load *slot)
{
    if (slot->is_own) {
        free(slot->buffer);
        tv_charge_unuse(&download->charge, slot->size);
    } else {
        tv_buffers_give(download->io.out, slot->buffer, &download->charge);
    }
    *slot = (load){0};
}

static void download_free(tv_blob_download *download)
{
    tv_assert(!download->is_working);
    forget_piece(download);
    tv_blob_reader_close(download->reader);
    tv_extent_visit_end(download->io.extents, &download->visit);
    tv_arena_done(&download->chunk_arena);
    for (int i = 0; i < 2; i++)
        give_back(download, &download->slots[i]);
    tv_charge_done(&download->charge);
    free(download);
}

tv_err tv_blob_download_head(tv_blob_download *download, tv_read_mode mode, tv_blob_head *ret_head)
{
    uint64_t small = tv_buffers_size(download->io.out) / PIECES_MAX;
    tv_err err = tv_blob_get_head(download->engine, mode, download->partition, download->snapshot,
                                  &download->req->arena, ret_head);

    download->is_piecemeal = !err && ret_head->piece_count > PIECES_MAX &&
                             ret_head->length < ret_head->piece_count * small;
    return err;
}

/* The pieces are in the head: remember them, and read those that may go with the next change. */
static tv_err prepare_inline(tv_blob_download *download, tv_read_mode mode,
                             const tv_blob_head *head)
{
    const tv_blob_piece *chunks[TV_BLOB_INLINE_PIECES];
    size_t places[TV_BLOB_INLINE_PIECES], count = 0;
    tv_slice bytes[TV_BLOB_INLINE_PIECES];
    tv_err err;

    tv_assert(head->piece_count <= TV_BLOB_INLINE_PIECES);
    download->inline_count = head->piece_count;
    for (size_t i = 0; i < head->piece_count; i++) {
        const tv_blob_piece *piece = &head->pieces[i];

        download->inline_pieces[i] = *piece;
        download->inline_pieces[i].block_id = TV_NONE;
        if (!piece->is_chunk || piece->end <= download->start ||
            piece->end - piece->length >= download->end)
            continue;

        chunks[count] = piece;
        places[count++] = i;
    }
    err = tv_blob_get_chunks(download->engine, mode, download->partition, chunks, count,
                             &download->chunk_arena, bytes);
    if (err)
        return err == TV_ERR_NOT_FOUND ? TV_ERR_CONFLICT : err;

    for (size_t i = 0; i < count; i++)
        download->chunks[places[i]] = bytes[i];
    return TV_OK;
}

static tv_err prepare_reader(tv_blob_download *download, tv_read_mode mode,
                             const tv_blob_head *head)
{
    if (mode == TV_READ_CACHED)
        return TV_ERR_WOULD_BLOCK;

    tv_err err = tv_blob_reader_open(download->engine, download->partition, download->snapshot,
                                     &download->reader);
    if (err)
        return err == TV_ERR_BLOB_NOT_FOUND ? TV_ERR_CONFLICT : err;

    const tv_blob_head *now = tv_blob_reader_head(download->reader);

    return now->etag == head->etag && now->content_id == head->content_id &&
                   now->length == head->length
               ? TV_OK
               : TV_ERR_CONFLICT;
}

bool tv_blob_download_is_piecemeal(const tv_blob_download *download)
{
    return download->is_piecemeal;
}

/* --- reading, on the loop or on a worker --- */

static tv_err find_inline(tv_blob_download *download)
{
    for (size_t i = 0; i < download->inline_count; i++) {
        if (download->inline_pieces[i].end > download->offset) {
            download->piece = download->inline_pieces[i];
            download->chunk = download->chunks[i];
            return TV_OK;
        }
    }
    return TV_ERR_CORRUPT;
}

static tv_err find_in_rows(tv_blob_download *download)
{
    tv_err err = tv_blob_reader_piece(download->reader, download->offset, &download->piece);

    download->piece.block_id = TV_NONE;
    if (!err && download->piece.is_chunk)
        err = tv_blob_reader_chunk(download->reader, &download->piece, &download->chunk);
    if (!err && download->piece.is_chunk && download->chunk.len != download->piece.length)
        err = TV_ERR_CORRUPT;
    return err;
}

/* Data that is not as it was written, or cannot be read. */
static bool is_damage(tv_err err)
{
    return err == TV_ERR_CORRUPT || err == TV_ERR_IO;
}

/* A file that is not there is damage like any other, unless the visit has lasted too long. */
static tv_err extent_missing(tv_blob_download *download)
{
    tv_extents *extents = download->io.extents;

    if (!tv_extent_visit_is_over(extents, &download->visit))
        tv_extents_note_damage(extents, download->piece.id, "the file is missing");
    return TV_ERR_CORRUPT;
}

static tv_err open_extent(tv_blob_download *download, tv_read_mode mode)
{
    const tv_blob_piece *piece = &download->piece;
    tv_err err =
        tv_extent_open(download->io.extents, mode, piece->id, piece->length, &download->extent);

    if (err == TV_ERR_NOT_FOUND)
        err = extent_missing(download);
    if (is_damage(err))
        download->damaged = piece->id;
    return err;
}

/* Find the piece that holds the next byte. */
static tv_err find_piece(tv_blob_download *download, tv_read_mode mode)
{
    if (download->has_piece && download->offset < download->piece.end)
        return TV_OK;
    if (download->reader && mode == TV_READ_CACHED)
        return TV_ERR_WOULD_BLOCK;

    forget_piece(download);
    tv_err err = download->reader ? find_in_rows(download) : find_inline(download);

    if (!err && !download->piece.is_chunk)
        err = open_extent(download, mode);
    download->has_piece = !err;
    download->found_count++;
    return err == TV_ERR_NOT_FOUND ? TV_ERR_CORRUPT : err; /* a chunk of a reader's view */
}

tv_err tv_blob_download_prepare(tv_blob_download *download, tv_read_mode mode,
                                const tv_blob_head *head, uint64_t offset, uint64_t length)
{
    tv_assert(length > 0 && offset + length <= head->length && !download->is_out);
    tv_err err =
        tv_charge_reserve(&download->charge, length < SPARE_BYTES ? (size_t)length : SPARE_BYTES);
    if (err)
        return err;

    download->etag = head->etag;
    download->start = download->offset = offset;
    download->end = offset + length;
    download->is_small = length <= SMALL_BYTES;
    forget_piece(download);
    tv_blob_reader_close(download->reader);
    download->reader = NULL;
    tv_arena_done(&download->chunk_arena);
    if (head->pieces)
        return prepare_inline(download, mode, head);

    err = prepare_reader(download, mode, head);
    /* Without a snapshot it may be gone by now; while nothing is sent it can begin again. */
    return err || download->engine->ops->has_snapshots ? err : find_piece(download, mode);
}

/* Read what one piece has of the range, up to `size` bytes. */
static tv_err read_some(tv_blob_download *download, tv_read_mode mode, char *to, size_t size,
                        size_t *ret_len)
{
    tv_err err = tv_blob_visit_go_on(&(tv_blob_visit){download->engine, download->io.extents,
                                                      &download->visit, download->partition,
                                                      download->snapshot, download->etag},
                                     mode);
    if (err)
        return err;

    err = find_piece(download, mode);
    if (err)
        return err;

    const tv_blob_piece *piece = &download->piece;
    uint64_t until = piece->end < download->end ? piece->end : download->end;
    uint64_t left = until - download->offset;
    uint64_t within = download->offset - (piece->end - piece->length);
    size_t count = left < size ? (size_t)left : size;

    if (piece->is_chunk) {
        memcpy(to, download->chunk.data + within, count);
    } else {
        err = tv_extent_read(download->extent, mode, within, to, count, &count);
        if (err == TV_ERR_NOT_FOUND)
            err = extent_missing(download);
        if (is_damage(err))
            download->damaged = piece->id;
        if (err)
            return err;
    }
    download->offset += count;
    *ret_len = count;
    return TV_OK;
}

static void start_filling(tv_blob_download *download, load *slot)
{
    slot->len = 0;
    download->found_count = 0;
}

static bool is_filled(const tv_blob_download *download, const load *slot)
{
    return slot->len == slot->size || download->offset == download->end;
}

/*
 * Fill a buffer, after what it has, until the turn is over; without one (NULL), as long as the
 * pieces are not too many.  An error counts only when nothing could be read.  But damage counts
 * at once: if this is the first buffer, there is still time for an error instead of a body that
 * breaks off.
 */
static tv_err fill(tv_blob_download *download, tv_read_mode mode, load *slot, tv_turn *turn)
{
    uint64_t start = download->offset - slot->len;
    bool is_over = false;
    tv_err err = TV_OK;

    while (!err && !is_over && !is_filled(download, slot)) {
        size_t count;

        err = read_some(download, mode, slot->buffer + slot->len, slot->size - slot->len, &count);
        if (!err)
            slot->len += count;
        is_over = turn ? tv_turn_is_over(turn, 1) : download->found_count >= PIECES_MAX;
    }
    if (is_damage(err)) {
        download->offset = start; /* as if nothing had been read, for a later try */
        forget_piece(download);
        slot->len = 0;
    }
    return slot->len ? TV_OK : err;
}

/* Nobody waits for this one: a range that is to be digested is short, and so is the wait. */
tv_err tv_blob_download_digest(tv_blob_download *download, tv_digests *digests)
{
    load part = {.buffer = tv_malloc(SMALL_BYTES), .size = SMALL_BYTES};
    tv_md5 md5;
    tv_crc64 crc64;
    tv_err err = TV_OK;

    tv_md5_init(&md5);
    tv_crc64_init(&crc64);
    while (!err && download->offset < download->end) {
        start_filling(download, &part);
        err = fill(download, TV_READ_ANY, &part, NULL);
        tv_slice bytes = {part.buffer, part.len};

        if (digests->has_md5)
            tv_md5_update(&md5, bytes);
        if (digests->has_crc64)
            tv_crc64_update(&crc64, bytes);
    }
    if (digests->has_md5)
        tv_md5_final(&md5, digests->md5);
    if (digests->has_crc64)
        tv_crc64_encode(tv_crc64_final(&crc64), digests->crc64);
    free(part.buffer);
    download->offset = download->start;
    forget_piece(download);
    return err;
}

/* --- sending, on the loop --- */

static tv_blob_download *download_of_job(void *job)
{
    return (tv_blob_download *)((char *)job - offsetof(tv_blob_download, job));
}

/* The slot that does not go out. */
static load *spare(tv_blob_download *download)
{
    return &download->slots[download->is_out ? !download->out : download->out];
}

static tv_blob_download *download_of_task(void *task)
{
    return (tv_blob_download *)((char *)task - offsetof(tv_blob_download, task));
}

static void run_fill(tv_job *job)
{
    tv_blob_download *download = download_of_job(job);

    download->err = fill(download, TV_READ_ANY, spare(download), NULL);
    download->is_piecemeal = download->found_count >= PIECES_MAX;
}

static bool run_fill_in_turns(tv_task *task, tv_turn *turn)
{
    tv_blob_download *download = download_of_task(task);
    load *slot = spare(download);
    size_t before = slot->len;

    download->err = fill(download, TV_READ_ANY, slot, turn);
    download->is_piecemeal = download->found_count >= PIECES_MAX;
    /* An error after some bytes is met again, as no progress, by the next turn. */
    return download->err || slot->len == before || is_filled(download, slot) || turn->must_end;
}

static void deliver_job(tv_mail *mail);
static void deliver_task(tv_mail *mail);

static bool start_task(tv_blob_download *download)
{
    download->task = (tv_task){.mail.deliver = deliver_task,
                               .run = run_fill_in_turns,
                               .reply_to = tv_loop_mailbox(download->loop),
                               .account = download->account};
    return tv_turns_submit(download->io.scanners, &download->task);
}

/* (5) */
static bool start_job(tv_blob_download *download)
{
    start_filling(download, spare(download));
    download->is_working = download->is_piecemeal && start_task(download);
    if (download->is_working)
        return true;

    download->job.run = run_fill;
    download->job.mail.deliver = deliver_job;
    download->job.reply_to = tv_loop_mailbox(download->loop);
    download->is_working = tv_workers_submit(download->io.workers, &download->job);
    return download->is_working;
}

/* One of the set, in place of what the slot has; false when there is none. */
static bool take_buffer(tv_blob_download *download, load *slot)
{
    char *buffer = tv_buffers_take(download->io.out, &download->charge);

    if (buffer == NULL)
        return false;

    give_back(download, slot);
    *slot = (load){.buffer = buffer, .size = tv_buffers_size(download->io.out)};
    return true;
}

/*
 * What is read next is not in memory, or may not be: read it while the last
 * piece goes out.  Without a second buffer it waits for the next pull.
 */
static void read_ahead(tv_blob_download *download)
{
    load *next = spare(download);

    if (download->is_small || download->offset == download->end)
        return;
    if (next->buffer || take_buffer(download, next))
        (void)start_job(download); /* if it is refused the next pull tries again */
}

/* Hand the spare slot, which is full, to the connection. */
static void send_spare(tv_blob_download *download, bool reads_ahead)
{
    load *slot = spare(download);

    download->out = (int)(slot - download->slots);
    download->is_out = true;
    download->is_ahead = false;
    download->is_asked = false;
    if (reads_ahead)
        read_ahead(download);
    tv_response_piece(download->req, (tv_slice){slot->buffer, slot->len});
}

/* The download may be gone after it. */
static void give_up(tv_blob_download *download, tv_err err)
{
    download->is_asked = false;
    download->fail(download->req, err);
}

/* Get a buffer to read into, the best that is available now: (3). */
static void get_buffer(tv_blob_download *download)
{
    load *slot = spare(download);
    size_t small = (size_t)(download->end - download->start);
    bool is_enough = download->is_small && tv_charge_reserve(&download->charge, small) == TV_OK;
    size_t own = is_enough || (download->is_small && small < SPARE_BYTES) ? small : SPARE_BYTES;

    if (!download->is_small && (slot->buffer == NULL || slot->is_own) &&
        take_buffer(download, slot))
        return;
    if (slot->buffer == NULL) {
        *slot = (load){.buffer = tv_malloc(own), .size = own, .is_own = true};
        tv_charge_use(&download->charge, own);
    }
}

/* The connection asks, and nothing has been read ahead. */
static void serve(tv_blob_download *download)
{
    load *slot = spare(download);
    tv_err err;

    get_buffer(download);
    start_filling(download, slot);
    err = fill(download, TV_READ_CACHED, slot, NULL);
    if (err == TV_OK)
        send_spare(download, slot->len < slot->size);
    else if (err != TV_ERR_WOULD_BLOCK)
        give_up(download, err);
    else if (!start_job(download))
        give_up(download, TV_ERR_OVERLOADED);
}

void tv_blob_download_pull(tv_blob_download *download)
{
    tv_assert(!download->is_asked);
    download->is_asked = true;
    if (download->is_working)
        return; /* its completion answers */

    if (download->is_ahead) {
        send_spare(download, true);
        return;
    }
    download->is_out = false;
    serve(download);
}

static void on_filled(tv_blob_download *download)
{
    tv_loop *loop = download->loop;

    download->is_working = false;
    if (download->req == NULL) {
        download_free(download); /* (4) */
        tv_loop_release(loop);
        return;
    }
    download->is_ahead = download->err == TV_OK;
    if (!download->is_asked)
        return; /* after an error the next pull tries again, and fails if it must */
    if (download->err) {
        give_up(download, download->err);
        return;
    }
    send_spare(download, true);
}

static void deliver_job(tv_mail *mail)
{
    on_filled(download_of_job(mail));
}

static void deliver_task(tv_mail *mail)
{
    on_filled(download_of_task(mail));
}

bool tv_blob_download_damage(const tv_blob_download *download, tv_extent_id *ret_id)
{
    if (download->damaged.boot == 0)
        return false;

    *ret_id = download->damaged;
    return true;
}

void tv_blob_download_end(tv_blob_download *download)
{
    if (download == NULL)
        return;

    download->req = NULL;
    if (download->is_working)
        tv_loop_hold(download->loop);
    else
        download_free(download);
}
