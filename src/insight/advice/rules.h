/*
 * The design guide as rules: what they are called, what they compare with, and what they find in
 * evidence.  All of it is pure: no clock, no lock, no file.
 */
#ifndef TV_INSIGHT_ADVICE_RULES_H
#define TV_INSIGHT_ADVICE_RULES_H

#include "insight/advice/evidence.h"
#include "insight/advice/language.h"

typedef enum tv_rule {
    TV_RULE_ALL = -1, /* owner of parameters that all share */
#define RULE(code, ...) TV_RULE_##code,
#include "insight/advice/rules.def"
#undef RULE
    TV_RULES,
} tv_rule;

struct tv_judging;
struct tv_key_column;
struct tv_shape_view;

/** All that there is to a rule: a row of rules.def. */
typedef struct tv_rule_info {
    const char *code, *name, *title;
    const char *seen; /* what its findings rest on, as a template: seen.h */
    const char *chapter, *anchor, *chapter_text;
    const char *pattern, *cure;
    const char *functions; /* of include/tavola.h, with commas between */

    /* One of them is set: called for each of what it is of, in the table that is judged. */
    void (*of_account)(struct tv_judging *j); /* once for all of its tables */
    void (*of_table)(struct tv_judging *j);
    void (*of_shape)(struct tv_judging *j, const tv_evidence_shape *shape,
                     const struct tv_shape_view *view);
    void (*of_partition)(struct tv_judging *j, const tv_evidence_partition *partition);
    void (*of_row)(struct tv_judging *j, const tv_evidence_row *row);
    void (*of_property)(struct tv_judging *j, const tv_evidence_property *property);
    void (*of_keys)(struct tv_judging *j, const struct tv_key_column *keys);

    uint64_t silenced_by;    /* a bit for each rule */
    bool stays_when_certain; /* what was refused is a fact that nothing silences */
} tv_rule_info;

const tv_rule_info *tv_rule_info_of(tv_rule rule);

/** By name or code; false when there is none. */
bool tv_rule_parse(tv_slice name, tv_rule *ret_rule);

/* ---- thresholds ------------------------------------------------------------------------------ */

typedef enum tv_param {
#define P(rule, name, ...) TV_PARAM_##rule##_##name,
#include "insight/advice/params.def"
#undef P
    TV_PARAMS,
} tv_param;

typedef struct tv_params {
    double value[TV_PARAMS];
} tv_params;

typedef struct tv_param_info {
    tv_rule rule; /* TV_RULE_ALL: of all */
    const char *name;
    double live, run;
    bool is_fixed; /* the recorder counts by it: it cannot be set */
} tv_param_info;

const tv_param_info *tv_param_info_of(tv_param param);

/** The defaults of a mode. */
tv_params tv_params_default(tv_evidence_mode mode);

typedef enum tv_params_set_result {
    TV_PARAMS_SET,
    TV_PARAMS_NO_SUCH, /* no rule or parameter of this name */
    TV_PARAMS_FIXED,
    TV_PARAMS_NOT_A_NUMBER, /* negative, or not finite */
} tv_params_set_result;

/** Set one by its name, "partition-scan-selectivity.warning_examined" or "all.small_table". */
tv_params_set_result tv_params_set(tv_params *params, tv_slice name, double value);

/* ---- findings -------------------------------------------------------------------------------- */

/** From mild to grave; the numbers are stored. */
typedef enum tv_severity {
    TV_SEVERITY_INFO,
    TV_SEVERITY_WARNING,
    TV_SEVERITY_ERROR,
    TV_SEVERITIES
} tv_severity;

typedef enum tv_confidence {
    TV_CONFIDENCE_LOW,
    TV_CONFIDENCE_MEDIUM,
    TV_CONFIDENCE_HIGH,
    TV_CONFIDENCE_CERTAIN,
    TV_CONFIDENCES,
} tv_confidence;

typedef enum tv_subject_kind {
    TV_SUBJECT_SHAPE,
    TV_SUBJECT_PARTITION,
    TV_SUBJECT_ENTITY,
    TV_SUBJECT_TABLE,
    TV_SUBJECT_PROPERTY,
    TV_SUBJECT_KEYS,
    TV_SUBJECT_CLIENT,
    TV_SUBJECT_ACCOUNT,
    TV_SUBJECT_KINDS,
} tv_subject_kind;

