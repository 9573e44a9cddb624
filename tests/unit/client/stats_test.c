/* The stats of a service: their XML, and who is asked for them. */
#include "client/resource/stats.h"

#include "check.h"
#include "client/memory_faults.h"
#include "client/op/service.h"

#define STATS(inner)                                                                               \
    "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceStats>" inner            \
    "</StorageServiceStats>"
#define GEO(inner) STATS("<GeoReplication>" inner "</GeoReplication>")
#define SYNCED "<LastSyncTime>Tue, 17 Nov 2026 02:37:17 GMT</LastSyncTime>"

static const tavola_ticks synced = INT64_C(639304798370000000);

TEST(reads_stats)
{
    static const struct {
        const char *label, *document, *status; /* NULL: refused */
        tavola_ticks last_sync;
    } cases[] = {
        {"as the service writes it", GEO("<Status>live</Status>" SYNCED), "live", synced},
        {"the other way round, and more", GEO(SYNCED "<More><a/></More><Status>live</Status>"),
         "live", synced},
        {"never synced", GEO("<Status>bootstrap</Status><LastSyncTime />"), "bootstrap", 0},
        {"no time", GEO("<Status>unavailable</Status>"), "unavailable", 0},
        {"31 characters", GEO("<Status>1234567890123456789012345678901</Status>"),
         "1234567890123456789012345678901", 0},
        {"32 characters", GEO("<Status>12345678901234567890123456789012</Status>"), NULL, 0},
        {"no status", GEO(SYNCED), NULL, 0},
        {"an empty one", GEO("<Status></Status>" SYNCED), NULL, 0},
        {"nothing", STATS(""), NULL, 0},
        {"not a time", GEO("<Status>live</Status><LastSyncTime>now</LastSyncTime>"), NULL, 0},
        {"something else", "<Error><Code>x</Code></Error>", NULL, 0},
        {"half of it", "<StorageServiceStats><GeoReplication><Status>live</Status>", NULL, 0},
        {"no XML", "live", NULL, 0},
        {"empty", "", NULL, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char document[512];
        tvc_stats stats = {.last_sync = -1};

        t_row = cases[i].label;
        snprintf(document, sizeof document, "%s", cases[i].document);

        tavola_err err = tvc_stats_read(document, strlen(document), &stats);

        CHECK_CODE(err, cases[i].status ? TAVOLA_OK : TAVOLA_ERR_PROTOCOL);
        if (cases[i].status)
            CHECK_TEXT(tv_slice_of(stats.status), cases[i].status);
        CHECK_INT(stats.last_sync, cases[i].status ? cases[i].last_sync : -1);
    }
}

static script_server primary, secondary;

/* A client that knows a secondary and does not read there. */
static tavola_client *open_both(const script_answer *answers, int count)
{
    char text[400];
    tavola_client *client = NULL;
    tavola_client_options options = {
        .struct_size = sizeof options, .retry_delay_ms = 1, .proxy = ""};

    memset(&primary, 0, sizeof primary);
    memset(&secondary, 0, sizeof secondary);
    primary.answers[0] = (script_answer)REFUSED(500, "NotMe");
    primary.answer_count = 1;
    memcpy(secondary.answers, answers, (size_t)count * sizeof *answers);
    secondary.answer_count = count;
    script_server_start(&primary);
    script_server_start(&secondary);
    snprintf(text, sizeof text,
             "AccountName=account;AccountKey=" KEY ";TableEndpoint=http://127.0.0.1:%d/account;"
             "TableSecondaryEndpoint=http://127.0.0.1:%d/account-secondary",
             primary.port, secondary.port);
    tavola_err err = tavola_client_open(text, &options, &client);

    CHECK(err == TAVOLA_OK || err == TAVOLA_ERR_NO_MEMORY);
    return client;
}

static void close_both(tavola_client *client)
{
    tavola_client_close(client);
    script_server_stop(&primary);
    script_server_stop(&secondary);
}

static const script_answer good = CHUNKED(GEO("<Status>live</Status>" SYNCED));

/* Whatever else the client does, the secondary is asked, and asked again. */
TEST(the_secondary_alone_is_asked)
{
    const script_answer answers[] = {REFUSED(503, "ServerBusy"), good};
    tavola_client *client = open_both(answers, 2);
    char status[TAVOLA_GEO_STATUS_SIZE];
    tavola_ticks last_sync = 0;

    CHECK_CODE(tavola_service_stats(client, TAVOLA_SERVICE_TABLE, NULL, status, &last_sync),
               TAVOLA_OK);
    CHECK_TEXT(tv_slice_of(status), "live");
    CHECK_INT(last_sync, synced);
    CHECK_INT(primary.requests, 0);
    CHECK_INT(secondary.requests, 2);
    CHECK(strncmp(secondary.last_request,
                  "GET /account-secondary/?restype=service&comp=stats HTTP/1.1\r\n",
                  strlen("GET /account-secondary/?restype=service&comp=stats HTTP/1.1\r\n")) == 0);

    close_both(client);
}

TEST(what_fails_leaves_the_results_alone)
{
    const script_answer answers[] = {CHUNKED("<html>hello</html>")};
    tavola_client *client = open_both(answers, 1);
    tavola_call *call = tavola_call_new();
    char status[TAVOLA_GEO_STATUS_SIZE] = "mine";
    tavola_ticks last_sync = 7;

    CHECK_CODE(tavola_service_stats(client, TAVOLA_SERVICE_TABLE, call, status, &last_sync),
               TAVOLA_ERR_PROTOCOL);
    CHECK_TEXT(tv_slice_of(tavola_call_message(call)),
               "the answer is not the stats of a service in XML");
    CHECK_CODE(tavola_service_stats(client, TAVOLA_SERVICE_BLOB, call, status, &last_sync),
               TAVOLA_ERR_INVALID);
    CHECK_TEXT(tv_slice_of(tavola_call_message(call)),
               "the secondary endpoint of this service is not known");
    CHECK_CODE(tavola_service_stats(client, (tavola_service)3, call, status, &last_sync),
               TAVOLA_ERR_INVALID);
    CHECK_CODE(tavola_service_stats(client, TAVOLA_SERVICE_TABLE, call, NULL, &last_sync),
               TAVOLA_ERR_INVALID);
    CHECK_CODE(tavola_service_stats(client, TAVOLA_SERVICE_TABLE, call, status, NULL),
               TAVOLA_ERR_INVALID);
    CHECK_CODE(tavola_service_stats(NULL, TAVOLA_SERVICE_TABLE, call, status, &last_sync),
               TAVOLA_ERR_INVALID);
    CHECK_TEXT(tv_slice_of(status), "mine");
    CHECK_INT(last_sync, 7);
    tavola_call_free(call);
    close_both(client);
}

TEST(memory_may_run_out)
{
    MEMORY_FAULTS(fault)
    {
        tavola_client *client = open_both(&good, 1);
        char status[TAVOLA_GEO_STATUS_SIZE];
        tavola_ticks last_sync = 0;

        if (client) {
            tavola_err err =
                tavola_service_stats(client, TAVOLA_SERVICE_TABLE, NULL, status, &last_sync);

            CHECK(err == TAVOLA_OK || (memory_fault_was_hit() && err == TAVOLA_ERR_NO_MEMORY));
        }
        close_both(client);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_stats),
        cmocka_unit_test(the_secondary_alone_is_asked),
        cmocka_unit_test(what_fails_leaves_the_results_alone),
        cmocka_unit_test(memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
