/* The service's tables of what lease operations, writes and reads do in each state. */
#include "services/blob/store/lease.h"

#include "base/clock.h"
#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define NOW INT64_C(639029198450000000)
#define IN(seconds) (NOW + (seconds)*TV_TICKS_PER_SECOND)

static tv_guid guid_of(char letter)
{
    tv_guid guid;

    memset(guid.bytes, letter, sizeof guid.bytes);
    return guid;
}

/* A lease A in a state; a fixed one has 10 seconds left. */
static tv_lease lease_in(tv_lease_state state)
{
    switch (state) {
    case TV_LEASE_LEASED:
        return (tv_lease){TV_LEASE_LEASED, guid_of('A'), 15, IN(10)};
    case TV_LEASE_EXPIRED:
        return (tv_lease){TV_LEASE_LEASED, guid_of('A'), 15, IN(0)};
    case TV_LEASE_BREAKING:
        return (tv_lease){TV_LEASE_BREAKING, guid_of('A'), 0, IN(10)};
    case TV_LEASE_BROKEN:
        return (tv_lease){TV_LEASE_BREAKING, guid_of('A'), 0, IN(-1)};
    default:
        return (tv_lease){0};
    }
}

static const tv_lease_state states[] = {TV_LEASE_AVAILABLE, TV_LEASE_LEASED, TV_LEASE_BREAKING,
                                        TV_LEASE_BROKEN, TV_LEASE_EXPIRED};

/* The result of an operation: an error, or a state and the letter of the id. */
typedef struct outcome {
    tv_err err;
    tv_lease_state state;
    char id;
} outcome;

#define LEASED(letter)                                                                             \
    {                                                                                              \
        TV_OK, TV_LEASE_LEASED, letter                                                             \
    }
#define AVAILABLE                                                                                  \
    {                                                                                              \
        TV_OK, TV_LEASE_AVAILABLE, 0                                                               \
    }
#define BREAKING                                                                                   \
    {                                                                                              \
        TV_OK, TV_LEASE_BREAKING, 'A'                                                              \
    }
#define BROKEN                                                                                     \
    {                                                                                              \
        TV_OK, TV_LEASE_BROKEN, 'A'                                                                \
    }
#define FAILS(name)                                                                                \
    {                                                                                              \
        TV_ERR_##name, 0, 0                                                                        \
    }

typedef struct lease_row {
    const char *name;
    tv_lease_action action;
    char id, proposed; /* 0 for none */
    int32_t period;
    outcome outcomes[COUNT(states)]; /* in the order of `states` */
} lease_row;

/* clang-format off */
static const lease_row rows[] = {
    {"acquire", TV_LEASE_ACQUIRE, 0, 0, 0,
     {LEASED('X'), FAILS(LEASE_PRESENT), FAILS(LEASE_PRESENT), LEASED('X'), LEASED('X')}},
    {"acquire A", TV_LEASE_ACQUIRE, 0, 'A', 0,
     {LEASED('A'), LEASED('A'), FAILS(LEASE_BREAKING_ACQUIRE), LEASED('A'), LEASED('A')}},
    {"acquire B", TV_LEASE_ACQUIRE, 0, 'B', 0,
     {LEASED('B'), FAILS(LEASE_PRESENT), FAILS(LEASE_PRESENT), LEASED('B'), LEASED('B')}},
    {"break 0", TV_LEASE_BREAK, 0, 0, 0,
     {FAILS(LEASE_OP_NOT_PRESENT), BROKEN, BROKEN, BROKEN, BROKEN}},
    {"break 5", TV_LEASE_BREAK, 0, 0, 5,
     {FAILS(LEASE_OP_NOT_PRESENT), BREAKING, BREAKING, BROKEN, BROKEN}},
    {"break", TV_LEASE_BREAK, 0, 0, TV_LEASE_NO_PERIOD,
     {FAILS(LEASE_OP_NOT_PRESENT), BREAKING, BREAKING, BROKEN, BROKEN}},
    {"change A to B", TV_LEASE_CHANGE, 'A', 'B', 0,
     {FAILS(LEASE_OP_NOT_PRESENT), LEASED('B'), FAILS(LEASE_BREAKING_CHANGE),
      FAILS(LEASE_OP_NOT_PRESENT), FAILS(LEASE_OP_NOT_PRESENT)}},
    {"change B to A", TV_LEASE_CHANGE, 'B', 'A', 0,
     {FAILS(LEASE_OP_NOT_PRESENT), LEASED('A'), FAILS(LEASE_BREAKING_CHANGE),
      FAILS(LEASE_OP_NOT_PRESENT), FAILS(LEASE_OP_NOT_PRESENT)}},
    {"change B to C", TV_LEASE_CHANGE, 'B', 'C', 0,
     {FAILS(LEASE_OP_NOT_PRESENT), FAILS(LEASE_OP_ID_MISMATCH), FAILS(LEASE_OP_ID_MISMATCH),
      FAILS(LEASE_OP_NOT_PRESENT), FAILS(LEASE_OP_NOT_PRESENT)}},
    {"renew A", TV_LEASE_RENEW, 'A', 0, 0,
     {FAILS(LEASE_OP_ID_MISMATCH), LEASED('A'), FAILS(LEASE_BROKEN_RENEW),
      FAILS(LEASE_BROKEN_RENEW), LEASED('A')}},
    {"renew B", TV_LEASE_RENEW, 'B', 0, 0,
     {FAILS(LEASE_OP_ID_MISMATCH), FAILS(LEASE_OP_ID_MISMATCH), FAILS(LEASE_OP_ID_MISMATCH),
      FAILS(LEASE_OP_ID_MISMATCH), FAILS(LEASE_OP_ID_MISMATCH)}},
    {"release A", TV_LEASE_RELEASE, 'A', 0, 0,
     {FAILS(LEASE_OP_ID_MISMATCH), AVAILABLE, AVAILABLE, AVAILABLE, AVAILABLE}},
    {"release B", TV_LEASE_RELEASE, 'B', 0, 0,
     {FAILS(LEASE_OP_ID_MISMATCH), FAILS(LEASE_OP_ID_MISMATCH), FAILS(LEASE_OP_ID_MISMATCH),
      FAILS(LEASE_OP_ID_MISMATCH), FAILS(LEASE_OP_ID_MISMATCH)}},
};
/* clang-format on */

