#include "insight/traffic/measure.h"

static const char *const names[TV_MEASURES] = {
    [TV_MEASURE_READS] = "reads",         [TV_MEASURE_WRITES] = "writes",
    [TV_MEASURE_DELETES] = "deletes",     [TV_MEASURE_BYTES] = "bytes",
    [TV_MEASURE_SCANNED] = "scanned",     [TV_MEASURE_CONFLICTS] = "conflicts",
    [TV_MEASURE_THROTTLED] = "throttled", [TV_MEASURE_INSERTS] = "inserts",
};

const char *tv_traffic_measure_name(tv_traffic_measure measure)
{
    return names[measure];
}

bool tv_traffic_measure_parse(tv_slice name, tv_traffic_measure *ret_measure)
{
    for (int i = 0; i < TV_MEASURES; i++) {
        if (tv_slice_eq(name, tv_slice_of(names[i]))) {
            *ret_measure = (tv_traffic_measure)i;
            return true;
        }
    }
    return false;
}
