/* A handful of names under a lock: points are met a few times a second, and only in tests. */
#include "base/point.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { POINTS_MAX = 64 };

typedef struct point {
    char name[TV_POINT_NAME_SIZE]; /* without the star */
    bool is_prefix;
    tv_point_action action;
    int64_t ms;
    uint64_t times; /* 0: always */
    uint64_t met;
} point;

bool tv_points_are_on;
tv_err (*tv_point_hook)(const char *at);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static point points[POINTS_MAX];
static size_t count;

void tv_points_enable(void)
{
    tv_points_are_on = true;
}

/* With the lock held. */
static point *find(tv_slice name, bool is_prefix)
{
    for (size_t i = 0; i < count; i++)
        if (points[i].is_prefix == is_prefix && tv_slice_eq(tv_slice_of(points[i].name), name))
            return &points[i];
    return NULL;
}

static bool take_star(tv_slice *name)
{
    bool has_star = name->len && name->data[name->len - 1] == '*';

    if (has_star)
        name->len--;
    return has_star;
}

bool tv_point_set(tv_slice at, tv_point_action action, int64_t ms, uint64_t times)
{
    bool is_prefix = take_star(&at), is_set = false;

    if (!tv_points_are_on || at.len >= TV_POINT_NAME_SIZE)
        return false;
    pthread_mutex_lock(&lock);

    point *slot = find(at, is_prefix);

    if (!slot && count < POINTS_MAX)
        slot = &points[count++];
    if (slot) {
        *slot = (point){.is_prefix = is_prefix, .action = action, .ms = ms, .times = times};
        memcpy(slot->name, at.data, at.len);
        is_set = true;
    }
    pthread_mutex_unlock(&lock);
    return is_set;
}

void tv_point_clear(void)
{
    pthread_mutex_lock(&lock);
    count = 0;
    pthread_mutex_unlock(&lock);
}

uint64_t tv_point_met(tv_slice at)
{
    bool is_prefix = take_star(&at);

    pthread_mutex_lock(&lock);

    const point *slot = find(at, is_prefix);
    uint64_t met = slot ? slot->met : 0;

    pthread_mutex_unlock(&lock);
    return met;
}

bool tv_point_action_parse(tv_slice name, tv_point_action *ret_action)
{
    static const char *const names[] = {"exit", "pause", "fail", "count"};

    for (int i = 0; i < 4; i++) {
        if (!tv_slice_eq(name, tv_slice_of(names[i])))
            continue;
        *ret_action = (tv_point_action)i;
        return true;
    }
    return false;
}

/* The first that is for this place and not used up. */
static bool take(tv_slice at, point *ret_point)
{
    bool is_taken = false;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && !is_taken; i++) {
        tv_slice name = tv_slice_of(points[i].name);

        if (!(points[i].is_prefix ? tv_slice_starts_with(at, name) : tv_slice_eq(at, name)))
            continue;
        points[i].met++;
        is_taken = points[i].times == 0 || points[i].met <= points[i].times;
        *ret_point = points[i];
    }
    pthread_mutex_unlock(&lock);
    return is_taken;
}

tv_err tv_point_reached(const char *at)
{
    point met;

    if (tv_point_hook)
        return tv_point_hook(at);
    if (!take(tv_slice_of(at), &met))
        return TV_OK;
    switch (met.action) {
    case TV_POINT_EXIT:
        fprintf(stderr, "tavolad: ended at the pressure point %s\n", at);
        _exit(9);
    case TV_POINT_PAUSE:
        nanosleep(&(struct timespec){met.ms / 1000, met.ms % 1000 * 1000000}, NULL);
        return TV_OK;
    case TV_POINT_FAIL:
        return TV_ERR_STOPPED;
    case TV_POINT_COUNT:
        break;
    }
    return TV_OK;
}
