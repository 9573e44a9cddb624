/*
 * Blobs over a network that cuts, delays and lies: what was done is never called failed, and what
 * failed never done, unless it is called UNKNOWN_OUTCOME; and no byte comes twice.
 */
#include "faults.h"
#include "service.h"

enum { LARGE = (4 << 20) + 100 }; /* two pieces, two blocks */

static struct {
    tavola_client *direct, *faulty, *hasty; /* without, and with faults; with little time */
    tavola_container *container, *patient_through, *hasty_through; /* the same one, by each */
    tavola_container *through;                                     /* one of the two */
    tavola_call *call;
    char etag[100];       /* of the blob that is worked on */
    unsigned char *large; /* of LARGE bytes */
} f;

/* ---- what is done, and what came of it ------------------------------------------------------ */

static void prepare_none(void)
{
    CHECK_OK(tavola_blob_delete_if_present(f.container, "b", NULL));
}

static void prepare_old(void)
{
    prepare_none();
    CHECK_OK(tavola_blob_put(f.container, "b", "old", 3, NULL, f.call));
    snprintf(f.etag, sizeof f.etag, "%s", tavola_call_etag(f.call));
}

static tavola_err put(void)
{
    return tavola_blob_put(f.through, "b", "new", 3, NULL, f.call);
}

static tavola_err put_absent(void)
{
    tavola_blob_options options = {.struct_size = sizeof options, .if_absent = true};

    return tavola_blob_put(f.through, "b", "new", 3, &options, f.call);
}

static tavola_err put_match(void)
{
    tavola_blob_options options = {.struct_size = sizeof options, .if_match = f.etag};

    return tavola_blob_put(f.through, "b", "new", 3, &options, f.call);
}

/* What the blob is; NULL: there is none. */
static char *content(size_t *ret_size)
{
    void *data = NULL;
    tavola_err err = tavola_blob_get(f.container, "b", SIZE_MAX, NULL, &data, ret_size);

    if (err != TAVOLA_ERR_NOT_FOUND)
        CHECK_OK(err);
    return data;
}

static int is_new(void)
{
    size_t size = 0;
    char *data = content(&size);
    bool is_there = data != NULL, is_new = is_there && strcmp(data, "new") == 0;

    CHECK(!is_there || is_new || strcmp(data, "old") == 0);
    tavola_free(data);
    return is_new;
}

typedef struct stream {
    size_t at;
} stream;

static bool give(void *user, void *to, size_t size, size_t *ret_len)
{
    stream *from = user;
    size_t left = LARGE - from->at;

    *ret_len = left < size ? left : size;
    memcpy(to, f.large + from->at, *ret_len);
    from->at += *ret_len;
    return true;
}

static tavola_err write_blocks(void)
{
    stream from = {0};

    return tavola_blob_write(f.through, "b", give, &from, NULL, f.call);
}

static tavola_err write_match(void)
{
    tavola_blob_options options = {.struct_size = sizeof options, .if_match = f.etag};
    stream from = {0};

    return tavola_blob_write(f.through, "b", give, &from, &options, f.call);
}

static int is_large(void)
{
    size_t size = 0;
    char *data = content(&size);
    bool is_new = size == LARGE;

    CHECK(is_new ? memcmp(data, f.large, LARGE) == 0 : strcmp(data, "old") == 0);
    tavola_free(data);
    return is_new;
}

static tavola_err delete_blob(void)
{
    return tavola_blob_delete(f.through, "b", NULL, f.call);
}

static tavola_err delete_match(void)
{
    return tavola_blob_delete(f.through, "b", f.etag, f.call);
}

static int is_gone(void)
{
    bool exists = true;

    CHECK_OK(tavola_blob_exists(f.container, "b", NULL, &exists));
    return !exists;
}

static tavola_err create_append(void)
{
    tavola_blob_options options = {.struct_size = sizeof options, .if_absent = true};

    return tavola_blob_create_append(f.through, "b", &options, f.call);
}

static int is_there(void)
{
    return !is_gone();
}

static void prepare_log(void)
{
    prepare_none();
    CHECK_OK(tavola_blob_create_append(f.container, "b", NULL, NULL));
    CHECK_OK(tavola_blob_append(f.container, "b", "one ", 4, NULL, NULL));
}

static tavola_err append(void)
{
    return tavola_blob_append(f.through, "b", "two ", 4, f.call, NULL);
}