TEST(lease_operations_do_what_the_table_of_the_service_says)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        const lease_row *row = &rows[i];
        tv_lease_request request = {
            .action = row->action,
            .id = guid_of(row->id),
            .proposed = guid_of(row->proposed ? row->proposed : 'X'),
            .has_proposed = row->proposed != 0,
            .duration_s = 30,
            .break_period_s = row->period,
        };

        for (size_t j = 0; j < COUNT(states); j++) {
            const outcome *want = &row->outcomes[j];
            tv_lease before = lease_in(states[j]), lease = before;
            int32_t seconds = -7;

            t_row = row->name;
            CHECK_INT(tv_lease_state_at(&lease, NOW), states[j]);
            CHECK_ERR(tv_lease_apply(&lease, &request, NOW, &seconds), want->err);
            if (want->err) {
                CHECK(memcmp(&before, &lease, sizeof lease) == 0);
                continue;
            }
            CHECK_INT(tv_lease_state_at(&lease, NOW), want->state);
            if (want->id)
                CHECK_INT(lease.id.bytes[0], want->id);
            if (row->action == TV_LEASE_BREAK && want->state == TV_LEASE_BREAKING)
                CHECK_INT(seconds, row->period == TV_LEASE_NO_PERIOD ? 10 : row->period);
            else
                CHECK_INT(seconds, 0);
        }
    }
}

TEST(time_and_durations)
{
    tv_lease_request acquire = {
        .action = TV_LEASE_ACQUIRE, .proposed = guid_of('A'), .duration_s = 15};
    tv_lease_request renew = {.action = TV_LEASE_RENEW, .id = guid_of('A')};
    tv_lease_request end = {.action = TV_LEASE_BREAK, .break_period_s = 60};
    tv_lease lease = {0};
    int32_t seconds;

    CHECK_OK(tv_lease_apply(&lease, &acquire, NOW, &seconds));
    CHECK_INT(tv_lease_state_at(&lease, IN(15) - 1), TV_LEASE_LEASED);
    CHECK_INT(tv_lease_state_at(&lease, IN(15)), TV_LEASE_EXPIRED);
    CHECK_OK(tv_lease_apply(&lease, &renew, IN(20), &seconds));
    CHECK_INT(tv_lease_state_at(&lease, IN(35) - 1), TV_LEASE_LEASED);
    CHECK_INT(tv_lease_state_at(&lease, IN(35)), TV_LEASE_EXPIRED);

    /* A fixed lease never breaks later than it would have ended. */
    CHECK_OK(tv_lease_apply(&lease, &end, IN(30), &seconds));
    CHECK_INT(seconds, 5);
    CHECK_INT(tv_lease_state_at(&lease, IN(35) - 1), TV_LEASE_BREAKING);
    CHECK_INT(tv_lease_state_at(&lease, IN(35)), TV_LEASE_BROKEN);

    /* An infinite one lasts until it is broken: at once unless a period is given. */
    acquire.duration_s = TV_LEASE_INFINITE;
    CHECK_OK(tv_lease_apply(&lease, &acquire, IN(40), &seconds));
    CHECK_INT(tv_lease_state_at(&lease, TV_TICKS_MAX), TV_LEASE_LEASED);
    CHECK_OK(tv_lease_apply(&lease, &end, IN(40), &seconds));
    CHECK_INT(seconds, 60);
    end.break_period_s = 20;
    CHECK_OK(tv_lease_apply(&lease, &end, IN(50), &seconds));
    CHECK_INT(seconds, 20);
    end.break_period_s = 60;
    CHECK_OK(tv_lease_apply(&lease, &end, IN(60) + 1, &seconds));
    CHECK_INT(seconds, 10);
    CHECK_OK(tv_lease_apply(&lease, &acquire, IN(70), &seconds));
    end.break_period_s = TV_LEASE_NO_PERIOD;
    CHECK_OK(tv_lease_apply(&lease, &end, IN(70), &seconds));
    CHECK_INT(seconds, 0);
    CHECK_INT(tv_lease_state_at(&lease, IN(70)), TV_LEASE_BROKEN);
}

