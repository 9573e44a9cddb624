/*
 * What the service will do with a filter, found out by the server's own code.  It cannot report a
 * lack of memory, so the most that it can take is reserved first.
 */
#include "model/odata/plan.h"

#include <pthread.h>

#include "client/query/filter.h"
#include "client/why.h"
#include "model/odata/filter.h"
#include "model/odata/region.h"

enum {
    ALIGNMENT = 16,
    /* Parser and planner recurse, on the stack of somebody else's thread, who may not have much. */
    SHALLOW = 100,
    DEEP_STACK_BYTES = 8 * 1024 * 1024, /* 256 KiB are enough for the deepest, without checks */
    PREFIX_LEN = 32, /* about that of a table's rows in the server: it decides only among giants */
};

static const char *const words[TV_PLAN_KINDS] = {"point", "range", "partition scan", "table scan"};

static bool is_word_char(char c)
{
    char lower = tv_ascii_lower(c);

    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* How often "not" is in a text that has no strings. */
static size_t count_nots(tv_slice text)
{
    tv_slice word = TV_LIT("not");
    size_t count = 0;

    for (size_t i = 0; i + word.len <= text.len; i++) {
        tv_slice rest = tv_slice_skip(text, i);

        count += tv_slice_starts_with(rest, word) && (i == 0 || !is_word_char(text.data[i - 1])) &&
                 (rest.len == word.len || !is_word_char(rest.data[word.len]));
    }
    return count;
}

/* How deep the parser may go: parentheses, and every "not" as if all were inside each other. */
static bool is_deep(const tavola_filter *filter)
{
    tv_slice rest = tvc_filter_slice(filter);
    size_t depth = filter->depth;
    tvc_piece piece;

    while (tvc_piece_next(&rest, &piece)) {
        if (piece.kind == TVC_PIECE_PLAIN)
            depth += count_nots(piece.text);
    }
    return depth > SHALLOW;
}

/* Of parsing: the filter, nodes (at most one for every two characters), strings, a message. */
static size_t parse_bytes_max(size_t text_len)
{
    enum { MESSAGE = 512 };

    return sizeof(tv_filter) + ALIGNMENT + (text_len / 2 + 2) * (sizeof(tv_node) + ALIGNMENT) +
           2 * text_len + 2 * text_len + MESSAGE;
}

static size_t leaf_count(const tv_node *node)
{
    size_t count = 0;

    if (tv_node_first(node) == NULL)
        return 1;
    for (const tv_node *child = tv_node_first(node); child; child = child->next)
        count += leaf_count(child);
    return count;
}

/*
 * Boxes that are made or compared.  A leaf has two at most, so n leaves have 2^n at most however
 * they are joined, in fewer than 2n steps; and there is the planner's own limit.
 */
static size_t work_max(size_t leaves)
{
    enum { FEW = 10 };

    return leaves <= FEW ? 2 * (leaves + 1) << leaves : TV_REGION_WORK_MAX;
}

/*
 * Of tv_region_of: keys and their numbers; two boxes for every leaf and one for every node; what
 * intersections make, and what unions collect, which grows by doubling.
 */
static size_t region_bytes_max(size_t text_len, const tv_filter *parsed)
{
    enum { NAMED_BYTES = 2 * (sizeof(tv_slice) + sizeof(uint64_t)) + 2 * sizeof(tv_slice) };
    size_t nodes = text_len / 2 + 2, comparisons = (size_t)parsed->compare_count;
    size_t leaves = parsed->root ? leaf_count(parsed->root) : 0;

    return (comparisons + 1) * (sizeof(uint32_t) + NAMED_BYTES) + 8 * ALIGNMENT + 2 * text_len +
           comparisons * ALIGNMENT + nodes * 2 * (sizeof(tv_box) + ALIGNMENT) +
           work_max(leaves) * 5 * (sizeof(tv_box) + ALIGNMENT);
}

static tv_plan_kind plan_kind(const tv_filter *parsed, size_t text_len)
{
    tv_plan_kind kind = TV_PLAN_TABLE;
    tv_arena scratch;

    tv_arena_init(&scratch);
    if (tv_arena_reserve(&scratch, region_bytes_max(text_len, parsed)) == TV_OK)
        kind = tv_plan_kind_of(&scratch, PREFIX_LEN, parsed);
    tv_arena_done(&scratch);
    return kind;
}

static const char *plan_word(tv_slice text)
{
    const char *word = words[TV_PLAN_TABLE];
    tv_error_info info = {0};
    tv_filter *parsed;
    tv_arena arena;

    tv_arena_init(&arena);
    if (tv_arena_reserve(&arena, parse_bytes_max(text.len)) == TV_OK)
        word = tv_filter_parse(&arena, text, &parsed, &info) == TV_OK
                   ? words[plan_kind(parsed, text.len)]
                   : NULL;
    tv_arena_done(&arena);
    return word;
}

typedef struct deep_plan {
    tv_slice text;
    const char *word;
} deep_plan;

static void *find_deep_plan(void *user)
{
    deep_plan *plan = user;

    plan->word = plan_word(plan->text);
    return NULL;
}

/* On a thread with a stack that is large enough; without one it is the worst. */
static const char *deep_plan_word(tv_slice text)
{
    deep_plan plan = {text, words[TV_PLAN_TABLE]};
    pthread_attr_t attributes;
    pthread_t thread;

    if (pthread_attr_init(&attributes) != 0)
        return plan.word;
    if (pthread_attr_setstacksize(&attributes, DEEP_STACK_BYTES) == 0 &&
        pthread_create(&thread, &attributes, find_deep_plan, &plan) == 0)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return plan.word;
}

const char *tavola_filter_plan(const tavola_filter *filter)
{
    if (filter == NULL)
        return words[TV_PLAN_TABLE];
    if (filter->error) {
        (void)tvc_refuse(filter->error, "%s", tavola_filter_error_text(filter));
        return NULL;
    }

    tv_slice text = tvc_filter_slice(filter);
    const char *word = is_deep(filter) ? deep_plan_word(text) : plan_word(text);

    if (word == NULL)
        (void)tvc_refuse(TAVOLA_ERR_INVALID, "the service would refuse the filter \"%.*s\"",
                         TV_FMT(tv_slice_take(text, text.len < 200 ? text.len : 200)));
    return word;
}
