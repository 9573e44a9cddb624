/* Counters and their text form. */
#include "base/meter.h"

#include "base/metrics.h"

/* The statuses that the services use; the last stands for any other. */
static const int statuses[] = {200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 405, 408,
                               409, 411, 412, 413, 415, 416, 431, 500, 501, 503, 505, 0};
enum { STATUS_COUNT = sizeof statuses / sizeof *statuses };

void tv_meter_init(tv_meter *meter, const char *service, int op_count)
{
    _Static_assert((int)STATUS_COUNT <= (int)TV_METER_STATUSES, "room for all statuses");
    tv_assert(op_count <= TV_METER_OPS_MAX);
    memset(meter, 0, sizeof *meter);
    meter->service = service;
    meter->op_count = op_count;
}

static int status_index(int status)
{
    int i = 0;

    while (statuses[i] && statuses[i] != status)
        i++;
    return i;
}

static void add(_Atomic uint64_t *counter, uint64_t amount)
{
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

void tv_meter_add(tv_meter *meter, int op, int status, int64_t ns, size_t bytes_in,
                  size_t bytes_out)
{
    uint64_t us = ns > 0 ? (uint64_t)ns / 1000 : 0;
    int slot = 0;

    tv_assert(op >= 0 && op < meter->op_count);
    while (slot < TV_METER_SLOTS - 1 && us > UINT64_C(1) << slot)
        slot++;
    add(&meter->requests[op][status_index(status)], 1);
    add(&meter->slots[op][slot], 1);
    add(&meter->ns_sum[op], (uint64_t)ns);
    add(&meter->bytes_in, bytes_in);
    add(&meter->bytes_out, bytes_out);
}

static void write_requests(tv_meter *meter, tv_buf *out)
{
    for (int op = 0; op < meter->op_count; op++) {
        for (int s = 0; s < STATUS_COUNT; s++) {
            uint64_t count = atomic_load(&meter->requests[op][s]);

            if (count)
                tv_buf_printf(
                    out,
                    "tavola_requests_total{service=\"%s\",operation=\"%s\",status=\"%d\"} %llu\n",
                    meter->service, meter->op_names[op], statuses[s], (unsigned long long)count);
        }
    }
}

static void write_latencies(tv_meter *meter, tv_buf *out)
{
    for (int op = 0; op < meter->op_count; op++) {
        uint64_t slots[TV_METER_SLOTS], total = 0;
        char labels[128];

        for (int i = 0; i < TV_METER_SLOTS; i++)
            total += slots[i] = atomic_load(&meter->slots[op][i]);
        if (total == 0)
            continue;
        snprintf(labels, sizeof labels, "service=\"%s\",operation=\"%s\"", meter->service,
                 meter->op_names[op]);
        tv_metric_add_histogram(out, "request_seconds", labels, slots, TV_METER_SLOTS, 1e-6,
                                (double)atomic_load(&meter->ns_sum[op]) * 1e-9);
    }
}

static void write_bytes(tv_meter *meter, tv_buf *out)
{
    tv_buf_printf(out,
                  "tavola_body_bytes_total{service=\"%s\",direction=\"in\"} %llu\n"
                  "tavola_body_bytes_total{service=\"%s\",direction=\"out\"} %llu\n",
                  meter->service, (unsigned long long)atomic_load(&meter->bytes_in), meter->service,
                  (unsigned long long)atomic_load(&meter->bytes_out));
}

void tv_meter_write(tv_meter *const *meters, size_t count, tv_buf *out)
{
    tv_metric_open(out, "requests_total", "Finished requests.");
    for (size_t i = 0; i < count; i++)
        write_requests(meters[i], out);
    tv_metric_open_histogram(out, "request_seconds",
                             "Time from a request's first byte to its response.");
    for (size_t i = 0; i < count; i++)
        write_latencies(meters[i], out);
    tv_metric_open(out, "body_bytes_total", "Bytes of request and response bodies.");
    for (size_t i = 0; i < count; i++)
        write_bytes(meters[i], out);
}
