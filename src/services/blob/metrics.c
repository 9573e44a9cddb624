/* The Blob service's part of /metrics. */
#include "services/blob/service.h"

/* Counters are named so. */
static bool is_total(tv_slice name)
{
    static const tv_slice ending = {"_total", 6};

    return name.len > ending.len && tv_slice_eq(tv_slice_skip(name, name.len - ending.len), ending);
}

static void add_figure(void *ctx, const char *name, const char *help, double value)
{
    bool is_counter = is_total(tv_slice_of(name));

    tv_buf_printf(ctx, "# HELP tavola_%s %s\n# TYPE tavola_%s %s\ntavola_%s %.17g\n", name, help,
                  name, is_counter ? "counter" : "gauge", name, value);
}

bool tv_blob_service_check(void *ctx, tv_buf *out)
{
    tv_blob_service *service = ctx;
    char text[TV_EXTENT_TEXT_SIZE + 512];

    if (tv_extents_check(service->extents, text, sizeof text))
        return true;

    tv_buf_add(out, tv_slice_of(text));
    return false;
}

void tv_blob_service_write_metrics(void *ctx, tv_buf *out)
{
    tv_blob_service *service = ctx;

    tv_buf_printf(out,
                  "# HELP tavola_containers Containers of blobs of all accounts.\n"
                  "# TYPE tavola_containers gauge\ntavola_containers %zu\n",
                  tv_catalog_count(service->base.catalog));
    tv_extents_metrics(service->extents, add_figure, out);
}
