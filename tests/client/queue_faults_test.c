/*
 * Queues over a network that cuts, delays and lies: what was done is never called failed, and what
 * failed never done, unless it is called UNKNOWN_OUTCOME.
 */
#include "clock.h"
#include "faults.h"
#include "service.h"

static struct {
    tavola_client *direct, *faulty, *hasty;
    tavola_queue *queue, *through; /* the same one, without and with faults */
    tavola_queue *patient_through, *hasty_through;
    tavola_call *call;
    tavola_message *message; /* that is worked on */
} f;

/* ---- what is done, and what came of it ------------------------------------------------------ */

static void prepare_empty(void)
{
    CHECK_OK(tavola_queue_create_if_absent(f.queue, NULL));
    CHECK_OK(tavola_queue_clear(f.queue, NULL));
}

static void prepare_message(void)
{
    prepare_empty();
    CHECK_OK(tavola_message_put(f.queue, "old", NULL));
    CHECK_OK(tavola_message_get(f.patient_through, 600, NULL, &f.message));
}

static tavola_err put(void)
{
    return tavola_message_put(f.through, "new", f.call);
}

/* How often it is there. */
static int count_messages(void)
{
    tavola_messages *messages = NULL;
    int count;

    CHECK_OK(tavola_messages_peek(f.queue, 32, NULL, &messages));
    count = (int)tavola_messages_count(messages);
    tavola_messages_free(messages);
    return count;
}

static tavola_err put_later(void)
{
    return tavola_message_put_later(f.through, "new", 600, 0, f.call, &f.message);
}

static int count_hidden(void)
{
    uint64_t count = 0;

    CHECK_OK(tavola_queue_count(f.queue, NULL, &count));
    if (f.message) /* what it returns is what was put */
        CHECK_OK(tavola_message_delete(f.queue, f.message, NULL));
    return (int)count;
}

static tavola_err update(void)
{
    return tavola_message_update(f.through, f.message, "new", TAVOLA_AT_ONCE, f.call);
}

static int is_updated(void)
{
    tavola_messages *messages = NULL;
    int is_new;

    CHECK_OK(tavola_messages_peek(f.queue, 1, NULL, &messages));
    is_new = tavola_messages_count(messages) == 1;
    if (is_new)
        CHECK_TEXT(tavola_message_text(tavola_messages_at(messages, 0)), "new");
    tavola_messages_free(messages);
    return is_new;
}

static tavola_err delete_message(void)
{
    return tavola_message_delete(f.through, f.message, f.call);
}

static int is_deleted(void)
{
    uint64_t count = 0;

    CHECK_OK(tavola_queue_count(f.queue, NULL, &count));
    return count == 0;
}

static tavola_err clear(void)
{
    return tavola_queue_clear(f.through, f.call);
}

static void prepare_none(void)
{
    CHECK_OK(tavola_queue_delete_if_present(f.queue, NULL));
}

static tavola_err create(void)
{
    return tavola_queue_create(f.through, f.call);
}

static int is_there(void)
{
    bool exists = false;

    CHECK_OK(tavola_queue_exists(f.queue, NULL, &exists));
    return exists;
}

static tavola_err drop(void)
{
    return tavola_queue_delete(f.through, f.call);
}

static int is_gone(void)
{
    return !is_there();
}

static const struct work {
    const char *name;
    void (*prepare)(void);
    tavola_err (*run)(void);
    int (*made)(void);      /* 1: once, 0: not; more: more often */
    tavola_err lost_answer; /* what it returns when just its first answer is lost */
} works[] = {
    {"put", prepare_empty, put, count_messages, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"put later", prepare_empty, put_later, count_hidden, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"update", prepare_message, update, is_updated, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"delete", prepare_message, delete_message, is_deleted, TAVOLA_OK},
    {"clear", prepare_message, clear, is_deleted, TAVOLA_OK},
    {"create queue", prepare_none, create, is_there, TAVOLA_OK},
    {"delete queue", prepare_empty, drop, is_gone, TAVOLA_OK},
};

/* ---- under faults --------------------------------------------------------------------------- */

static void run_work(const struct work *work, const char *fault)
{
    char label[200];

    snprintf(label, sizeof label, "%s: %s", work->name, fault ? fault : "none");
    t_row = label;
    f.message = NULL;
    f.through = fault && strncmp(fault, "hang", 4) == 0 ? f.hasty_through : f.patient_through;
    command("CLEAR", NULL);
    work->prepare();
    if (fault) {
        char line[200];

        snprintf(line, sizeof line, "PLAN %s", fault);
        command(line, NULL);
    }

    tavola_err err = work->run();

    command("SETTLE", NULL);

    int made = work->made();

    if (err == TAVOLA_OK ? made != 1 : err == TAVOLA_ERR_UNKNOWN_OUTCOME ? made > 1 : made != 0)
        CHECK_FAIL("%s (%s), and it was made %d times", tavola_err_name(err),
                   tavola_call_message(f.call), made);
    if (err == TAVOLA_ERR_UNKNOWN_OUTCOME)
        CHECK(tavola_call_message(f.call)[0] != '\0');
    if (fault == NULL)
        CHECK_ERR(err, TAVOLA_OK);
    else if (strcmp(fault, "cut_answer 0") == 0)
        CHECK_ERR(err, work->lost_answer);
    tavola_message_free(f.message);
    f.through = f.patient_through;
    t_row = "";
}

static const char *const faults[] = {
    NULL,
    "cut_answer 0",
    "cut_answer 0 fin",
    "cut_answer 20",
    "cut_answer 0 always",
    "cut_request 0",
    "cut_request 30",
    "cut_request 30 always",
    "cut_request 30 forward",
    "hang",
    "hang forward",
    "hang forward always",
    "status 500",
    "status 503 forward",
    "status 503 always",
    "status 503 forward always",
    "status 500 forward times 2",
    "status 403 error AuthenticationFailed",
    "garbage_head random:60",
    "wrong_length 5",
    "delay_answer 50",
};