static tavola_err append_at(void)
{
    return tavola_blob_append_at(f.through, "b", 4, "two ", 4, f.call);
}

static int count_appended(void)
{
    size_t size = 0;
    char *data = content(&size);

    CHECK(size % 4 == 0 && size >= 4 && memcmp(data, "one ", 4) == 0);
    for (size_t i = 4; i < size; i += 4)
        CHECK(memcmp(data + i, "two ", 4) == 0);
    tavola_free(data);
    return (int)(size / 4) - 1;
}

static const struct work {
    const char *name;
    void (*prepare)(void);
    tavola_err (*run)(void);
    int (*made)(void); /* 1: once, 0: not; more: more often */
    int requests;      /* each of them meets each of the faults */
} works[] = {
    {"put", prepare_old, put, is_new, 1},
    {"put if absent", prepare_none, put_absent, is_new, 1},
    {"put if match", prepare_old, put_match, is_new, 1},
    {"write", prepare_old, write_blocks, is_large, 3},
    {"write if match", prepare_old, write_match, is_large, 3},
    {"delete", prepare_old, delete_blob, is_gone, 1},
    {"delete if match", prepare_old, delete_match, is_gone, 1},
    {"create append blob", prepare_none, create_append, is_there, 1},
    {"append", prepare_log, append, count_appended, 2},
    {"append at", prepare_log, append_at, count_appended, 1},
};

/* ---- under faults --------------------------------------------------------------------------- */

/* What hangs is given up soon; all else has time, however busy the machine is. */
static void plan_fault(const char *line)
{
    command("CLEAR", NULL);
    command(line, NULL);
    f.through = strncmp(line, "PLAN hang", 9) == 0 ? f.hasty_through : f.patient_through;
}

static void run_work(const struct work *work, const char *fault, int request)
{
    char label[200], line[200];

    snprintf(label, sizeof label, "%s: %s on %d", work->name, fault, request);
    snprintf(line, sizeof line, "PLAN %s on %d", fault, request);
    t_row = label;
    work->prepare();
    plan_fault(line);

    tavola_err err = work->run();

    command("SETTLE", NULL);

    int made = work->made();

    if (err == TAVOLA_OK ? made != 1 : err == TAVOLA_ERR_UNKNOWN_OUTCOME ? made > 1 : made != 0)
        CHECK_FAIL("%s (%s), and it was made %d times", tavola_err_name(err),
                   tavola_call_message(f.call), made);
    if (err == TAVOLA_ERR_UNKNOWN_OUTCOME)
        CHECK(tavola_call_message(f.call)[0] != '\0');

    /* One lost answer is always found out about. */
    if (strcmp(fault, "cut_answer 0") == 0 || strcmp(fault, "status 503 forward") == 0)
        CHECK_ERR(err, TAVOLA_OK);
    t_row = "";
}

static const char *const faults[] = {
    "delay_answer 10",
    "cut_answer 0",
    "cut_answer 0 fin",
    "cut_answer 20",
    "cut_answer 0 times 2",
    "cut_answer 0 times 20",
    "cut_request 0",
    "cut_request 300",
    "cut_request 30 times 20",
    "cut_request 300 forward",
    "hang",
    "hang forward",
    "status 500",
    "status 503 forward",
    "status 503 times 20",
    "status 503 forward times 20",
    "status 500 forward times 2",
    "status 403 error AuthenticationFailed",
    "garbage_head random:60",
    "wrong_length 5",
};

TEST(nothing_is_called_what_it_is_not)
{
    for (size_t i = 0; i < COUNT_OF(works); i++) {
        for (size_t k = 0; k < COUNT_OF(faults); k++) {
            for (int request = 1; request <= works[i].requests; request++)
                run_work(&works[i], faults[k], request);
        }
    }
}

