/* Sums, and the columns that are made of them. */
#include "server/analytics/counts.h"

#include "base/assert.h"

enum { COLUMNS = 4 + 10 + TV_ANALYTICS_RESULTS * TV_ANALYTICS_AUTHS };

/* No sum goes beyond it, so none overflows, whatever a stored row says. */
#define SUM_MAX (INT64_MAX / 4)

static int64_t within(int64_t number)
{
    return number < 0 ? 0 : number > SUM_MAX ? SUM_MAX : number;
}

static int64_t sum(int64_t a, int64_t b)
{
    return within(within(a) + within(b));
}

void tv_analytics_count(tv_analytics_counts *counts, const tv_analytics_request *request)
{
    int64_t *requests = &counts->requests[request->result][request->auth];

    *requests = sum(*requests, 1);
    counts->ingress = sum(counts->ingress, request->ingress);
    counts->egress = sum(counts->egress, request->egress);
    if (request->result == TV_ANALYTICS_SUCCESS) {
        counts->total_us = sum(counts->total_us, request->total_us);
        counts->server_us = sum(counts->server_us, request->server_us);
    }
}

void tv_analytics_counts_add(tv_analytics_counts *counts, const tv_analytics_counts *more)
{
    counts->ingress = sum(counts->ingress, more->ingress);
    counts->egress = sum(counts->egress, more->egress);
    counts->total_us = sum(counts->total_us, more->total_us);
    counts->server_us = sum(counts->server_us, more->server_us);
    for (int i = 0; i < TV_ANALYTICS_RESULTS; i++) {
        for (int k = 0; k < TV_ANALYTICS_AUTHS; k++)
            counts->requests[i][k] = sum(counts->requests[i][k], more->requests[i][k]);
    }
}

static int64_t of_result(const tv_analytics_counts *counts, tv_analytics_result result)
{
    const int64_t *by_auth = counts->requests[result];

    return sum(sum(by_auth[TV_ANALYTICS_KEY], by_auth[TV_ANALYTICS_ANONYMOUS]),
               by_auth[TV_ANALYTICS_SAS]);
}

static bool is_any(tv_analytics_result result, tv_analytics_auth auth)
{
    (void)result;
    (void)auth;
    return true;
}

static int64_t sum_of(const tv_analytics_counts *counts,
                      bool (*is_counted)(tv_analytics_result result, tv_analytics_auth auth))
{
    int64_t total = 0;

    for (int i = 0; i < TV_ANALYTICS_RESULTS; i++) {
        for (int k = 0; k < TV_ANALYTICS_AUTHS; k++) {
            if (is_counted((tv_analytics_result)i, (tv_analytics_auth)k))
                total = sum(total, counts->requests[i][k]);
        }
    }
    return total;
}

int64_t tv_analytics_counts_requests(const tv_analytics_counts *counts)
{
    return sum_of(counts, is_any);
}

/* --- columns --- */

static void add_int64(tv_entity_properties *row, tv_slice name, int64_t value)
{
    row->list[row->count++] = (tv_property){.name = name, .type = TV_EDM_INT64, .int64 = value};
}

static void add_double(tv_entity_properties *row, tv_slice name, double value)
{
    row->list[row->count++] = (tv_property){.name = name, .type = TV_EDM_DOUBLE, .real = value};
}

static double percent(int64_t part, int64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static double average_ms(int64_t us, int64_t count)
{
    return count ? (double)us / 1000 / (double)count : 0;
}

/* What nobody has asked for was there all the time. */
static double availability(const tv_analytics_counts *counts, int64_t billable)
{
    int64_t counted = sum_of(counts, tv_analytics_is_in_availability);

    return counted ? percent(billable, counted) : 100;
}

static void add_percents(tv_entity_properties *row, const tv_analytics_counts *counts,
                         int64_t requests)
{
    int64_t timeouts = sum(of_result(counts, TV_ANALYTICS_CLIENT_TIMEOUT),
                           of_result(counts, TV_ANALYTICS_SERVER_TIMEOUT));
    static const struct {
        tv_slice name;
        tv_analytics_result result;
    } percents[] = {
#define PERCENT(name, result) {{name, sizeof name - 1}, TV_ANALYTICS_##result}
        PERCENT("PercentSuccess", SUCCESS),
        PERCENT("PercentThrottlingError", THROTTLING),
        PERCENT("PercentServerOtherError", SERVER_OTHER),
        PERCENT("PercentClientOtherError", CLIENT_OTHER),
        PERCENT("PercentAuthorizationError", AUTHORIZATION),
        PERCENT("PercentNetworkError", NETWORK),
#undef PERCENT
    };

    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++)
        add_double(row, percents[i].name, percent(of_result(counts, percents[i].result), requests));
    add_double(row, TV_LIT("PercentTimeoutError"), percent(timeouts, requests));
}

