/*
 * Functions that have a safer sibling.  Included through assert.h by nearly
 * every file, so that a use does not compile.
 */
#ifndef TV_BASE_BANNED_H
#define TV_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok gmtime localtime ctime    \
    asctime
#pragma GCC poison atoi atol atof

#endif