TEST(what_was_found_out_is_said)
{
    static const struct {
        const char *label;
        void (*prepare)(void);
        tavola_err (*run)(void);
        const char *fault;
    } cases[] = {
        {"put if absent", prepare_none, put_absent, "PLAN cut_answer 0"},
        {"put if match", prepare_old, put_match, "PLAN cut_answer 0"},
        {"put, never answered", prepare_old, put, "PLAN cut_answer 0 match PUT always"},
        {"write if match", prepare_old, write_match, "PLAN cut_answer 0 on 3"},
        {"delete", prepare_old, delete_blob, "PLAN cut_answer 0"},
        {"delete, never answered", prepare_old, delete_blob,
         "PLAN cut_answer 0 match DELETE always"},
        {"create append blob", prepare_none, create_append, "PLAN cut_answer 0"},
        {"append", prepare_log, append, "PLAN cut_answer 0 on 2"},
        {"append at", prepare_log, append_at, "PLAN cut_answer 0"},
        {"append, never answered", prepare_log, append, "PLAN cut_answer 0 match PUT always"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        t_row = cases[i].label;
        cases[i].prepare();
        plan_fault(cases[i].fault);
        CHECK_ERR(cases[i].run(), TAVOLA_OK);
        CHECK(tavola_call_was_confirmed(f.call));
        if (cases[i].run != delete_blob) {
            tavola_blob_info *info = NULL;

            CHECK_OK(tavola_blob_stat(f.container, "b", NULL, &info));
            CHECK_TEXT(tavola_call_etag(f.call), info->etag);
            tavola_blob_info_free(info);
        }
    }
}

/* Another client writes between our two attempts; ours is then refused. */
TEST(what_another_has_written_since_leaves_it_open)
{
    command("CLEAR", NULL);
    prepare_old();
    CHECK_OK(tavola_blob_put(f.container, "b", "other", 5, NULL, NULL));
    command("PLAN cut_request 30", NULL); /* not made, but who knows */
    CHECK_ERR(put_match(), TAVOLA_ERR_UNKNOWN_OUTCOME);
    CHECK_ERR(put_match(), TAVOLA_ERR_ETAG);
    CHECK(!tavola_call_was_confirmed(f.call));

    /* An append is certain even so. */
    prepare_log();
    CHECK_OK(tavola_blob_append(f.container, "b", "three", 5, NULL, NULL));
    plan_fault("PLAN cut_request 30");
    CHECK_ERR(append_at(), TAVOLA_ERR_ETAG);
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool take(void *user, const void *bytes, size_t len)
{
    stream *to = user;

    if (len > LARGE - to->at || memcmp(f.large + to->at, bytes, len) != 0)
        return false;
    to->at += len;
    return true;
}

/* With as little time as lets all that does not hang through: how much that is, the machine says.
 */
static tavola_err read_in_time(const char *line, stream *ret_to)
{
    tavola_err err = TAVOLA_ERR_TIMEOUT;

    for (uint32_t ms = 100; err == TAVOLA_ERR_TIMEOUT && ms < 100 * 1000; ms *= 2) {
        tavola_client *client = open_through(ms);
        tavola_container *container = NULL;

        CHECK_OK(tavola_container_open(client, tavola_container_name(f.container), &container));
        *ret_to = (stream){0};
        plan_fault(line);
        err = tavola_blob_read(container, "large", take, ret_to, f.call);
        tavola_container_close(container);
        tavola_client_close(client);
    }
    return err;
}

TEST(a_download_goes_on_where_it_broke)
{
    static const char *const broken[] = {
        "cut_body 100000",     "cut_answer 0",       "hang", "status 503", "wrong_length 5",
        "cut_body 100000 fin", "status 500 times 2",
    };

    CHECK_OK(tavola_blob_put(f.container, "large", f.large, LARGE, NULL, NULL));
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        for (int request = 1; request <= 2; request++) {
            stream to = {0};
            char line[100];

            snprintf(line, sizeof line, "PLAN %s on %d", broken[i], request);
            t_row = line;
            plan_fault(line);
            CHECK_OK(f.through == f.hasty_through
                         ? read_in_time(line, &to)
                         : tavola_blob_read(f.through, "large", take, &to, f.call));
            CHECK(to.at == LARGE);
        }
    }
}

TEST(a_download_that_cannot_go_on_says_so)
{
    static const struct {
        const char *fault;
        tavola_err err;
    } cases[] = {
        {"cut_answer 0 always", TAVOLA_ERR_NETWORK},
        {"hang always", TAVOLA_ERR_TIMEOUT},
        {"status 503 always", TAVOLA_ERR_BUSY},
        {"status 403 always error AuthorizationFailure", TAVOLA_ERR_DENIED},
        {"drop_header Content-Range always", TAVOLA_ERR_PROTOCOL},
        {"drop_header ETag always", TAVOLA_ERR_PROTOCOL},
        {"set_header Content-Range 'bytes 1-2/3' always", TAVOLA_ERR_PROTOCOL},
        {"set_header Content-Range 'bytes 0-99999999999999999999/3' always", TAVOLA_ERR_PROTOCOL},
        {"set_header Content-Range 'bytes */4194404' always", TAVOLA_ERR_PROTOCOL},
        {"set_header Content-Range '' always", TAVOLA_ERR_PROTOCOL},
        {"status 416 always", TAVOLA_ERR_PROTOCOL},
    };

    CHECK_OK(tavola_blob_put(f.container, "large", f.large, LARGE, NULL, NULL));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stream to = {0};
        char line[100];

        t_row = cases[i].fault;
        snprintf(line, sizeof line, "PLAN %s", cases[i].fault);
        plan_fault(line);
        CHECK_ERR(tavola_blob_read(f.through, "large", take, &to, f.call), cases[i].err);
        CHECK(to.at == 0);
        CHECK(tavola_call_message(f.call)[0] != '\0');
    }
}