TEST(nothing_is_called_what_it_is_not)
{
    for (size_t i = 0; i < COUNT_OF(works); i++) {
        for (size_t k = 0; k < COUNT_OF(faults); k++)
            run_work(&works[i], faults[k]);
    }
}

TEST(what_was_found_out_is_said)
{
    command("CLEAR", NULL);
    prepare_message();
    command("PLAN cut_answer 0", NULL);
    CHECK_OK(delete_message());
    CHECK(tavola_call_was_confirmed(f.call));
    CHECK_INT(tavola_call_attempts(f.call), 2);
    tavola_message_free(f.message);

    /* A message that others may have had is another matter. */
    prepare_message();

    tavola_message *kept =
        tavola_message_new(tavola_message_id(f.message), tavola_message_pop_receipt(f.message));

    command("PLAN cut_answer 0", NULL);
    CHECK_ERR(tavola_message_delete(f.through, kept, f.call), TAVOLA_ERR_UNKNOWN_OUTCOME);
    tavola_message_free(kept);
    tavola_message_free(f.message);

    prepare_none();
    command("PLAN cut_answer 0", NULL);
    CHECK_OK(create());
    CHECK(tavola_call_was_confirmed(f.call));
    CHECK_ERR(create(), TAVOLA_ERR_EXISTS);
    command("PLAN cut_answer 0", NULL);
    CHECK_OK(drop());
    CHECK(tavola_call_was_confirmed(f.call));
}

TEST(a_message_whose_answer_was_lost_is_hidden_and_comes_back)
{
    tavola_message *message = NULL;

    command("CLEAR", NULL);
    prepare_empty();
    CHECK_OK(tavola_message_put(f.queue, "job", NULL));
    command("PLAN cut_answer 0", NULL);
    CHECK_ERR(tavola_message_get(f.through, hidden_s(), f.call, &message), TAVOLA_END);
    pass_hidden();
    CHECK_OK(tavola_message_get(f.through, 600, f.call, &message));
    CHECK_INT(tavola_message_dequeue_count(message), 2);
    tavola_message_free(message);
}

TEST(an_update_that_did_not_arrive_is_made)
{
    command("CLEAR", NULL);
    prepare_message();
    command("PLAN cut_request 30", NULL);
    CHECK_OK(update());
    CHECK_INT(tavola_call_attempts(f.call), 2);
    tavola_message_free(f.message);
}

TEST(answers_that_cannot_be_read_are_told)
{
    static const char *const bodies[] = {
        "text:garbage",
        "text:",
        "text:<QueueMessagesList>",
        "random:200",
        "'text:<QueueMessagesList><QueueMessage><MessageId>a</MessageId></QueueMessage>"
        "</QueueMessagesList>'",
    };

    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        tavola_message *message = NULL;
        tavola_names *names = NULL;
        tavola_policies *policies = NULL;
        char line[300];

        t_row = bodies[i];
        snprintf(line, sizeof line, "PLAN garbage_body %s", bodies[i]);
        command("CLEAR", NULL);
        prepare_empty();
        CHECK_OK(tavola_message_put(f.queue, "a", NULL));
        command(line, NULL);
        CHECK_ERR(tavola_message_get(f.through, 1, f.call, &message), TAVOLA_ERR_PROTOCOL);
        CHECK(tavola_call_message(f.call)[0] != '\0');
        command(line, NULL);
        CHECK_ERR(tavola_queue_list(f.faulty, NULL, f.call, &names), TAVOLA_ERR_PROTOCOL);
        command(line, NULL);
        CHECK_ERR(tavola_queue_get_policies(f.through, f.call, &policies), TAVOLA_ERR_PROTOCOL);

        /* The message is there, whatever its answer says. */
        command(line, NULL);
        CHECK_ERR(put_later(), TAVOLA_ERR_PROTOCOL);
        command(line, NULL);
        CHECK_OK(put());
    }
}

static int open_faults(void **state)
{
    enum { HASTE_MS = 100 };
    char name[NAME_SIZE];

    start_faults(state);
    t.call = f.call = tavola_call_new(); /* what it says goes into failures */
    f.direct = open_client();
    f.faulty = open_through(0);
    f.hasty = open_through(HASTE_MS);
    make_name(name, "faults");
    CHECK_OK(tavola_queue_open(f.direct, name, &f.queue));
    CHECK_OK(tavola_queue_open(f.faulty, name, &f.patient_through));
    CHECK_OK(tavola_queue_open(f.hasty, name, &f.hasty_through));
    f.through = f.patient_through;
    return 0;
}

static int close_faults(void **state)
{
    (void)state;
    CHECK_OK(tavola_queue_delete_if_present(f.queue, NULL));
    tavola_queue_close(f.queue);
    tavola_queue_close(f.patient_through);
    tavola_queue_close(f.hasty_through);
    tavola_client_close(f.direct);
    tavola_client_close(f.faulty);
    tavola_client_close(f.hasty);
    tavola_call_free(f.call);
    stop_faults(state);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_called_what_it_is_not),
        cmocka_unit_test(what_was_found_out_is_said),
        cmocka_unit_test(a_message_whose_answer_was_lost_is_hidden_and_comes_back),
        cmocka_unit_test(an_update_that_did_not_arrive_is_made),
        cmocka_unit_test(answers_that_cannot_be_read_are_told),
    };

    return cmocka_run_group_tests(tests, open_faults, close_faults);
}
