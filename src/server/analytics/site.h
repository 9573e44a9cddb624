/*
 * A site: what Storage Analytics has gathered of one service of one account, of its primary or
 * its secondary, and has not written yet.  Log lines go into one blob, up to
 * TV_ANALYTICS_LOG_BYTES_MAX at a time; requests are counted twice, for the row of their hour
 * and for that of their minute.  For the thread of analytics.c alone.
 *
 * What cannot be written is kept and written later, within the same bounds: counts are added up
 * in the row of a later hour or minute, and lines that find no room are dropped and counted.
 */
#ifndef TV_SERVER_ANALYTICS_SITE_H
#define TV_SERVER_ANALYTICS_SITE_H

#include "server/analytics/record.h"
#include "server/analytics/store.h"
#include "services/service/analytics_names.h"

/** What is known of analytics as a whole; any thread may read the numbers. */
typedef struct tv_analytics_stats {
    _Atomic uint64_t records, dropped_records, lines, dropped_lines, blobs, rows, failed_writes;
} tv_analytics_stats;

/** Counts of one hour or minute. */
typedef struct tv_analytics_period {
    int64_t begin; /* ticks; 0: none yet */
    bool is_due;   /* there is something to write, if only that there was nothing */
    bool has_apis; /* operations have rows of their own: as it was when they were counted */
    tv_analytics_counts user, system;
    tv_analytics_counts *by_op; /* one for each row of the service's table */
} tv_analytics_period;

typedef struct tv_analytics_site tv_analytics_site;
struct tv_analytics_site {
    tv_analytics_site *next;
    const tv_service_spec *spec;
    bool is_secondary;
    tv_analytics_switches switches; /* as they were last seen */
    tv_analytics_period periods[2]; /* by tv_analytics_span */
    tv_buf line;                    /* at hand, with what it is made of */
    tv_arena scratch;
    /* The log blob that is being filled; all its lines are of one hour. */
    tv_buf lines;
    int64_t hour, first, last; /* ticks: of the requests' ends, the hour; of their starts */
    unsigned classes;          /* tv_analytics_class */
    bool is_version_2;
    bool has_failed; /* to be written: not tried again before the next tick */
    /* The next number of a blob in the folder of `numbered_hour`. */
    int64_t numbered_hour;
    int number;
    int64_t flushed_ns; /* when it was last written */
    size_t account_len;
    char account[];
};

tv_analytics_site *tv_analytics_site_new(const tv_service_spec *spec, tv_slice account,
                                         bool is_secondary);
void tv_analytics_site_free(tv_analytics_site *site);

static inline tv_slice tv_analytics_site_account(const tv_analytics_site *site)
{
    return (tv_slice){site->account, site->account_len};
}

/** Where a site writes to, and who hears of what it has written: see tv_analytics_own. */
typedef struct tv_analytics_site_ctx {
    tv_analytics_store *store;
    tv_analytics_stats *stats;
    /** A request of analytics itself was made to a service of an account, and has succeeded. */
    void (*own)(void *ctx, tv_slice account, tv_service_kind service,
                const tv_analytics_request *request);
    void *ctx;
} tv_analytics_site_ctx;

/** Take a record in.  May write, to make room. */
void tv_analytics_site_take(tv_analytics_site *site, const tv_analytics_site_ctx *ctx,
                            const tv_analytics_record *record);

/** Count a request of analytics itself. */
void tv_analytics_site_count_own(tv_analytics_site *site, const tv_analytics_request *request);

/**
 * What the clock and the settings ask for: make $logs and the tables, begin the rows of a new
 * hour, write what is of an hour or minute that is over and, with `is_time`, all else.
 */
void tv_analytics_site_tick(tv_analytics_site *site, const tv_analytics_site_ctx *ctx, int64_t now,
                            bool is_time);

/** Write everything, at the end. */
void tv_analytics_site_flush(tv_analytics_site *site, const tv_analytics_site_ctx *ctx);

#endif
