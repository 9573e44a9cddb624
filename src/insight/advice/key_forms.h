/*
 * What stored keys look like.  A class has letters and digits abstracted: `emp_00012` is `a_9{5}`,
 * runs of letters are one `a` or `A`, a GUID is `G`, other characters stay.
 */
#ifndef TV_INSIGHT_ADVICE_KEY_FORMS_H
#define TV_INSIGHT_ADVICE_KEY_FORMS_H

#include "base/buf.h"
#include "insight/advice/evidence.h"

/** The class of one key. */
void tv_key_class(tv_buf *out, tv_slice key);

/** The same without the lengths of runs of digits: `a_9`. */
void tv_key_form(tv_buf *out, tv_slice key);

bool tv_is_guid_at(tv_slice key, size_t at);

/** The class of most RowKeys of a table's sample; empty without one. */
tv_slice tv_row_key_class(tv_arena *arena, const tv_evidence_table *table);

/** Whether keys of a class are times that sort: ticks, yyyyMMdd..., ISO in UTC. */
bool tv_is_time_class(tv_slice class);

/**
 * How a RowKey decides its PartitionKey in 95 % of the sample, by what it begins with: "what is
 * before its first '_'"; empty when it does not.
 */
tv_slice tv_partition_from_row_key(tv_arena *arena, const tv_evidence_table *table);

/** Distinct RowKeys of the sample, as a share of it. */
double tv_distinct_row_keys(tv_arena *arena, const tv_evidence_table *table);

/** Dates in a text that do not sort by time. */
typedef enum tv_date_form {
    TV_DATE_NONE,
    TV_DATE_DAY_FIRST,   /* dd.MM.yyyy, dd-MM-yyyy, dd/MM/yyyy is no key */
    TV_DATE_MONTH_FIRST, /* MM-dd-yyyy */
    TV_DATE_AMBIGUOUS,   /* either, by what this one holds */
    TV_DATE_MONTH_NAME,  /* 3-Jan-2026 */
    TV_DATE_HALF_DAY,    /* ... 03:04 PM */
    TV_DATE_OFFSET,      /* ISO with another zone than Z */
    TV_DATE_UNPADDED,    /* 2026-1-2 */
    TV_DATE_FORMS,
} tv_date_form;

tv_date_form tv_date_form_of(tv_slice key);

/** "dd.MM.yyyy" and the like, for people. */
const char *tv_date_form_name(tv_date_form form);

#endif
