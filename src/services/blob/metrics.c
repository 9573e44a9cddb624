/* The Blob service's part of /metrics. */
#include "services/blob/service.h"

#include "base/metrics.h"

static void add_metric(void *ctx, const char *name, const char *help, double value)
{
    tv_metric_add(ctx, name, help, value);
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

    tv_metric_add(out, "containers", "Containers of blobs of all accounts.",
                  (double)tv_catalog_count(service->base.catalog));
    tv_extents_metrics(service->extents, add_metric, out);
}