tv_entity_properties tv_analytics_counts_encode(tv_arena *arena, const tv_analytics_counts *counts)
{
    tv_entity_properties row = {tv_arena_alloc(arena, COLUMNS * sizeof *row.list), 0};
    int64_t requests = tv_analytics_counts_requests(counts);
    int64_t billable = sum_of(counts, tv_analytics_is_billable);
    int64_t successes = of_result(counts, TV_ANALYTICS_SUCCESS);

    add_int64(&row, TV_LIT("TotalIngress"), counts->ingress);
    add_int64(&row, TV_LIT("TotalEgress"), counts->egress);
    add_int64(&row, TV_LIT("TotalRequests"), requests);
    add_int64(&row, TV_LIT("TotalBillableRequests"), billable);
    add_double(&row, TV_LIT("Availability"), availability(counts, billable));
    add_double(&row, TV_LIT("AverageE2ELatency"), average_ms(counts->total_us, successes));
    add_double(&row, TV_LIT("AverageServerLatency"), average_ms(counts->server_us, successes));
    add_percents(&row, counts, requests);
    for (int i = 0; i < TV_ANALYTICS_RESULTS; i++) {
        for (int k = 0; k < TV_ANALYTICS_AUTHS; k++)
            add_int64(&row, tv_analytics_outcome_name((tv_analytics_result)i, (tv_analytics_auth)k),
                      counts->requests[i][k]);
    }
    tv_assert(row.count == COLUMNS);
    tv_entity_properties_sort(&row);
    return row;
}

/* --- back --- */

/* An average times its count is the sum again: whole microseconds survive the rounding. */
static int64_t total_of(double average, int64_t count)
{
    double us = average * 1000 * (double)count;

    return us > 0 && us < (double)SUM_MAX ? (int64_t)(us + 0.5) : 0;
}

static void take_counter(tv_analytics_counts *counts, const tv_property *property)
{
    for (int i = 0; i < TV_ANALYTICS_RESULTS; i++) {
        for (int k = 0; k < TV_ANALYTICS_AUTHS; k++) {
            if (tv_slice_eq(property->name, tv_analytics_outcome_name((tv_analytics_result)i,
                                                                      (tv_analytics_auth)k)))
                counts->requests[i][k] = within(property->int64);
        }
    }
}

tv_err tv_analytics_counts_decode(tv_slice row, tv_analytics_counts *ret_counts)
{
    tv_analytics_counts counts = {0};
    double total_ms = 0, server_ms = 0;
    tv_entity_cursor cursor;
    tv_property property;

    tv_entity_cursor_init(&cursor, row);
    while (tv_entity_next(&cursor, &property)) {
        bool is_int64 = property.type == TV_EDM_INT64, is_double = property.type == TV_EDM_DOUBLE;

        if (is_double && tv_slice_eq(property.name, TV_LIT("AverageE2ELatency")))
            total_ms = property.real;
        else if (is_double && tv_slice_eq(property.name, TV_LIT("AverageServerLatency")))
            server_ms = property.real;
        else if (is_int64 && tv_slice_eq(property.name, TV_LIT("TotalIngress")))
            counts.ingress = within(property.int64);
        else if (is_int64 && tv_slice_eq(property.name, TV_LIT("TotalEgress")))
            counts.egress = within(property.int64);
        else if (is_int64)
            take_counter(&counts, &property);
    }
    if (cursor.is_corrupt)
        return TV_ERR_CORRUPT;

    counts.total_us = total_of(total_ms, of_result(&counts, TV_ANALYTICS_SUCCESS));
    counts.server_us = total_of(server_ms, of_result(&counts, TV_ANALYTICS_SUCCESS));
    *ret_counts = counts;
    return TV_OK;
}
