/* The Blob service's part of /metrics. */
#include "blob/service.h"

static void add_figure(void *ctx, const char *name, const char *help, double value)
{
    tv_buf_printf(ctx, "# HELP tavola_%s %s\n# TYPE tavola_%s gauge\ntavola_%s %.17g\n", name, help,
                  name, name, value);
}

void tv_blob_service_write_metrics(void *ctx, tv_buf *out)
{
    tv_blob_service *service = ctx;

    tv_buf_printf(out,
                  "# HELP tavola_containers Containers of blobs of all accounts.\n"
                  "# TYPE tavola_containers gauge\ntavola_containers %zu\n",
                  tv_catalog_count(service->core.catalog));
    tv_extents_figures(service->extents, add_figure, out);
}
