/* Asking whoever listens at a port who he is: see taken.h. */
#include "server/main/taken.h"

#include <stdio.h>
#include <string.h>

#include "server/main/ask.h"

void tv_taken_explain(const char *host, int port, const char *flag, char *text, size_t text_size)
{
    char answer[2000];
    size_t used = strlen(text);

    tv_ask(host, port, "/", answer, sizeof answer);

    const char *who = strcasestr(answer, "\nServer: Azurite") ? "Azurite listens there: end it, or "
                      : strcasestr(answer, "\nServer: Tavola-") ? "another tavolad listens there: "
                                                                  "end it, or "
                                                                : "";

    snprintf(text + used, text_size - used, "; %schoose another port with %s", who, flag);
}
