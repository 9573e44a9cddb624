/* Counters and their text form. */
#include "base/meter.h"

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

void tv_meter_write_histogram(tv_buf *out, const char *name, const char *labels,
                              const uint64_t *slots, int slot_count, double unit, double sum)
{
    const char *comma = labels[0] ? "," : "";
    uint64_t total = 0;

    for (int i = 0; i < slot_count - 1; i++) {
        total += slots[i];
        tv_buf_printf(out, "%s_bucket{%s%sle=\"%g\"} %llu\n", name, labels, comma,
                      (double)(UINT64_C(1) << i) * unit, (unsigned long long)total);
    }
    total += slots[slot_count - 1];
    tv_buf_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", name, labels, comma,
                  (unsigned long long)total);
    tv_buf_printf(out, "%s_sum{%s} %.9g\n%s_count{%s} %llu\n", name, labels, sum, name, labels,
                  (unsigned long long)total);
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
        tv_meter_write_histogram(out, "tavola_request_seconds", labels, slots, TV_METER_SLOTS, 1e-6,
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
    static const struct {
        const char *opening;
        void (*write)(tv_meter *meter, tv_buf *out);
    } metrics[] = {
        {"# HELP tavola_requests_total Finished requests.\n"
         "# TYPE tavola_requests_total counter\n",
         write_requests},
        {"# HELP tavola_request_seconds Time from a request's first byte to its response.\n"
         "# TYPE tavola_request_seconds histogram\n",
         write_latencies},
        {"# HELP tavola_body_bytes_total Bytes of request and response bodies.\n"
         "# TYPE tavola_body_bytes_total counter\n",
         write_bytes},
    };

    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        tv_buf_add(out, tv_slice_of(metrics[i].opening));
        for (size_t k = 0; k < count; k++)
            metrics[i].write(meters[k], out);
    }
}