TEST(answers_that_cannot_be_read_are_told)
{
    static const char *const bodies[] = {
        "text:garbage",
        "text:",
        "text:<EnumerationResults>",
        "random:200",
    };

    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        tavola_blobs *blobs = NULL;
        tavola_names *names = NULL;
        tavola_policies *policies = NULL;
        char line[300];

        t_row = bodies[i];
        snprintf(line, sizeof line, "PLAN garbage_body %s", bodies[i]);
        plan_fault(line);
        CHECK_ERR(tavola_blob_list(f.through, NULL, NULL, 0, NULL, f.call, &blobs),
                  TAVOLA_ERR_PROTOCOL);
        command(line, NULL);
        CHECK_ERR(tavola_container_list(f.faulty, NULL, f.call, &names), TAVOLA_ERR_PROTOCOL);
        command(line, NULL);
        CHECK_ERR(tavola_container_get_policies(f.through, f.call, &policies), TAVOLA_ERR_PROTOCOL);
        CHECK(tavola_call_message(f.call)[0] != '\0');
    }

    t_row = "a list whose next page is itself";
    tavola_names *names = NULL;

    command("CLEAR", NULL);
    command("PLAN garbage_body 'text:<EnumerationResults><Containers><Container><Name>a"
            "</Name></Container></Containers><NextMarker>m</NextMarker></EnumerationResults>'"
            " always",
            NULL);
    CHECK_ERR(tavola_container_list(f.faulty, NULL, f.call, &names), TAVOLA_ERR_PROTOCOL);
}

static int open_faults(void **state)
{
    enum { HASTE_MS = 100 };
    char name[NAME_SIZE];

    (void)state;
    f.large = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        f.large[i] = (unsigned char)(i * 2654435761u >> 13);
    start_faults(state);
    t.call = f.call = tavola_call_new(); /* what it says goes into failures */
    f.direct = open_client();
    f.faulty = open_through(0);
    f.hasty = open_through(HASTE_MS);
    make_name(name, "faults");
    CHECK_OK(tavola_container_open(f.direct, name, &f.container));
    CHECK_OK(tavola_container_open(f.faulty, name, &f.patient_through));
    CHECK_OK(tavola_container_open(f.hasty, name, &f.hasty_through));
    f.through = f.patient_through;
    CHECK_OK(tavola_container_create(f.container, NULL));
    return 0;
}

static int close_faults(void **state)
{
    (void)state;
    CHECK_OK(tavola_container_delete(f.container, NULL));
    tavola_container_close(f.container);
    tavola_container_close(f.patient_through);
    tavola_container_close(f.hasty_through);
    tavola_client_close(f.direct);
    tavola_client_close(f.faulty);
    tavola_client_close(f.hasty);
    tavola_call_free(f.call);
    stop_faults(state);
    free(f.large);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_called_what_it_is_not),
        cmocka_unit_test(what_was_found_out_is_said),
        cmocka_unit_test(what_another_has_written_since_leaves_it_open),
        cmocka_unit_test(a_download_goes_on_where_it_broke),
        cmocka_unit_test(a_download_that_cannot_go_on_says_so),
        cmocka_unit_test(answers_that_cannot_be_read_are_told),
    };

    return cmocka_run_group_tests(tests, open_faults, close_faults);
}
