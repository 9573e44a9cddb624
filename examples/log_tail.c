/*
 * Guide: "Log tail pattern".
 *
 * Expense claims under keys that sort from the newest to the oldest: the last ones come first.
 */
#include "example.h"

int main(int argc, char **argv)
{
    static const char *const claims[] = {"taxi", "hotel", "train", "dinner"};
    enum { MINUTE = 60 * 10000000 };
    tavola_client *client = example_client(argc, argv);
    tavola_table *expenses = example_table(client, "ExampleLogTail");
    tavola_ticks nine = tavola_ticks_from_unix_us(INT64_C(1767344400000000)); /* 2026-01-02 09:00 */
    tavola_page *page = NULL;
    char key[20];

    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        tavola_entity *claim = tavola_entity_new("empid_000223", "");

        tavola_entity_set_string(claim, "What", claims[i]);
        CHECK(tavola_log_add(expenses, claim, nine + (tavola_ticks)i * MINUTE, NULL));
        tavola_entity_free(claim);
    }

    CHECK(tavola_tail(expenses, "empid_000223", 2, NULL, &page));
    for (size_t i = 0; i < tavola_page_count(page); i++) {
        const tavola_entity *claim = tavola_page_at(page, i);
        const char *what = "";
        tavola_ticks when = 0;
        char text[29];

        tavola_entity_get_string(claim, "What", &what);
        tavola_key_from_inverted(tavola_entity_row_key(claim), &when);
        tavola_ticks_format(when, text);
        printf("%s %s\n", text, what);
    }
    tavola_page_free(page);

    /* The claims of the last two minutes are a range, too. */
    tavola_key_inverted(nine + 2 * (tavola_ticks)MINUTE, key);
    example_plan(expenses, TAVOLA_BIND("PartitionKey eq ? and RowKey lt ?",
                                       tavola_string("empid_000223"), tavola_string(key)));

    example_table_end(expenses);
    tavola_client_close(client);
    return 0;
}