/* clang-format off */
TEST(writes_and_reads_do_what_the_table_of_the_service_says)
{
    static const struct {
        const char *name;
        char id;
        bool is_write;
        tv_err errs[COUNT(states)];
    } uses[] = {
        {"write A", 'A', true, {TV_ERR_LEASE_NOT_PRESENT, TV_OK, TV_OK, TV_ERR_LEASE_LOST, TV_ERR_LEASE_LOST}},
        {"write B", 'B', true, {TV_ERR_LEASE_NOT_PRESENT, TV_ERR_LEASE_ID_MISMATCH, TV_ERR_LEASE_ID_MISMATCH, TV_ERR_LEASE_ID_MISMATCH, TV_ERR_LEASE_ID_MISMATCH}},
        {"write", 0, true, {TV_OK, TV_ERR_LEASE_ID_MISSING, TV_ERR_LEASE_ID_MISSING, TV_OK, TV_OK}},
        {"read A", 'A', false, {TV_ERR_LEASE_NOT_PRESENT, TV_OK, TV_OK, TV_ERR_LEASE_LOST, TV_ERR_LEASE_LOST}},
        {"read B", 'B', false, {TV_ERR_LEASE_NOT_PRESENT, TV_ERR_LEASE_ID_MISMATCH, TV_ERR_LEASE_ID_MISMATCH, TV_ERR_LEASE_ID_MISMATCH, TV_ERR_LEASE_ID_MISMATCH}},
        {"read", 0, false, {TV_OK, TV_OK, TV_OK, TV_OK, TV_OK}},
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT(uses); i++) {
        tv_guid id = guid_of(uses[i].id);

        for (size_t j = 0; j < COUNT(states); j++) {
            tv_lease lease = lease_in(states[j]);
            const tv_guid *sent = uses[i].id ? &id : NULL;

            t_row = uses[i].name;
            CHECK_ERR(uses[i].is_write ? tv_lease_check_write(&lease, sent, NOW)
                                       : tv_lease_check_read(&lease, sent, NOW),
                      uses[i].errs[j]);
        }
    }
}

/* A change makes an unlocked lease available and leaves a locked one alone. */
TEST(a_write_ends_a_lease_that_no_longer_locks)
{
    for (size_t i = 0; i < COUNT(states); i++) {
        tv_lease lease = lease_in(states[i]);
        bool is_locked = states[i] == TV_LEASE_LEASED || states[i] == TV_LEASE_BREAKING;

        tv_lease_note_write(&lease, NOW);
        CHECK_INT(tv_lease_state_at(&lease, NOW), is_locked ? states[i] : TV_LEASE_AVAILABLE);
        CHECK_TEXT(tv_lease_status_text(states[i]), is_locked ? "locked" : "unlocked");
    }
    CHECK_TEXT(tv_lease_state_text(TV_LEASE_AVAILABLE), "available");
    CHECK_TEXT(tv_lease_state_text(TV_LEASE_LEASED), "leased");
    CHECK_TEXT(tv_lease_state_text(TV_LEASE_EXPIRED), "expired");
    CHECK_TEXT(tv_lease_state_text(TV_LEASE_BREAKING), "breaking");
    CHECK_TEXT(tv_lease_state_text(TV_LEASE_BROKEN), "broken");
}

TEST(containers_have_their_own_words)
{
    CHECK_ERR(tv_lease_error_for_container(TV_OK), TV_OK);
    CHECK_ERR(tv_lease_error_for_container(TV_ERR_LEASE_PRESENT), TV_ERR_LEASE_PRESENT);
    CHECK_ERR(tv_lease_error_for_container(TV_ERR_LEASE_LOST), TV_ERR_CONTAINER_LEASE_LOST);
    CHECK_ERR(tv_lease_error_for_container(TV_ERR_LEASE_OP_NOT_PRESENT),
              TV_ERR_CONTAINER_LEASE_OP_NOT_PRESENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lease_operations_do_what_the_table_of_the_service_says),
        cmocka_unit_test(time_and_durations),
        cmocka_unit_test(writes_and_reads_do_what_the_table_of_the_service_says),
        cmocka_unit_test(a_write_ends_a_lease_that_no_longer_locks),
        cmocka_unit_test(containers_have_their_own_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
