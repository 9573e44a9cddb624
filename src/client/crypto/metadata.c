/*
 * Reading and writing the envelope.
 *
 * The reader of JSON copies strings that have escapes into an arena, which cannot refuse; it is
 * given all the memory that this can take before.
 */
#include "client/crypto/metadata.h"

#include "base/assert.h"
#include "base/base64.h"
#include "base/json.h"

/* A String of the service has at most 32 Ki units of UTF-16, each three bytes of UTF-8 or less. */
enum { JSON_BYTES_MAX = 3 * 32 * 1024 };

/* What an object may have once, and where it goes. */
typedef struct wanted {
    const char *name;
    tv_json_member *member; /* kind NULL when there is none */
} wanted;

/*
 * Find members of an object.  False when it is not one, or has one of them twice, of which readers
 * of JSON make different things.
 */
static bool read_object(tv_arena *arena, tv_slice text, const wanted *list, size_t count)
{
    tv_json_reader reader;
    tv_json_member member;

    for (size_t i = 0; i < count; i++)
        *list[i].member = (tv_json_member){.kind = TV_JSON_NULL};

    tv_json_reader_init(&reader, arena, text);
    while (tv_json_next(&reader, &member)) {
        for (size_t i = 0; i < count; i++) {
            if (!tv_slice_eq(member.name, tv_slice_of(list[i].name)))
                continue;
            if (list[i].member->name.data)
                return false;
            *list[i].member = member;
        }
    }
    return !reader.failed;
}

/* A string without NUL as a C string in the arena; NULL when it is not one, or empty. */
static const char *take_text(tv_arena *arena, const tv_json_member *member)
{
    if (member->kind != TV_JSON_STRING || member->text.len == 0 ||
        tv_slice_find(member->text, '\0') < member->text.len)
        return NULL;

    char *text = tv_arena_bytes(arena, member->text.len + 1);

    *tv_slice_put(text, member->text) = '\0';
    return text;
}

static bool is_text(const tv_json_member *member, const char *text)
{
    return member->kind == TV_JSON_STRING && tv_slice_eq(member->text, tv_slice_of(text));
}

/* Bytes in base64, at most `room` of them. */
static bool read_bytes(const tv_json_member *member, uint8_t *to, size_t room, size_t *ret_size)
{
    /* Decoding may write up to two bytes more than there are. */
    char bytes[TVC_WRAPPED_BYTES_MAX + 2];
    size_t size;

    tv_assert(room <= TVC_WRAPPED_BYTES_MAX);
    if (member->kind != TV_JSON_STRING || tv_base64_decoded_max(member->text.len) > room + 2 ||
        !tv_base64_decode(bytes, member->text, &size) || size > room)
        return false;

    memcpy(to, bytes, size);
    *ret_size = size;
    return true;
}

/* "WrappedContentKey": {"KeyId":..., "EncryptedKey":..., "Algorithm":...} */
static bool read_key(const tv_json_member *object, tvc_envelope *envelope)
{
    tv_json_member kid, bytes, algorithm;
    tvc_wrapped_key *key = &envelope->key;

    if (object->kind != TV_JSON_NESTED ||
        !read_object(
            &envelope->arena, object->text,
            (wanted[]){{"KeyId", &kid}, {"EncryptedKey", &bytes}, {"Algorithm", &algorithm}}, 3))
        return false;

    key->kid = take_text(&envelope->arena, &kid);
    key->algorithm = take_text(&envelope->arena, &algorithm);
    return key->kid && key->algorithm &&
           read_bytes(&bytes, key->bytes, sizeof key->bytes, &key->size);
}

/* "EncryptionAgent": {"Protocol":..., "EncryptionAlgorithm":...} */
static tvc_format read_format(tv_arena *arena, const tv_json_member *object)
{
    tv_json_member protocol, algorithm;

    if (object->kind != TV_JSON_NESTED ||
        !read_object(arena, object->text,
                     (wanted[]){{"Protocol", &protocol}, {"EncryptionAlgorithm", &algorithm}}, 2))
        return TVC_FORMAT_NONE;
    if (is_text(&protocol, "1.0") && is_text(&algorithm, "AES_CBC_256"))
        return TVC_FORMAT_1;
    if (!is_text(&algorithm, "AES_GCM_256"))
        return TVC_FORMAT_NONE;
    return is_text(&protocol, "2.1")   ? TVC_FORMAT_2_1
           : is_text(&protocol, "2.0") ? TVC_FORMAT_2_0
                                       : TVC_FORMAT_NONE;
}

/*
 * "KeyWrappingMetadata": {"EncryptionLibrary":...}.  Java's library orders the keys in another way
 * than the others, in all its versions; the oldest of them did not write this member at all.
 */
static bool read_library(tv_arena *arena, const tv_json_member *object, bool *ret_is_java)
{
    tv_json_member library;

    *ret_is_java = object->kind == TV_JSON_NULL;
    if (*ret_is_java)
        return true;
    if (object->kind != TV_JSON_NESTED ||
        !read_object(arena, object->text, (wanted[]){{"EncryptionLibrary", &library}}, 1))
        return false;
    if (library.kind == TV_JSON_STRING)
        *ret_is_java = memmem(library.text.data, library.text.len, "Java", 4) != NULL;
    return library.kind == TV_JSON_STRING || library.kind == TV_JSON_NULL;
}

