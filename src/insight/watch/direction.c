/* A reservoir, and how later keys compare with it. */
#include "insight/watch/direction.h"

static const int64_t minute_ns = INT64_C(60000000000);

static uint64_t next_random(tv_direction *direction)
{
    direction->random = direction->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return direction->random >> 33;
}

static tv_slice partition_of(const tv_kept_key *key)
{
    return (tv_slice){key->bytes, key->partition_len};
}

static void compare(tv_direction *d, const tv_kept_key *key, uint64_t weight)
{
    size_t count = d->seen < TV_DIRECTION_KEYS ? (size_t)d->seen : TV_DIRECTION_KEYS;
    uint64_t lag = d->seen / TV_DIRECTION_LAG_PART;
    bool is_first = true, is_last = true;

    if (lag < TV_DIRECTION_LAG_MIN)
        lag = TV_DIRECTION_LAG_MIN;
    for (size_t i = 0; i < count; i++) {
        if (d->came[i] + lag > d->seen)
            continue;

        int order = tv_slice_cmp(tv_kept_key_slice(key), tv_kept_key_slice(&d->keys[i]));
        int order_pk = tv_slice_cmp(partition_of(key), partition_of(&d->keys[i]));

        if (order > 0)
            d->greater += weight;
        else if (order < 0)
            d->less += weight;
        else
            d->equal += weight;
        if (order_pk > 0)
            d->greater_pk += weight;
        else if (order_pk < 0)
            d->less_pk += weight;
        is_last = is_last && order >= 0;
        is_first = is_first && order <= 0;
    }
    d->compared += weight;
    d->last += is_last ? weight : 0;
    d->first += is_first ? weight : 0;
}

bool tv_direction_look(const tv_direction *d, int64_t time_ns, tv_direction_window *ret_window)
{
    double all = (double)(d->greater + d->less + d->equal);
    double differing = (double)(d->greater_pk + d->less_pk);

    if (d->weight < TV_DIRECTION_INSERTS_MIN || d->seen <= TV_DIRECTION_KEYS)
        return false;

    *ret_window = (tv_direction_window){.end_ns = time_ns,
                                        .inserts = d->weight,
                                        .compared = d->compared,
                                        .first = d->first,
                                        .last = d->last};
    if (all > 0)
        ret_window->row = ((double)d->greater - (double)d->less) / all;
    if (differing > 0 && differing >= 0.1 * all) {
        ret_window->has_partition = true;
        ret_window->partition = ((double)d->greater_pk - (double)d->less_pk) / differing;
    }
    return true;
}

int tv_direction_sign(const tv_direction_window *window)
{
    if (window->row >= 0.7 || (window->has_partition && window->partition >= 0.8))
        return 1;
    return window->row <= -0.7 || (window->has_partition && window->partition <= -0.8) ? -1 : 0;
}

static void begin_window(tv_direction *d, int64_t time_ns)
{
    d->greater = d->less = d->equal = d->greater_pk = d->less_pk = 0;
    d->seen = d->weight = d->compared = d->first = d->last = 0;
    d->begun_ns = time_ns;
}

static void end_window_if_due(tv_direction *d, int64_t time_ns)
{
    tv_direction_window window;

    if (time_ns - d->begun_ns < minute_ns || !tv_direction_look(d, time_ns, &window))
        return;

    memmove(d->windows + 1, d->windows, (TV_DIRECTION_WINDOWS - 1) * sizeof *d->windows);
    d->windows[0] = window;
    if (d->window_count < TV_DIRECTION_WINDOWS)
        d->window_count++;
    begin_window(d, time_ns);
}

/* Majority vote: who is left has most, if anybody has. */
static void vote(tv_direction *d, const tv_kept_key *key, uint64_t weight)
{
    d->minute_weight += weight;
    if (d->votes && tv_slice_eq(partition_of(&d->candidate), partition_of(key))) {
        d->votes += weight;
        d->candidate_weight += weight;
    } else if (d->votes > weight) {
        d->votes -= weight;
    } else {
        d->candidate = *key;
        d->votes = d->candidate_weight = weight;
    }
}

void tv_direction_end_minute(tv_direction *d)
{
    bool has_one =
        d->minute_weight && (double)d->candidate_weight >= 0.8 * (double)d->minute_weight;

    if (has_one) {
        int order = tv_slice_cmp(partition_of(&d->candidate), partition_of(&d->hot));

        d->hot_share = (double)d->candidate_weight / (double)d->minute_weight;
        if (d->hot.len && order) {
            d->changes_up = d->changes_up << 1 | (order > 0);
            if (d->changes < TV_DIRECTION_CHANGES)
                d->changes++;
        }
        d->hot = d->candidate;
    } else if (d->minute_weight) {
        d->hot_share = 0;
    }
    d->votes = d->candidate_weight = d->minute_weight = 0;
}

void tv_direction_add(tv_direction *d, const tv_kept_key *key, uint64_t weight, uint64_t client,
                      int64_t time_ns)
{
    if (d->first_ns == 0 || time_ns - d->last_ns > 60 * minute_ns) {
        d->first_ns = time_ns;
        d->clients = (tv_few_clients){0};
        begin_window(d, time_ns);
    }
    d->last_ns = time_ns;
    tv_few_clients_add(&d->clients, client);
    vote(d, key, weight);
    end_window_if_due(d, time_ns);
    d->weight += weight;
    if (d->seen >= TV_DIRECTION_SEEN_MIN)
        compare(d, key, weight);

    /* Each that has come has the same chance to be in it. */
    uint64_t at = d->seen < TV_DIRECTION_KEYS ? d->seen : next_random(d) % (d->seen + 1);

    if (at < TV_DIRECTION_KEYS) {
        d->keys[at] = *key;
        d->came[at] = d->seen;
    }
    d->seen++;
}
