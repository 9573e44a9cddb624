/*
 * Numbers as text.
 *
 * Both directions of doubles have a fast path for short decimals that rests on
 * one fact: an integer up to 2^53 and a power of ten up to 10^22 are exact
 * doubles, so their product or quotient is rounded once, that is correctly.
 * Longer ones up to 19 digits, which is how most doubles look that were
 * computed, are read with integers of 128 bits.  Everything else is left to the
 * C library, whose conversions are exact.
 */
#include "base/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>

#include "base/assert.h"

#if FLT_EVAL_METHOD != 0
#error "the fast paths need doubles that are computed as doubles"
#endif

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static const uint64_t powers_of_five[] = {UINT64_C(1),
                                          UINT64_C(5),
                                          UINT64_C(25),
                                          UINT64_C(125),
                                          UINT64_C(625),
                                          UINT64_C(3125),
                                          UINT64_C(15625),
                                          UINT64_C(78125),
                                          UINT64_C(390625),
                                          UINT64_C(1953125),
                                          UINT64_C(9765625),
                                          UINT64_C(48828125),
                                          UINT64_C(244140625),
                                          UINT64_C(1220703125),
                                          UINT64_C(6103515625),
                                          UINT64_C(30517578125),
                                          UINT64_C(152587890625),
                                          UINT64_C(762939453125),
                                          UINT64_C(3814697265625),
                                          UINT64_C(19073486328125),
                                          UINT64_C(95367431640625),
                                          UINT64_C(476837158203125),
                                          UINT64_C(2384185791015625),
                                          UINT64_C(11920928955078125),
                                          UINT64_C(59604644775390625),
                                          UINT64_C(298023223876953125),
                                          UINT64_C(1490116119384765625),
                                          UINT64_C(7450580596923828125)};

enum {
    EXACT_POWER_MAX = 22,
    INTEGER_POWER_MAX = 27, /* of five, in 64 bits */
    UINT64_DIGITS = 19,     /* this many always fit */
    EXPONENT_MAX = 100000,
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool tv_parse_uint64(tv_slice text, uint64_t *ret_value)
{
    uint64_t value = 0;

    if (text.len == 0)
        return false;

    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.data[i]) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text.data[i] - '0'), &value))
            return false;
    }
    *ret_value = value;
    return true;
}

bool tv_parse_int64(tv_slice text, int64_t *ret_value)
{
    bool negative = text.len && text.data[0] == '-';
    uint64_t magnitude;

    if (!tv_parse_uint64(negative ? tv_slice_skip(text, 1) : text, &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;

    /* Negated as unsigned, because INT64_MIN has no positive counterpart. */
    *ret_value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

bool tv_parse_int32(tv_slice text, int32_t *ret_value)
{
    int64_t value;

    if (!tv_parse_int64(text, &value) || value < INT32_MIN || value > INT32_MAX)
        return false;

    *ret_value = (int32_t)value;
    return true;
}

/* A decimal taken apart: -? digits (. digits)? (e sign? digits)?, its value digits * 10^exponent.
 */
typedef struct decimal {
    bool negative;
    uint64_t digits;
    size_t digit_count; /* without leading zeros; `digits` holds them all if they fit */
    int exponent;
} decimal;

/* Append the digits at `at` to `number` and return where they end. */
static const char *take_digits(decimal *number, const char *at, const char *end)
{
    for (; at < end && is_digit(*at); at++) {
        if (number->digit_count == 0 && *at == '0')
            continue;
        if (number->digit_count < UINT64_DIGITS)
            number->digits = number->digits * 10 + (uint64_t)(*at - '0');
        number->digit_count++;
    }
    return at;
}

static bool take_exponent(const char **at, const char *end, int64_t exponent_max,
                          int64_t *ret_exponent)
{
    bool negative = false;
    int64_t exponent = 0;

    if (*at < end && (**at == '+' || **at == '-'))
        negative = *(*at)++ == '-';
    if (*at == end)
        return false;

    for (; *at < end && is_digit(**at); ++*at) {
        if (exponent < exponent_max)
            exponent = exponent * 10 + (**at - '0');
    }
    *ret_exponent = negative ? -exponent : exponent;
    return true;
}

static bool take_apart(tv_slice text, decimal *ret_number)
{
    if (text.len == 0)
        return false;

    const char *at = text.data, *end = text.data + text.len;
    decimal number = {0};
    int64_t exponent = 0;

    if (*at == '-') {
        number.negative = true;
        at++;
    }

    const char *integer = at;
    at = take_digits(&number, at, end);
    if (at == integer)
        return false;
    if (at < end && *at == '.') {
        const char *fraction = ++at;

        at = take_digits(&number, at, end);
        if (at == fraction)
            return false;
        /* Only the fast path uses the exponent, and only for a few digits. */
        number.exponent = at - fraction < EXPONENT_MAX ? (int)(fraction - at) : -EXPONENT_MAX;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (!take_exponent(&at, end, EXPONENT_MAX, &exponent))
            return false;
    }
    if (at != end)
        return false;

    number.exponent += (int)exponent;
    *ret_number = number;
    return true;
}

static locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    tv_assert(c_locale != (locale_t)0);
}

/* strtod, whatever locale a library has set. */
static double read_double(const char *text)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_c_locale);
    return strtod_l(text, NULL, c_locale);
}

