/*
 * A finding as bytes, which is how it is kept, in memory and on disk: texts and counts as varints,
 * numbers as they are.  A rule is written by its name, so that rules may come and go.
 */
#ifndef TV_INSIGHT_ADVICE_FINDING_CODE_H
#define TV_INSIGHT_ADVICE_FINDING_CODE_H

#include "base/buf.h"
#include "insight/advice/rules.h"

void tv_finding_encode(tv_buf *out, const tv_finding *finding);

/**
 * Take one off the front of `bytes`, to which its texts refer.  False when it is damaged, or by a
 * rule that is not known; all texts of one that is good are valid UTF-8.
 */
bool tv_finding_decode(tv_slice bytes, tv_finding *ret_finding);

/** Varints, for those who keep findings with something beside them. */
void tv_code_add_number(tv_buf *out, uint64_t number);
bool tv_code_take_number(tv_slice *bytes, uint64_t *ret_number);

#endif
