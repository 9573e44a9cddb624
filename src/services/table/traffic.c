#include "services/table/traffic.h"

#include "insight/traffic/record.h"

/* The table's counters; NULL when there is no room for more tables. */
static tv_traffic_table *counters_of(tv_traffic *traffic, const tv_container *table,
                                     uint32_t number)
{
    tv_table_counts *counts = table->service_data;
    tv_traffic_table *known = atomic_load_explicit(&counts->traffic, memory_order_acquire), *own;

    if (known) {
        /* The recorder gives a table that was silent for long another one. */
        if (atomic_load_explicit(&counts->traffic_number, memory_order_relaxed) != number) {
            atomic_store_explicit(&counts->traffic_number, number, memory_order_relaxed);
            tv_traffic_number(traffic, known, number);
        }
        return known;
    }
    own = tv_traffic_table_get(traffic, table->account, table->id);
    if (own == NULL)
        return NULL;
    if (atomic_compare_exchange_strong(&counts->traffic, &known, own)) {
        atomic_store_explicit(&counts->traffic_number, number, memory_order_relaxed);
        tv_traffic_number(traffic, own, number);
        return own;
    }
    tv_traffic_table_unref(own); /* another loop was first */
    return known;
}

void tv_table_count_traffic(tv_traffic *traffic, int loop_index, const tv_container *table,
                            const tv_watch_event *event)
{
    tv_traffic_table *counters = counters_of(traffic, table, event->table);

    if (counters)
        tv_traffic_record(tv_traffic_shard_at(traffic, loop_index), counters, event);
}

void tv_table_end_traffic(tv_container *table)
{
    tv_table_counts *counts = table->service_data;

    tv_watch *watch = atomic_load(&counts->watch);

    tv_traffic_table_unref(atomic_load(&counts->traffic));
    if (watch)
        tv_watch_drop_table(watch, atomic_load(&counts->watch_number));
}