/*
 * Digits of which a double can depend one by one; of those after them it only matters whether all
 * are zero.  (The longest decimal that is just between two doubles has 767.)
 */
enum { SIGNIFICANT_MAX = 770, SHORT_MAX = SIGNIFICANT_MAX + 32 };

/* A decimal of any length as one of at most SHORT_MAX characters that reads as the same double. */
static void shorten(char to[SHORT_MAX], tv_slice text)
{
    const char *at = text.data, *end = text.data + text.len;
    bool is_fraction = false, has_rest = false;
    int64_t power = 0; /* of ten, that the digits written so far are to be multiplied by */
    int64_t exponent = 0;
    int kept = 0;

    if (*at == '-')
        *to++ = *at++;
    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            is_fraction = true;
        } else if (kept == SIGNIFICANT_MAX) {
            has_rest |= *at != '0';
            power += !is_fraction;
        } else {
            power -= is_fraction;
            if (kept > 0 || *at != '0') {
                *to++ = *at;
                kept++;
            }
        }
    }
    if (has_rest) {
        *to++ = '1';
        power--;
    }
    if (kept == 0)
        *to++ = '0';
    if (at < end) {
        at++;
        /* More than a text can have digits: what is beyond is zero or infinite in any case. */
        tv_assert(take_exponent(&at, end, INT64_MAX / 100, &exponent));
    }
    *to++ = 'e';
    to += tv_format_int64(to, power + exponent);
    *to = '\0';
}

/* (high + what is below it) * 2^exponent as a double; `high` has its top bit set. */
static double round_to_double(uint64_t high, bool has_more, int exponent)
{
    enum { SPARE_BITS = 64 - DBL_MANT_DIG, EXPONENT_BIAS = DBL_MAX_EXP - 1 };
    uint64_t half = UINT64_C(1) << (SPARE_BITS - 1), spare = high & (2 * half - 1);
    uint64_t mantissa = high >> SPARE_BITS;

    if (spare > half || (spare == half && (has_more || mantissa & 1)))
        mantissa++;

    /* A power of two, by which multiplying is exact. */
    uint64_t bits = (uint64_t)(exponent + SPARE_BITS + EXPONENT_BIAS) << (DBL_MANT_DIG - 1);
    double power;

    memcpy(&power, &bits, sizeof power);
    return (double)mantissa * power;
}

