/*
 * What Storage Analytics makes of what clients send, and reads of what is stored.  The first byte
 * chooses: a record whose texts are the pieces of the input between bytes 0xFE becomes a line,
 * which must be one line of valid UTF-8 with 30 or 38 fields and no signature; a row becomes
 * counts, which must stay what they are from then on; a name becomes an hour, and a name again.
 */
#include "fuzz.h"

#include "base/utf8.h"
#include "server/analytics/counts.h"
#include "server/analytics/line.h"
#include "server/analytics/names.h"

/* Fields of a line, by the quotes. */
static int count_fields(tv_slice line)
{
    bool is_quoted = false;
    int count = 1;

    for (size_t i = 0; i < line.len; i++) {
        if (line.data[i] == '"')
            is_quoted = !is_quoted;
        else if (line.data[i] == ';' && !is_quoted)
            count++;
    }
    tv_assert(!is_quoted);
    return count;
}

static void check_signatures(tv_slice line)
{
    static const char *const openings[] = {"?sig=", "&amp;sig="};

    for (size_t k = 0; k < 2; k++) {
        tv_slice opening = tv_slice_of(openings[k]), rest = line;
        const char *at;

        while (rest.len && (at = memmem(rest.data, rest.len, opening.data, opening.len))) {
            rest = tv_slice_skip(rest, (size_t)(at - rest.data) + opening.len);
            tv_assert(tv_slice_starts_with(rest, TV_LIT("XXXXX")));
        }
    }
}

/* Of the texts, agents and ids are the client's own and stay as they are; so do conditions. */
static bool may_have_signatures(int text)
{
    return text == TV_ANALYTICS_USER_AGENT || text == TV_ANALYTICS_CLIENT_REQUEST_ID ||
           text == TV_ANALYTICS_CONTENT_MD5 || text >= TV_ANALYTICS_RESPONSE_MD5 ||
           (text >= TV_ANALYTICS_IF_MODIFIED_SINCE && text <= TV_ANALYTICS_IF_NONE_MATCH);
}

static void try_line(uint8_t bits, tv_slice input)
{
    tv_analytics_record record = {
        .service = (tv_service_kind)(bits % 3),
        .op_name = TV_LIT("QueryEntities"),
        .switches.has_log_2 = bits & 4,
        .is_tls = bits & 8,
        .auth = (tv_analytics_auth)(bits / 16 % TV_ANALYTICS_AUTHS),
        .result = TV_ANALYTICS_CLIENT_OTHER,
        .status = bits & 64 ? 404 : 0,
        .error = bits & 64 ? TV_ERR_ENTITY_NOT_FOUND : TV_OK,
        .account = TV_LIT("account"),
    };
    tv_buf line = TV_BUF_EMPTY;
    bool checks_signatures = true;
    tv_arena scratch;
    tv_slice piece;

    memset(record.request_id, '0', sizeof record.request_id);
    for (int i = 0; i < TV_ANALYTICS_TEXTS && tv_slice_next(&input, (char)0xfe, &piece); i++) {
        record.texts[i] = piece;
        checks_signatures =
            checks_signatures && !(may_have_signatures(i) && tv_slice_find(piece, '=') < piece.len);
    }
    record.texts[TV_ANALYTICS_PEER] = TV_LIT("127.0.0.1:1");
    tv_arena_init(&scratch);
    tv_analytics_add_line(&line, &scratch, &record);
    tv_arena_done(&scratch);

    tv_slice text = tv_buf_slice(&line);

    tv_assert(text.len && text.data[text.len - 1] == '\n');
    text.len--;
    tv_assert(tv_slice_find(text, '\n') == text.len && tv_slice_find(text, '\r') == text.len);
    tv_assert(tv_utf8_is_valid(text));
    tv_assert(count_fields(text) == (record.switches.has_log_2 ? 38 : 30));
    if (checks_signatures)
        check_signatures(text);
    tv_buf_done(&line);
}

static void try_row(tv_slice input)
{
    tv_analytics_counts counts, again;
    tv_entity_properties row;
    tv_arena arena;

    if (tv_analytics_counts_decode(input, &counts))
        return;

    tv_arena_init(&arena);
    tv_analytics_counts_add(&counts, &counts);
    row = tv_analytics_counts_encode(&arena, &counts);
    tv_assert(tv_analytics_counts_decode(tv_entity_encode(&arena, &row), &again) == TV_OK);
    tv_assert(memcmp(counts.requests, again.requests, sizeof counts.requests) == 0);
    tv_assert(counts.ingress == again.ingress && counts.egress == again.egress);
    tv_arena_done(&arena);
}

static void try_name(tv_slice input)
{
    char text[TV_ANALYTICS_NAME_SIZE];
    int64_t hour;

    if (!tv_analytics_blob_hour(input, TV_SERVICE_TABLE, &hour))
        return;

    tv_slice folder = tv_analytics_folder(text, TV_SERVICE_TABLE, hour);

    tv_assert(tv_slice_starts_with(input, folder));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice input = {(const char *)data, size};

    if (size < 2)
        return 0;
    switch (data[0] % 4) {
    case 0:
        try_row(tv_slice_skip(input, 1));
        break;
    case 1:
        try_name(tv_slice_skip(input, 1));
        break;
    default:
        try_line(data[1], tv_slice_skip(input, 2));
    }
    return 0;
}
