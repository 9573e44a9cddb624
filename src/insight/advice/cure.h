/*
 * A cure as code: what an application does with the SDK of its language, so that what the texts of
 * a finding promise is so.  The texts of the languages are in cures/, with <<names>> where
 * something of the finding belongs; the build makes the table of them.
 */
#ifndef TV_INSIGHT_ADVICE_CURE_H
#define TV_INSIGHT_ADVICE_CURE_H

#include "base/buf.h"
#include "insight/advice/rules.h"

/** The code; empty where none does it. */
void tv_cure_add(tv_buf *out, const tv_finding *finding, tv_language language);

/** Made of cures/ by tools/embed-cures.py. */
typedef struct tv_cure_section {
    tv_language language;
    const char *name, *text;
} tv_cure_section;
extern const tv_cure_section tv_cure_sections[];
extern const size_t tv_cure_section_count;

#endif
