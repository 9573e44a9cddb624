/* The estimate: linear counting while registers are empty, the harmonic mean beyond. */
#include "insight/facts/distinct.h"

#include <math.h>

double tv_distinct_estimate(const tv_distinct *distinct)
{
    const double m = TV_DISTINCT_REGISTERS, alpha = 0.7213 / (1 + 1.079 / m);
    double sum = 0;
    int empty = 0;

    for (int i = 0; i < TV_DISTINCT_REGISTERS; i++) {
        sum += ldexp(1, -distinct->registers[i]);
        empty += distinct->registers[i] == 0;
    }

    double raw = alpha * m * m / sum;

    return raw <= 2.5 * m && empty ? m * log(m / empty) : raw;
}