static bool read_envelope(tv_slice json, tvc_envelope *envelope)
{
    tv_json_member key, agent, iv, library;
    tv_arena *arena = &envelope->arena;
    size_t iv_size;

    if (!read_object(arena, json,
                     (wanted[]){{"WrappedContentKey", &key},
                                {"EncryptionAgent", &agent},
                                {"ContentEncryptionIV", &iv},
                                {"KeyWrappingMetadata", &library}},
                     4))
        return false;

    envelope->format = read_format(arena, &agent);
    if (envelope->format == TVC_FORMAT_NONE || !read_key(&key, envelope) ||
        !read_library(arena, &library, &envelope->is_java))
        return false;
    return envelope->format != TVC_FORMAT_1 ||
           (read_bytes(&iv, envelope->iv, sizeof envelope->iv, &iv_size) &&
            iv_size == sizeof envelope->iv);
}

/*
 * Reserve what reading can take: each string is copied when the outer object is read and once more
 * with the inner one, and two of them for us, with a NUL each.
 */
static tavola_err reserve(tv_arena *arena, tv_slice json)
{
    if (json.len > JSON_BYTES_MAX)
        return TAVOLA_ERR_CRYPTO;
    return tv_arena_reserve(arena, 3 * json.len + 2) == TV_OK ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
}

tavola_err tvc_envelope_read(tv_slice json, tvc_envelope *ret_envelope)
{
    tvc_envelope envelope = {0};
    tavola_err err;

    tv_arena_init(&envelope.arena);
    err = reserve(&envelope.arena, json);
    if (err == TAVOLA_OK && !read_envelope(json, &envelope))
        err = TAVOLA_ERR_CRYPTO;
    if (err == TAVOLA_OK)
        *ret_envelope = envelope;
    else
        tv_arena_done(&envelope.arena);
    return err;
}

void tvc_envelope_done(tvc_envelope *envelope)
{
    tv_arena_done(&envelope->arena);
}

static void write_key(tvc_text *text, const tvc_wrapped_key *key)
{
    tvc_text_add_lit(text, "{\"WrappedContentKey\":{\"KeyId\":");
    tvc_text_add_json(text, tv_slice_of(key->kid));
    tvc_text_add_lit(text, ",\"EncryptedKey\":\"");
    tvc_text_add_base64(text, (tv_slice){(const char *)key->bytes, key->size});
    tvc_text_add_lit(text, "\",\"Algorithm\":");
    tvc_text_add_json(text, tv_slice_of(key->algorithm));
    tvc_text_add_char(text, '}');
}

void tvc_envelope_write(tvc_text *text, const tvc_envelope *envelope)
{
    /* In the order of the libraries for .NET and Python, which Java's is said to need. */
    write_key(text, &envelope->key);
    if (envelope->format == TVC_FORMAT_1) {
        tvc_text_add_lit(text, ",\"EncryptionAgent\":{\"Protocol\":\"1.0\","
                               "\"EncryptionAlgorithm\":\"AES_CBC_256\"},"
                               "\"ContentEncryptionIV\":\"");
        tvc_text_add_base64(text, (tv_slice){(const char *)envelope->iv, sizeof envelope->iv});
        tvc_text_add_char(text, '"');
    } else {
        tvc_text_add_lit(text, ",\"EncryptionAgent\":{\"Protocol\":\"");
        tvc_text_add(text, envelope->format == TVC_FORMAT_2_0 ? TV_LIT("2.0") : TV_LIT("2.1"));
        tvc_text_add_lit(text, "\",\"EncryptionAlgorithm\":\"AES_GCM_256\"}");
    }
    /* The name of the library must never have "Java" in it: see read_library. */
    tvc_text_add_lit(text, ",\"KeyWrappingMetadata\":{\"EncryptionLibrary\":\"tavola ");
    tvc_text_add(text, tv_slice_of(tavola_version()));
    tvc_text_add_lit(text, "\"}}");
}

tavola_err tvc_envelope_rewrite(tvc_text *text, tv_slice json, const tvc_wrapped_key *key)
{
    tv_json_reader reader;
    tv_json_member member;
    tv_arena arena;

    tv_arena_init(&arena);

    tavola_err err = reserve(&arena, json);

    if (err == TAVOLA_OK) {
        write_key(text, key);
        tv_json_reader_init(&reader, &arena, json);
        while (tv_json_next(&reader, &member)) {
            if (tv_slice_eq(member.name, TV_LIT("WrappedContentKey")))
                continue;
            tvc_text_add_char(text, ',');
            tvc_text_add_json(text, member.name);
            tvc_text_add_char(text, ':');
            if (member.kind == TV_JSON_STRING)
                tvc_text_add_json(text, member.text);
            else
                tvc_text_add(text, member.text);
        }
        tv_assert(!reader.failed);
        tvc_text_add_char(text, '}');
        err = text->has_failed ? TAVOLA_ERR_NO_MEMORY : TAVOLA_OK;
    }
    tv_arena_done(&arena);
    return err;
}
