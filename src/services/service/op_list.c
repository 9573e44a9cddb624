/* Rows of tables of operations, written out. */
#include "services/service/op_list.h"

#include "base/assert.h"
#include "base/method.h"
#include "base/service_kind.h"

/* The words for bits, in the order of the bits. */
static const char *const sas_words[] = {"account", "container", "blob"};
static const char *const flag_words[] = {
    "reads",         "secondary-only", "head",     "in-container",  "needs-length",
    "public-object", "public-listing", "by-parts", "tells-catalog", "on-analytics",
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void add_text(tv_buf *out, tv_slice text)
{
    tv_buf_add_char(out, '\t');
    tv_buf_add(out, text.len ? text : TV_LIT("-"));
}

static void add_words(tv_buf *out, unsigned bits, const char *const *words, size_t count)
{
    char separator = '\t';

    tv_assert(bits >> count == 0);
    if (bits == 0)
        add_text(out, TV_NONE);
    for (size_t i = 0; i < count; i++) {
        if (!(bits & 1u << i))
            continue;
        tv_buf_add_char(out, separator);
        tv_buf_add(out, tv_slice_of(words[i]));
        separator = ',';
    }
}

static void add_letters(tv_buf *out, unsigned bits, const char *letters)
{
    if (bits == 0)
        add_text(out, TV_NONE);
    else
        tv_buf_add_char(out, '\t');
    for (size_t i = 0; letters[i]; i++) {
        if (bits & 1u << i)
            tv_buf_add_char(out, letters[i]);
    }
}

static void add_request(tv_buf *out, const tv_service_spec *spec, const tv_op *op)
{
    bool is_asked = op->where != TV_OP_NOWHERE;

    add_text(out, is_asked ? tv_slice_of(spec->paths[op->where]) : TV_NONE);
    add_text(out, is_asked ? tv_method_text(op->method) : TV_NONE);
    if (is_asked && (op->flags & TV_OP_HEAD))
        tv_buf_add_lit(out, ",HEAD");
    add_text(out, is_asked ? tv_slice_of(op->comp) : TV_NONE);
}

static void add_row(tv_buf *out, const tv_service_spec *spec, const tv_op *op)
{
    uint64_t body_bytes_max = op->body_bytes_max ? op->body_bytes_max : TV_OP_BODY_BYTES_MAX;

    tv_buf_add(out, tv_service_kind_name(spec->kind));
    add_text(out, tv_slice_of(op->name));
    add_request(out, spec, op);
    add_words(out, op->sas, sas_words, COUNT(sas_words));
    add_letters(out, op->type, TV_RESOURCE_TYPE_LETTERS);
    add_letters(out, op->all_of, TV_PERMISSION_LETTERS);
    add_letters(out, op->any_of, TV_PERMISSION_LETTERS);
    /* HEAD is listed with the method. */
    add_words(out, op->flags & ~(unsigned)TV_OP_HEAD, flag_words, COUNT(flag_words));
    tv_buf_printf(out, "\t%llu\n", (unsigned long long)body_bytes_max);
}

void tv_op_list_add_heading(tv_buf *out)
{
    tv_buf_add_lit(out, "service\toperation\tpath\tmethod\tcomp\tsas\tsrt\tall_of\tany_of\tflags\t"
                        "body_max\n");
}

void tv_op_list_add(tv_buf *out, const tv_service_spec *spec)
{
    for (int i = TV_OP_PREFLIGHT + 1; i < spec->op_count; i++)
        add_row(out, spec, &spec->ops[i]);
}
