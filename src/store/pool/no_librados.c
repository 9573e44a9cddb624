/* For builds without librados. */
#include <stdio.h>

#include "store/pool/pool.h"

bool tv_librados_open(const tv_librados_options *options, tv_pool **ret_pool, char *reterr_text,
                      size_t reterr_size)
{
    (void)options;
    (void)ret_pool;
    snprintf(reterr_text, reterr_size,
             "this tavolad was built without Ceph: build it with -Drados=enabled");
    return false;
}
