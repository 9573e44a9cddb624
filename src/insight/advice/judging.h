/*
 * What the files of rules share: the table that is judged, and how a finding is put together.
 * Only for this folder.
 */
#ifndef TV_INSIGHT_ADVICE_JUDGING_H
#define TV_INSIGHT_ADVICE_JUDGING_H

#include "insight/advice/rate.h"
#include "insight/advice/rules.h"
#include "insight/advice/shape_view.h"

typedef struct tv_judging {
    tv_arena *arena;
    const tv_evidence *evidence;
    const tv_params *params;
    tv_findings found;

    /* Of the table that is judged now. */
    const tv_evidence_table *table;
    tv_table_rate rate;
    tv_slice table_name;       /* its name, or the stem of a family of dated tables */
    tv_shape_view **views;     /* one for each of its shapes */
    uint64_t account_examined; /* of all tables of its account */
} tv_judging;

/** The value of a threshold: TV_THRESHOLD(j, Q01, executions). */
#define TV_THRESHOLD(j, rule, name) ((j)->params->value[TV_PARAM_##rule##_##name])

static inline bool tv_is_run(const tv_judging *j)
{
    return j->evidence->mode == TV_EVIDENCE_RUN;
}

/** Whether rates mean something: not in a run that was too short. */
bool tv_has_rates(const tv_judging *j);

/** Whether new entities go behind, or before, those that were inserted last: P04. */
bool tv_inserts_move(const tv_judging *j);

/** What was counted in the window, in an hour of it: a shorter one is not stretched. */
static inline double tv_per_hour(const tv_judging *j, double count)
{
    return count / tv_evidence_hours(j->evidence, j->evidence->from_ticks);
}

/** a / b, 0 when b is 0. */
static inline double tv_ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/** Begin a finding; its title is the rule's, its subject the table, its time that of j->rate. */
tv_finding *tv_find(tv_judging *j, tv_rule rule, tv_severity severity, tv_confidence confidence);

/** It was seen in a part of the window, or in more: since then. */
void tv_find_since(tv_finding *finding, int64_t from_ticks);

/** Set its subject, and with it its id.  `text` is the name of a property, of keys or a client. */
void tv_find_on_shape(tv_judging *j, tv_finding *finding, const tv_evidence_shape *shape);
void tv_find_on_partition(tv_judging *j, tv_finding *finding, tv_slice partition_key);
void tv_find_on_entity(tv_judging *j, tv_finding *finding, tv_slice partition_key,
                       tv_slice row_key);
void tv_find_on_name(tv_judging *j, tv_finding *finding, tv_subject_kind kind, tv_slice text);

/** Put a text in the place of `{name}` in its title. */
void tv_find_title(tv_judging *j, tv_finding *finding, const char *name, tv_slice text);

/** Evidence.  What does not fit any more is dropped by an assertion: it is our own mistake. */
void tv_find_number(tv_finding *finding, const char *name, double number);
void tv_find_sampled(tv_finding *finding, const char *name, double number, double error);
void tv_find_bool(tv_finding *finding, const char *name, bool is_so);
void tv_find_text(tv_finding *finding, const char *name, tv_slice text);
/** An array of texts, or of keys; NULL-free slices, at most TV_FIELD_TEXTS_MAX of them count. */
void tv_find_texts(tv_finding *finding, const char *name, const tv_slice *texts, size_t count);
void tv_find_keys(tv_finding *finding, const char *name, const tv_slice *keys, size_t count);

/** Name a threshold that was compared. */
void tv_find_threshold(const tv_judging *j, tv_finding *finding, tv_param param);
#define TV_COMPARED(j, finding, rule, name)                                                        \
    tv_find_threshold((j), (finding), TV_PARAM_##rule##_##name)

/** Percent as people read it: "71 %". */
tv_slice tv_percent(tv_judging *j, double share);

/** The finding of this rule in the table so far for this shape, or NULL. */
tv_finding *tv_found_on_shape(const tv_judging *j, tv_rule rule, uint64_t fingerprint);

/** One of the two keys, over the sample of a table. */
typedef struct tv_key_column {
    const char *name; /* "PartitionKey", "RowKey" */
    tv_slice *list;   /* sorted */
    size_t count;
    uint64_t ranges; /* executions with a range on it */
    uint64_t range_shapes;
    const tv_evidence_shape *range_shape; /* the one with most executions */
    uint64_t tops;                        /* executions with $top inside a partition */
} tv_key_column;

/** Of j->table. */
tv_key_column tv_key_column_take(tv_judging *j, bool is_row);

/* The rules: void tv_judge_or_of_keys(tv_judging *j, ...), as each has its row in rules.def. */
#define TV_JUDGES_account tv_judging *j
#define TV_JUDGES_table tv_judging *j
#define TV_JUDGES_shape tv_judging *j, const tv_evidence_shape *shape, const tv_shape_view *view
#define TV_JUDGES_partition tv_judging *j, const tv_evidence_partition *partition
#define TV_JUDGES_row tv_judging *j, const tv_evidence_row *row
#define TV_JUDGES_property tv_judging *j, const tv_evidence_property *property
#define TV_JUDGES_keys tv_judging *j, const tv_key_column *keys
#define RULE(code, name, title, seen, chapter, anchor, text, pattern, cure, functions, each, fn,   \
             ...)                                                                                  \
    void tv_judge_##fn(TV_JUDGES_##each);
#include "insight/advice/rules.def"
#undef RULE

#endif
