/* Names of log blobs, keys of rows, and the names that belong to analytics. */
#include "server/analytics/names.h"

#include "check.h"
#include "services/service/analytics_names.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* 2014-07-31T18:42:03.5Z */
static const int64_t instant = INT64_C(635424289235000000);

TEST(a_blob_is_named_after_its_hour)
{
    char text[TV_ANALYTICS_NAME_SIZE];
    int64_t hour = tv_analytics_floor(instant, TV_ANALYTICS_HOUR_TICKS), found;

    CHECK_TEXT(tv_analytics_folder(text, TV_SERVICE_QUEUE, hour), "queue/2014/07/31/1800/");
    CHECK_TEXT(tv_analytics_blob_name(text, TV_SERVICE_QUEUE, hour, 1),
               "queue/2014/07/31/1800/000001.log");
    CHECK(tv_analytics_blob_hour(tv_slice_of(text), TV_SERVICE_QUEUE, &found));
    CHECK(found == hour);
    CHECK(!tv_analytics_blob_hour(tv_slice_of(text), TV_SERVICE_TABLE, &found));
}

TEST(a_row_is_keyed_by_its_minute)
{
    char text[TV_ANALYTICS_NAME_SIZE];

    CHECK_TEXT(tv_analytics_partition(text, tv_analytics_floor(instant, TV_ANALYTICS_MINUTE_TICKS)),
               "20140731T1842");
    CHECK_TEXT(tv_analytics_partition(text, tv_analytics_floor(instant, TV_ANALYTICS_HOUR_TICKS)),
               "20140731T1800");
    CHECK_TEXT(tv_analytics_partition(text, tv_analytics_floor(instant, TV_ANALYTICS_DAY_TICKS)),
               "20140731T0000");
}

TEST(other_names_have_no_hour)
{
    static const char *const names[] = {
        "",
        "table",
        "table/",
        "table/2014/07/31/1800",
        "table/2014/07/31/1830/000001.log",
        "table/2014/13/31/1800/000001.log",
        "table/2014/02/30/1800/000001.log",
        "table/2014/07/31/2400/000001.log",
        "table/2014-07-31-1800/000001.log",
        "tables/2014/07/31/1800/000001.log",
        "table/20x4/07/31/1800/000001.log",
    };
    int64_t hour;

    for (size_t i = 0; i < COUNT(names); i++) {
        t_row = names[i];
        CHECK(!tv_analytics_blob_hour(tv_slice_of(names[i]), TV_SERVICE_TABLE, &hour));
    }
}

static const struct {
    tv_service_kind service;
    const char *name, *table; /* NULL: not analytics' */
} owned[] = {
    {TV_SERVICE_TABLE, "$MetricsHourPrimaryTransactionsTable",
     "$MetricsHourPrimaryTransactionsTable"},
    {TV_SERVICE_TABLE, "$metricshourprimarytransactionstable",
     "$MetricsHourPrimaryTransactionsTable"},
    {TV_SERVICE_TABLE, "$MetricsMinuteSecondaryTransactionsQueue",
     "$MetricsMinuteSecondaryTransactionsQueue"},
    {TV_SERVICE_TABLE, "$MetricsCapacityBlob", "$MetricsCapacityBlob"},
    {TV_SERVICE_TABLE, "$MetricsTransactionsBlob", "$MetricsHourPrimaryTransactionsBlob"},
    {TV_SERVICE_TABLE, "$MetricsHourPrimaryTransactionsFile", NULL},
    {TV_SERVICE_TABLE, "$Metrics", NULL},
    {TV_SERVICE_TABLE, "$logs", NULL},
    {TV_SERVICE_TABLE, "MetricsCapacityBlob", NULL},
    {TV_SERVICE_TABLE, "", NULL},
    {TV_SERVICE_BLOB, "$logs", ""},
    {TV_SERVICE_BLOB, "$LOGS", NULL}, /* containers have names in lower case */
    {TV_SERVICE_BLOB, "$root", NULL},
    {TV_SERVICE_BLOB, "$MetricsCapacityBlob", NULL},
    {TV_SERVICE_QUEUE, "$logs", NULL},
};

TEST(some_names_are_those_of_analytics)
{
    for (size_t i = 0; i < COUNT(owned); i++) {
        tv_slice name = tv_slice_of(owned[i].name);

        t_row = owned[i].name;
        CHECK(tv_analytics_owns(owned[i].service, name) == (owned[i].table != NULL));
        if (owned[i].table && owned[i].table[0])
            CHECK_TEXT(tv_analytics_table(name), owned[i].table);
    }
}

TEST(every_table_is_found_by_its_own_name)
{
    for (int i = 0; i < 12; i++) {
        tv_slice name = tv_analytics_metrics_name((tv_analytics_span)(i / 6), i / 3 % 2,
                                                  (tv_service_kind)(i % 3));

        CHECK_SLICE(tv_analytics_table(name), name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blob_is_named_after_its_hour),
        cmocka_unit_test(a_row_is_keyed_by_its_minute),
        cmocka_unit_test(other_names_have_no_hour),
        cmocka_unit_test(some_names_are_those_of_analytics),
        cmocka_unit_test(every_table_is_found_by_its_own_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