/* Whether scale() can compute digits * 10^exponent. */
static bool can_scale(uint64_t digits, int exponent)
{
    return digits > 0 && exponent >= -INTEGER_POWER_MAX && exponent <= INTEGER_POWER_MAX;
}

/*
 * digits * 10^exponent, rounded correctly.  Tens are fives and twos: after a multiplication or
 * division by a power of five, the first 64 bits of the result are known, and whether there are
 * more.
 */
static double scale(uint64_t digits, int exponent)
{
    uint64_t power = powers_of_five[abs(exponent)];
    int shift = __builtin_clzll(digits);

    digits <<= shift;
    if (exponent >= 0) {
        unsigned __int128 product = (unsigned __int128)digits * power;
        uint64_t top = (uint64_t)(product >> 64);
        int product_shift = top ? __builtin_clzll(top) : 64;

        product <<= product_shift;
        return round_to_double((uint64_t)(product >> 64), (uint64_t)product != 0,
                               64 - product_shift + exponent - shift);
    }

    int power_shift = __builtin_clzll(power);

    power <<= power_shift;

    /* So many that the quotient has its top bit set and no more than 64. */
    int up = digits < power ? 64 : 63;
    unsigned __int128 dividend = (unsigned __int128)digits << up;

    return round_to_double((uint64_t)(dividend / power), dividend % power != 0,
                           power_shift - shift + exponent - up);
}

bool tv_parse_double(tv_slice text, double *ret_value)
{
    decimal number;
    double value;

    if (!take_apart(text, &number))
        return false;

    if (number.digit_count <= UINT64_DIGITS && number.digits <= UINT64_C(1) << DBL_MANT_DIG &&
        number.exponent >= -EXACT_POWER_MAX && number.exponent <= EXACT_POWER_MAX) {
        value = (double)number.digits;
        if (number.exponent < 0)
            value /= powers_of_ten[-number.exponent];
        else
            value *= powers_of_ten[number.exponent];
        *ret_value = number.negative ? -value : value;
        return true;
    }

    if (number.digit_count <= UINT64_DIGITS && can_scale(number.digits, number.exponent)) {
        value = scale(number.digits, number.exponent);
        *ret_value = number.negative ? -value : value;
        return true;
    }

    char copy[SHORT_MAX];

    if (text.len < sizeof copy)
        *tv_slice_put(copy, text) = '\0';
    else
        shorten(copy, text);
    value = read_double(copy);
    if (!isfinite(value))
        return false;

    *ret_value = value;
    return true;
}

