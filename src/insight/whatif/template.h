/*
 * Templates of keys: how a design makes the PartitionKey and RowKey of an entity out of its
 * properties.
 *
 *     PartitionKey=email_{Email:lower};RowKey={PartitionKey}_{RowKey}[;Columns=Name,Email]
 *
 * {Name} is the value of a property, {PartitionKey} and {RowKey} the keys that the entity has now.
 * A value becomes text so that texts sort as values do: a String as it is, with % / \ # ? and
 * control characters written %XX; Int32 and Int64 shifted to 10 and 20 digits; DateTime as 19
 * digits of ticks; Guid as 32 digits; a Boolean as true or false.  Double and Binary are no keys.
 *
 *     :pad(n)     a whole number that is not negative, in n digits
 *     :ticks      a DateTime in 19 digits; :inv the same counted down, the newest first
 *     :date(f)    a DateTime by yyyy MM dd HH mm ss, in any order and with other characters between
 *     :lower      ASCII letters in lower case; :first(n) the first n characters
 *     :hash(n)    which of n buckets, as tavola_key_spread says
 *
 * :lower and :first come before :hash.  Pure functions; results live in the arena.
 */
#ifndef TV_INSIGHT_WHATIF_TEMPLATE_H
#define TV_INSIGHT_WHATIF_TEMPLATE_H

#include "base/arena.h"
#include "model/odata/edm.h"

enum { TV_TEMPLATE_PARTS_MAX = 16, TV_TEMPLATE_STEPS_MAX = 3, TV_DESIGN_COLUMNS_MAX = 252 };

typedef enum tv_template_step_kind {
    TV_STEP_PAD,
    TV_STEP_TICKS,
    TV_STEP_INV,
    TV_STEP_DATE,
    TV_STEP_LOWER,
    TV_STEP_FIRST,
    TV_STEP_HASH,
} tv_template_step_kind;

typedef struct tv_template_step {
    tv_template_step_kind kind;
    uint32_t number; /* PAD, FIRST, HASH */
    tv_slice format; /* DATE */
} tv_template_step;

/** A text, or a property with what is done to it. */
typedef struct tv_template_part {
    bool is_text;
    tv_slice text; /* the text, or the property's name */
    tv_template_step steps[TV_TEMPLATE_STEPS_MAX];
    size_t step_count;
} tv_template_part;

typedef struct tv_template {
    tv_template_part parts[TV_TEMPLATE_PARTS_MAX];
    size_t count;
} tv_template;

typedef struct tv_design {
    tv_slice text; /* as given */
    tv_template partition, row;
    tv_slice columns[TV_DESIGN_COLUMNS_MAX];
    size_t column_count; /* 0: all */
} tv_design;

/** False with one line that says what is wrong.  The design borrows `text`. */
bool tv_design_parse(tv_slice text, tv_design *ret_design, char *reterr_text, size_t reterr_size);

/** The text of a value where a part stands; false when it can be no part of a key. */
bool tv_template_value(tv_arena *arena, const tv_template_part *part, const tv_property *value,
                       tv_slice *ret_text);

/** Whether texts of values of this type have one length and sort as the values do, or the other
 * way round. */
bool tv_template_keeps_order(const tv_template_part *part, tv_edm_type type, bool *ret_is_reversed);

/** Gives the value of a property, PartitionKey and RowKey included; false when there is none. */
typedef bool tv_template_find(void *ctx, tv_slice name, tv_property *ret_value);

/** The whole text; false when a property is missing, whose name is in `reterr_missing`. */
bool tv_template_apply(tv_arena *arena, const tv_template *template_, tv_template_find *find,
                       void *ctx, tv_slice *ret_text, tv_slice *reterr_missing);

#endif