const char *tv_severity_name(tv_severity severity);
const char *tv_confidence_name(tv_confidence confidence);
const char *tv_subject_kind_name(tv_subject_kind kind);

typedef enum tv_field_kind {
    TV_FIELD_NUMBER,
    TV_FIELD_BOOL,
    TV_FIELD_TEXT, /* an empty one is written as null */
    TV_FIELD_TEXTS,
    TV_FIELD_KEYS, /* texts that are keys, or pieces of keys: hidden where keys are */
    TV_FIELD_KINDS,
} tv_field_kind;

enum {
    TV_FIELD_TEXTS_MAX = 8,
    TV_FINDING_FIELDS_MAX = 20,
    TV_FINDING_THRESHOLDS_MAX = 8,
    TV_PROPOSAL_NOTES_MAX = 4,
};

/** One number or text that a finding rests on. */
typedef struct tv_field {
    tv_slice name;
    tv_field_kind kind;
    double number; /* a BOOL: 0 or 1 */
    double error;  /* of a sampled number; 0: exact */
    tv_slice texts[TV_FIELD_TEXTS_MAX];
    size_t text_count;
} tv_field;

/** Keys that would have made the query cheap; is_set is false when there are none to propose. */
typedef struct tv_proposal {
    bool is_set;
    bool shows_keys; /* the filters hold pieces of keys */
    bool has_plan;   /* the three after it are set */
    tv_plan_kind plan_after;
    double examined_before, examined_after;
    double extra_writes_per_hour;
    tv_slice pattern, function;
    tv_slice partition_key, row_key; /* templates: `email_{Email}` */
    tv_slice columns;                /* `A,B`; empty: the whole entity */
    tv_slice filter_before, filter_after;
    tv_slice notes[TV_PROPOSAL_NOTES_MAX];
    size_t note_count;
} tv_proposal;

/** What it costs per hour. */
typedef struct tv_cost {
    double rows, requests, bytes, throttled;
} tv_cost;

/** Milliseconds of processor time per hour, by which findings are ordered. */
double tv_cost_ms(const tv_cost *cost);

typedef struct tv_finding {
    tv_rule rule;
    tv_severity severity;
    tv_confidence confidence;
    tv_slice id; /* `rule@account/Table/subject`: the same after a restart */
    tv_slice account, table;
    tv_subject_kind subject;
    uint64_t fingerprint;            /* SHAPE */
    tv_slice text;                   /* SHAPE: its text; PROPERTY, KEYS, CLIENT: a name */
    tv_slice partition_key, row_key; /* PARTITION, ENTITY */
    tv_slice title;                  /* {pk} stands for the PartitionKey */
    tv_slice cure;                   /* empty: the rule's own */
    int64_t from_ticks, to_ticks;    /* the window it was found in */
    bool is_of_run;                  /* whose clock may be a trace's; such a finding is not kept */
    tv_cost cost;
    tv_field fields[TV_FINDING_FIELDS_MAX];
    size_t field_count;
    tv_field thresholds[TV_FINDING_THRESHOLDS_MAX];
    size_t threshold_count;
    tv_proposal proposal;
    tv_slice sources[TV_EVIDENCE_SOURCES_MAX];
    size_t source_count;
    tv_language languages[TV_LANGUAGES]; /* of the clients' SDKs, that of most requests first */
    size_t language_count;
} tv_finding;

typedef struct tv_findings {
    tv_finding **items;
    size_t count, size;
} tv_findings;

/**
 * Judge evidence: what every rule finds, without what a stronger finding of the same subject
 * silences, the most costly first.  Findings lie in the arena and may refer to the evidence.
 */
tv_findings tv_rules_judge(tv_arena *arena, const tv_evidence *evidence, const tv_params *params);

/** Whether one of these says the same as the finding, and more. */
bool tv_finding_is_silenced(const tv_findings *found, const tv_finding *finding);

#endif