/* Decimal digits without leading zeros; returns how many, 0 for 0. */
static size_t put_digits(char to[TV_INT64_TEXT_MAX], uint64_t value)
{
    char digits[TV_INT64_TEXT_MAX];
    size_t at = sizeof digits;

    for (; value > UINT32_MAX; value /= 10)
        digits[--at] = (char)('0' + value % 10);
    /* Dividing 32 bits is much faster, and nearly all numbers are short. */
    for (uint32_t rest = (uint32_t)value; rest; rest /= 10)
        digits[--at] = (char)('0' + rest % 10);
    memcpy(to, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

size_t tv_format_int64(char to[TV_INT64_TEXT_MAX], int64_t value)
{
    char *at = to;

    if (value == 0) {
        *to = '0';
        return 1;
    }
    if (value < 0)
        *at++ = '-';
    at += put_digits(at, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    return (size_t)(at - to);
}

/* d.dddE+xx */
static char *put_scientific(char *to, const char *digits, int count, int exponent)
{
    *to++ = digits[0];
    if (count > 1) {
        *to++ = '.';
        memcpy(to, digits + 1, (size_t)count - 1);
        to += count - 1;
    }
    *to++ = 'E';
    *to++ = exponent < 0 ? '-' : '+';
    if (abs(exponent) < 10)
        *to++ = '0';
    return to + put_digits(to, (uint64_t)abs(exponent));
}

/* ddd.ddd, with at least one digit on both sides of the point. */
static char *put_fixed(char *to, const char *digits, int count, int exponent)
{
    int before = exponent + 1; /* digits before the point; negative for zeros after it */

    if (before <= 0) {
        memcpy(to, "0.", 2);
        memset(to + 2, '0', (size_t)-before);
        to += 2 - before;
    }
    for (int i = 0; i < count; i++) {
        if (i == before && before > 0)
            *to++ = '.';
        *to++ = digits[i];
    }
    if (count <= before) {
        memset(to, '0', (size_t)(before - count));
        to += before - count;
        memcpy(to, ".0", 2);
        to += 2;
    }
    return to;
}

/*
 * Look for a decimal of at most 15 digits, few of them after the point, that
 * reads back as `value`.  Different decimals of 15 digits are different doubles
 * (DBL_DIG), so the one found is the one that printing 15 digits would give.
 */
static int find_short_digits(char to[TV_INT64_TEXT_MAX], double value, int *ret_exponent)
{
    enum { SHORT_FRACTION_MAX = 6 };

    for (int fraction = 0; fraction <= SHORT_FRACTION_MAX; fraction++) {
        double scaled = value * powers_of_ten[fraction];

        if (scaled >= 1e15)
            return 0;

        uint64_t integer = (uint64_t)(scaled + 0.5);

        if ((double)integer / powers_of_ten[fraction] == value) {
            int count = (int)put_digits(to, integer);

            *ret_exponent = count - 1 - fraction;
            return count;
        }
    }
    return 0;
}

/*
 * The first `count` digits of `value`, rounded, by way of "d.dddde+xx".  What
 * follows the first digit there depends on the locale, so it is skipped.
 */
static void print_digits(char *digits, int count, double value, int *ret_exponent)
{
    char text[64];
    int len = snprintf(text, sizeof text, "%.*e", count - 1, value);
    const char *e = strchr(text, 'e');

    tv_assert(len > 0 && (size_t)len < sizeof text && e != NULL);
    digits[0] = text[0];
    memcpy(digits + 1, e - (count - 1), (size_t)count - 1);
    *ret_exponent = (int)strtol(e + 1, NULL, 10);
}

/* Whether digits[0].digits[1..] * 10^exponent reads as `value`. */
static bool reads_back(const char *digits, int count, int exponent, double value)
{
    char text[64];
    decimal number = {0};

    take_digits(&number, digits, digits + count);
    if (can_scale(number.digits, exponent - (count - 1)))
        return scale(number.digits, exponent - (count - 1)) == value;

    snprintf(text, sizeof text, "%.*se%d", count, digits, exponent - (count - 1));
    return read_double(text) == value;
}

size_t tv_format_double(char to[TV_DOUBLE_TEXT_MAX], double value)
{
    char digits[TV_INT64_TEXT_MAX];
    char *at = to;
    int exponent;

    if (!isfinite(value)) {
        tv_slice name = isnan(value) ? TV_LIT("NaN")
                        : value > 0  ? TV_LIT("Infinity")
                                     : TV_LIT("-Infinity");

        memcpy(to, name.data, name.len);
        return name.len;
    }
    /* JSON of the service does not tell -0.0 from 0.0. */
    if (value == 0) {
        memcpy(to, "0.0", 3);
        return 3;
    }
    if (value < 0)
        *at++ = '-';
    value = fabs(value);

    int count = value >= 1e-4 ? find_short_digits(digits, value, &exponent) : 0;
    if (count == 0) {
        count = 15;
        print_digits(digits, count, value, &exponent);
        if (!reads_back(digits, count, exponent, value)) {
            count = 17;
            print_digits(digits, count, value, &exponent);
        }
    }
    while (count > 1 && digits[count - 1] == '0')
        count--;
    if (exponent >= 15 || exponent < -4)
        at = put_scientific(at, digits, count, exponent);
    else
        at = put_fixed(at, digits, count, exponent);
    return (size_t)(at - to);
}
