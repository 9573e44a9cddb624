/*
 * Files that the tool imports.  The first byte says as what, the rest is the file; M is a manifest.
 *
 * Every file is read to its end, and its records follow each other.  The checksum of all before a
 * place does not depend on how the bytes came.  An entity that was read can be written as NDJSON
 * and as typed CSV, and both are read as the same entity.
 *
 * A manifest that was read is whole: cut off anywhere before its last brace it is none.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "tool/transfer/manifest.h"
#include "tool/transfer/reader.h"
#include "tool/transfer/writer.h"

static int file_of(const void *data, size_t size)
{
    int fd = memfd_create("file", MFD_CLOEXEC);

    tv_assert(write(fd, data, size) == (ssize_t)size);
    tv_assert(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static int written(const tavola_entity *entity, xfer_format format)
{
    int fd = file_of("", 0);
    xfer_writer *writer = xfer_writer_open(format, fd, NULL, false, "/nonexistent");
    bool is_spare;

    xfer_writer_add(writer, entity);
    tv_assert(xfer_writer_close(writer, &is_spare) == NULL && !is_spare);
    tv_assert(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static void check_round(const tavola_entity *entity, xfer_format format)
{
    xfer_reader_options options = {.format = format};
    xfer_reader *reader = malloc(sizeof *reader);
    xfer_tally before = {0}, after = {0};
    tavola_entity *again = NULL;

    tv_assert(xfer_reader_open(reader, written(entity, format), &options) == NULL);
    tv_assert(xfer_reader_next(reader, &again) == XFER_READ_ENTITY);
    xfer_tally_add(&before, entity);
    xfer_tally_add(&after, again);
    tv_assert(memcmp(&before, &after, sizeof before) == 0);
    tavola_entity_free(again);
    tv_assert(xfer_reader_next(reader, &again) == XFER_READ_END);
    xfer_reader_close(reader);
    free(reader);
}

/* Read one record; false at the end. */
static bool read_record(xfer_reader *reader)
{
    uint64_t begin = xfer_reader_end(reader)->offset;
    tavola_entity *entity = NULL;
    xfer_read read = xfer_reader_next(reader, &entity);

    if (read == XFER_READ_END)
        return false;
    tv_assert(read == XFER_READ_ENTITY || (read == XFER_READ_BAD && reader->why[0]));
    tv_assert(reader->place.offset >= begin);
    if (read == XFER_READ_ENTITY) {
        check_round(entity, XFER_FORMAT_NDJSON);
        check_round(entity, XFER_FORMAT_TYPED_CSV);
    }
    tavola_entity_free(entity);
    return true;
}

static void check_digest(const xfer_input *read, int fd)
{
    xfer_input *input = malloc(sizeof *input);

    tv_assert(xfer_input_open(input, fd) == NULL);
    tv_assert(xfer_input_skip_to(input, read->place.offset));
    tv_assert(input->place.line == read->place.line);
    tv_assert(xfer_digest_value(&input->digest) == xfer_digest_value(&read->digest));
    xfer_input_close(input);
    free(input);
}

static void check_manifest(const char *text, size_t size)
{
    /* A copy of its own, so that a byte read behind it is noticed. */
    char *copy = malloc(size + !size);
    xfer_manifest manifest, other;

    if (size)
        memcpy(copy, text, size);
    if (xfer_manifest_parse(copy, size, &manifest) == NULL) {
        tv_assert(manifest.file_count <= XFER_MANIFEST_FILES_MAX);
        while (copy[size - 1] != '}')
            size--;
        tv_assert(xfer_manifest_parse(copy, size, &other) == NULL);
        tv_assert(other.file_count == manifest.file_count && other.is_json == manifest.is_json);
        for (size_t cut = size > 256 ? size - 256 : 0; cut < size; cut++)
            tv_assert(xfer_manifest_parse(copy, cut, &other) != NULL);
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] == 'M') {
        check_manifest((const char *)data + 1, size - 1);
        return 0;
    }

    xfer_reader_options options = {
        .format = (xfer_format)(data[0] % 5),
        .types = data[0] & 32 ? "String" : NULL,
        .first_row_types = data[0] & 64,
        .delimiter = data[0] & 128 ? ';' : 0,
    };
    xfer_reader *reader = malloc(sizeof *reader);

    if (xfer_reader_open(reader, file_of(data + 1, size - 1), &options) == NULL) {
        while (read_record(reader))
            ;
        check_digest(&reader->input, file_of(data + 1, size - 1));
    }
    xfer_reader_close(reader);
    free(reader);
    return 0;
}
