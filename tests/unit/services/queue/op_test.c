/* What a request asks of the queue service: paths, methods, comp. */
#include "services/queue/call.h"

#include "check.h"
#include "requests.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tv_arena arena;

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_arena_done(&arena);
    return 0;
}

/* --- paths --- */

TEST(paths_name_the_service_a_queue_its_messages_or_one_of_them)
{
    static const struct {
        const char *rest;
        tv_err err;
        const char *queue;
        bool is_messages;
        const char *message;
    } rows[] = {
        {"", TV_OK, "", false, ""},
        {"jobs", TV_OK, "jobs", false, ""},
        {"jobs/", TV_OK, "jobs", false, ""},
        {"j%6Fbs", TV_OK, "jobs", false, ""},
        {"Jobs", TV_OK, "Jobs", false, ""},
        {"jobs/messages", TV_OK, "jobs", true, ""},
        {"jobs/messages/", TV_OK, "jobs", true, ""},
        {"jobs/Messages", TV_OK, "jobs", true, ""},
        {"jobs/MESSAGES/1", TV_OK, "jobs", true, "1"},
        {"jobs/%6dessages/a%20b", TV_OK, "jobs", true, "a b"},
        {"jobs%2Fmessages", TV_OK, "jobs/messages", false, ""},
        {"jobs%2fmessages/messages/a%2Fb", TV_OK, "jobs/messages", true, "a/b"},
        {"jobs/messages%2Fa", TV_ERR_INVALID_URI, "", false, ""},
        {"jobs/messages/1/", TV_OK, "jobs", true, "1"},
        {"jobs/message", TV_ERR_INVALID_URI, "", false, ""},
        {"jobs/messagesx", TV_ERR_INVALID_URI, "", false, ""},
        {"jobs/messages/1/2", TV_ERR_INVALID_URI, "", false, ""},
        {"/messages", TV_ERR_INVALID_URI, "", false, ""},
        {"jobs%zz", TV_ERR_URL_UNPARSABLE, "", false, ""},
        {"jobs%", TV_ERR_URL_UNPARSABLE, "", false, ""},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_queue_resource resource;

        t_row = rows[i].rest;
        CHECK_ERR(tv_queue_resource_parse(&arena, tv_slice_of(rows[i].rest), &resource),
                  rows[i].err);
        if (rows[i].err)
            continue;
        CHECK_TEXT(resource.queue, rows[i].queue);
        CHECK_INT(resource.is_messages, rows[i].is_messages);
        CHECK_TEXT(resource.message, rows[i].message);
    }
}

/* --- methods --- */

static tv_err parse(const char *method, const char *target, tv_queue_op *ret_op)
{
    tv_service service = {.spec = &tv_queue_spec};
    tv_request request = request_new(&arena, method, target, "");
    tv_queue_call q = {0};
    tv_err err;

    request.arena = arena;
    tv_call_init(&q.base, &service, &request);
    q.base.endpoint = request_endpoint(&request.arena, &request);
    CHECK_OK(tv_queue_spec.read_path(&q.base));
    err = tv_call_choose(&q.base);
    *ret_op = (tv_queue_op)tv_call_kind(&q.base);
    arena = request.arena;
    return err;
}

