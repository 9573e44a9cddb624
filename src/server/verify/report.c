/* Lines on standard output. */
#include "server/verify/report.h"

#include <stdarg.h>

#include "base/utf8.h"

enum { TOLD_MAX = 1000, LINE_SIZE = 8192 };

static void print(tv_verify_report *report, const char *kind, const char *format, va_list arguments)
{
    char line[LINE_SIZE];

    vsnprintf(line, sizeof line, format, arguments);
    tv_utf8_mask_controls(line, strlen(line));
    fprintf(report->out, "%s: %s\n", kind, line);
}

void tv_verify_problem(tv_verify_report *report, const char *format, ...)
{
    va_list arguments;

    if (report->problems++ >= TOLD_MAX) {
        report->untold++;
        return;
    }
    va_start(arguments, format);
    print(report, "damaged", format, arguments);
    va_end(arguments);
}

void tv_verify_note(tv_verify_report *report, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print(report, "note", format, arguments);
    va_end(arguments);
}
