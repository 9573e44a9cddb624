/* Lines on standard output. */
#include "verify/report.h"

#include <stdarg.h>

enum { TOLD_MAX = 1000, LINE_SIZE = 8192 };

static void print(tv_verify_report *report, const char *kind, const char *format, va_list arguments)
{
    char line[LINE_SIZE];

    vsnprintf(line, sizeof line, format, arguments);
    for (char *c = line; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
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