static const char *const methods[] = {"GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "BREW"};

/* Kinds; where there is none, the method is not for that resource. */
TEST(a_resource_has_its_methods)
{
    static const struct {
        const char *target;
        tv_queue_op kinds[COUNT(methods) - 1];
    } rows[] = {
        {"?comp=list", {TV_QUEUE_OP_LIST}},
        {"?comp=list&prefix=a", {TV_QUEUE_OP_LIST}},
        {"?restype=service&comp=properties",
         {TV_QUEUE_OP_GET_PROPERTIES, 0, TV_QUEUE_OP_SET_PROPERTIES}},
        {"?comp=stats&restype=service", {TV_QUEUE_OP_GET_STATS}},
        {"jobs", {0, 0, TV_QUEUE_OP_CREATE, 0, TV_QUEUE_OP_DELETE}},
        {"jobs?timeout=30", {0, 0, TV_QUEUE_OP_CREATE, 0, TV_QUEUE_OP_DELETE}},
        {"jobs?comp=", {0, 0, TV_QUEUE_OP_CREATE, 0, TV_QUEUE_OP_DELETE}},
        {"jobs?comp=metadata",
         {TV_QUEUE_OP_GET_METADATA, TV_QUEUE_OP_GET_METADATA, TV_QUEUE_OP_SET_METADATA}},
        {"jobs?comp=acl", {TV_QUEUE_OP_GET_ACL, TV_QUEUE_OP_GET_ACL, TV_QUEUE_OP_SET_ACL}},
        {"jobs?comp=%61cl", {TV_QUEUE_OP_GET_ACL, TV_QUEUE_OP_GET_ACL, TV_QUEUE_OP_SET_ACL}},
        {"jobs/messages", {TV_QUEUE_OP_GET, 0, 0, TV_QUEUE_OP_PUT, TV_QUEUE_OP_CLEAR}},
        {"jobs/messages?peekonly=false",
         {TV_QUEUE_OP_GET, 0, 0, TV_QUEUE_OP_PUT, TV_QUEUE_OP_CLEAR}},
        {"jobs/messages?peekonly=true",
         {TV_QUEUE_OP_PEEK, 0, 0, TV_QUEUE_OP_PUT, TV_QUEUE_OP_CLEAR}},
        {"jobs/messages?peekonly=True&numofmessages=2",
         {TV_QUEUE_OP_PEEK, 0, 0, TV_QUEUE_OP_PUT, TV_QUEUE_OP_CLEAR}},
        {"jobs/messages/1", {0, 0, TV_QUEUE_OP_UPDATE, 0, TV_QUEUE_OP_DELETE_MESSAGE}},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        for (size_t m = 0; m < COUNT(methods); m++) {
            bool is_verb = m + 1 < COUNT(methods);
            tv_queue_op want = is_verb ? rows[i].kinds[m] : TV_QUEUE_OP_UNKNOWN, kind;
            tv_err err = parse(methods[m], rows[i].target, &kind);

            t_row = rows[i].target;
            if (want) {
                CHECK_OK(err);
                CHECK_TEXT(tv_slice_of(tv_queue_spec.ops[kind].name), tv_queue_spec.ops[want].name);
            } else {
                CHECK_ERR(err, is_verb ? TV_ERR_UNSUPPORTED_VERB : TV_ERR_INVALID_VERB);
            }
        }
    }
}

TEST(parameters_that_choose_nothing_are_refused)
{
    static const struct {
        const char *target;
        tv_err err;
    } rows[] = {
        {"", TV_ERR_INVALID_QUERY_PARAMETER},
        {"?comp=lists", TV_ERR_INVALID_QUERY_PARAMETER},
        {"?comp=List", TV_ERR_INVALID_QUERY_PARAMETER},
        {"?comp=properties", TV_ERR_INVALID_QUERY_PARAMETER},
        {"?comp=properties&restype=container", TV_ERR_INVALID_QUERY_PARAMETER},
        {"?comp=list&restype=service", TV_ERR_INVALID_QUERY_PARAMETER},
        {"jobs?comp=lease", TV_ERR_INVALID_QUERY_PARAMETER},
        {"jobs/messages?comp=metadata", TV_ERR_INVALID_QUERY_PARAMETER},
        {"jobs/messages/1?comp=metadata", TV_ERR_INVALID_QUERY_PARAMETER},
        {"jobs/messages?peekonly=", TV_ERR_INVALID_QUERY_PARAMETER},
        {"jobs/messages?peekonly=1", TV_ERR_INVALID_QUERY_PARAMETER},
        {"jobs?comp=%zz", TV_ERR_URL_UNPARSABLE},
        {"jobs/messages?peekonly=%", TV_ERR_URL_UNPARSABLE},
    };
    tv_queue_op kind;

    for (size_t i = 0; i < COUNT(rows); i++) {
        t_row = rows[i].target;
        CHECK_ERR(parse("GET", rows[i].target, &kind), rows[i].err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(paths_name_the_service_a_queue_its_messages_or_one_of_them,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_resource_has_its_methods, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parameters_that_choose_nothing_are_refused, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests_name("queue/op", tests, NULL, NULL);
}
