/*
 * The languages that cures are shown in, and which of them a client is written in: the SDKs say so
 * in their User-Agent.
 */
#ifndef TV_INSIGHT_ADVICE_LANGUAGE_H
#define TV_INSIGHT_ADVICE_LANGUAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

typedef enum tv_language {
    TV_LANGUAGE_C,
    TV_LANGUAGE_PYTHON,
    TV_LANGUAGE_CSHARP,
    TV_LANGUAGE_JAVASCRIPT,
    TV_LANGUAGES,
} tv_language;

/** "C", "Python", "C#", "JavaScript" */
const char *tv_language_name(tv_language language);

/**
 * 1 + the language of a User-Agent: `azsdk-python-data-tables/12.4.2 Python/3.11`, with or without
 * a name of the application before it; 0 for any other.
 */
uint8_t tv_language_number(tv_slice agent);

/** Whether a product of a User-Agent, `azsdk-python-data-tables/12.4.2`, is an SDK that is known.
 */
bool tv_language_is_sdk(tv_slice product);

#endif
