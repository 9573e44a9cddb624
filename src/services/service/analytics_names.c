/* The names, all of them. */
#include "services/service/analytics_names.h"

#define NAME(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const tv_slice metrics[2][2][3] = {
#define TABLES_OF(span, location)                                                                  \
    {                                                                                              \
        [TV_SERVICE_TABLE] = NAME("$Metrics" span location "TransactionsTable"),                   \
        [TV_SERVICE_QUEUE] = NAME("$Metrics" span location "TransactionsQueue"),                   \
        [TV_SERVICE_BLOB] = NAME("$Metrics" span location "TransactionsBlob"),                     \
    }
    [TV_ANALYTICS_HOUR] = {TABLES_OF("Hour", "Primary"), TABLES_OF("Hour", "Secondary")},
    [TV_ANALYTICS_MINUTE] = {TABLES_OF("Minute", "Primary"), TABLES_OF("Minute", "Secondary")},
#undef TABLES_OF
};

static const tv_slice old_names[] = {
    [TV_SERVICE_TABLE] = NAME("$MetricsTransactionsTable"),
    [TV_SERVICE_QUEUE] = NAME("$MetricsTransactionsQueue"),
    [TV_SERVICE_BLOB] = NAME("$MetricsTransactionsBlob"),
};

tv_slice tv_analytics_metrics_name(tv_analytics_span span, bool is_secondary,
                                   tv_service_kind service)
{
    return metrics[span][is_secondary][service];
}

tv_slice tv_analytics_table(tv_slice name)
{
    if (name.len == 0 || name.data[0] != '$')
        return TV_NONE;
    if (tv_slice_eq_nocase(name, TV_ANALYTICS_CAPACITY))
        return TV_ANALYTICS_CAPACITY;

    for (int service = TV_SERVICE_TABLE; service <= TV_SERVICE_BLOB; service++) {
        if (tv_slice_eq_nocase(name, old_names[service]))
            return metrics[TV_ANALYTICS_HOUR][false][service];
        for (int i = 0; i < 4; i++) {
            if (tv_slice_eq_nocase(name, metrics[i / 2][i % 2][service]))
                return metrics[i / 2][i % 2][service];
        }
    }
    return TV_NONE;
}
