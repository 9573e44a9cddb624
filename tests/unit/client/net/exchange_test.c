/* An exchange over TCP: what the caller learns, however the server behaves. */
#include "client/net/exchange.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "client/memory_faults.h"
#include "client/net/drive.h"

TEST(sends_head_and_body)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 4);
    tvc_exchange x = make_get(endpoint);

    x.head = TV_LIT("PUT /a HTTP/1.1\r\nContent-Length: 4\r\n\r\n");
    x.body = TV_LIT("body");
    drive(&x);
    CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
    CHECK_TEXT(tv_slice_of(server.last_request),
               "PUT /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody");
    tvc_exchange_done(&x);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

TEST(takes_no_answer_for_whole_that_was_cut)
{
    static const char *const texts[] = {
        HELLO,
        CHUNKED "2\r\nhe\r\n3\r\nllo\r\n0\r\nA: b\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (size_t cut = 0; cut <= strlen(texts[i]); cut++) {
            script_answer answer = {.text = cut ? texts[i] : NULL, .len = cut, .then_close = true};
            char label[100];
            tvc_exchange x = ask_once(&answer, NULL);

            snprintf(label, sizeof label, "%zu bytes of text %zu", cut, i);
            t_row = label;
            if (cut == strlen(texts[i]))
                CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
            else
                CHECK_END(x, TAVOLA_ERR_NETWORK, TVC_UNKNOWN);
            tvc_exchange_done(&x);
        }
    }
    t_row = "reset";
    tvc_exchange x = ask_once(&(script_answer){.then_reset = true}, NULL);
    CHECK_END(x, TAVOLA_ERR_NETWORK, TVC_UNKNOWN);
    tvc_exchange_done(&x);
}

TEST(has_sent_nothing_when_nobody_listens)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};

    script_server_start(&server);
    script_server_stop(&server);

    tvc_endpoint *endpoint = open_port(server.port, 4);
    tvc_exchange x = make_get(endpoint);

    drive(&x);
    CHECK_END(x, TAVOLA_ERR_NETWORK, TVC_NOT_SENT);
    assert_string_equal(x.why, "the connection was refused");
    tvc_exchange_done(&x);
    tvc_endpoint_close(endpoint);
}

TEST(has_sent_nothing_when_there_is_no_such_host)
{
    tvc_endpoint *endpoint = open_endpoint("http://no-such-host.invalid", 4);
    tvc_exchange x = make_get(endpoint);

    drive(&x);
    CHECK(x.err == TAVOLA_ERR_INVALID || x.err == TAVOLA_ERR_NETWORK); /* without a name server */
    CHECK_INT(x.fate, TVC_NOT_SENT);
    tvc_exchange_done(&x);
    tvc_endpoint_close(endpoint);
}

TEST(gives_up_at_its_deadline)
{
    script_server server = {.answers = {{.text = NULL}}, .answer_count = 1};

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 4);
    tvc_exchange x = make_get(endpoint);

    drive_until_read(&x, &server);
    x.deadline_ns = tv_clock_mono_ns() + 20 * MS;
    drive(&x);
    CHECK(tv_clock_mono_ns() >= x.deadline_ns);
    CHECK_END(x, TAVOLA_ERR_TIMEOUT, TVC_UNKNOWN);
    tvc_exchange_done(&x);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

/* A port whose queue of connections is full: packets to it are dropped. */
static int open_full_port(int *ret_port, int fillers[4])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    tv_assert(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    tv_assert(listen(listener, 0) == 0);
    tv_assert(getsockname(listener, (struct sockaddr *)&address, &len) == 0);
    for (int i = 0; i < 4; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(fillers[i], (struct sockaddr *)&address, sizeof address);
    }
    *ret_port = ntohs(address.sin_port);
    return listener;
}

TEST(gives_up_connecting)
{
    int port, fillers[4], listener = open_full_port(&port, fillers);
    char url[64];

    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    for (int is_by_deadline = 0; is_by_deadline <= 1; is_by_deadline++) {
        tvc_net_options options = {.connect_timeout_ms = is_by_deadline ? CONNECT_MS : 50,
                                   .connections_max = 1,
                                   .proxy = ""};
        tvc_endpoint *endpoint = NULL;

        assert_int_equal(tvc_endpoint_open(url, &options, &endpoint, NULL), TAVOLA_OK);

        tvc_exchange x = make_get(endpoint);

        if (is_by_deadline)
            x.deadline_ns = tv_clock_mono_ns() + 20 * MS;
        drive(&x);
        CHECK_END(x, is_by_deadline ? TAVOLA_ERR_TIMEOUT : TAVOLA_ERR_NETWORK, TVC_NOT_SENT);
        tvc_exchange_done(&x);
        tvc_endpoint_close(endpoint);
    }
    for (int i = 0; i < 4; i++)
        close(fillers[i]);
    close(listener);
}

TEST(finds_a_host_by_its_name)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
    char url[100];

    script_server_start(&server);
    snprintf(url, sizeof url, "http://localhost:%d", server.port);

    tvc_endpoint *endpoint = open_endpoint(url, 4);

    for (int i = 0; i < 3; i++) {
        tvc_exchange x = make_get(endpoint);

        drive(&x);
        CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
        tvc_exchange_done(&x);
        script_server_cut(&server);
        wait_for_kept(endpoint, POLLRDHUP); /* so that the next one connects again */
    }
    CHECK_INT(server.connections, 3);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

TEST(lets_a_child_close_what_it_inherited)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
    int fd, status;
    int64_t until_ns;

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 1);
    tvc_exchange x = make_get(endpoint), waiting = make_get(endpoint);

    tvc_exchange_step(&x, &fd, &until_ns);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    tvc_exchange_step(&waiting, &fd, &until_ns);

    pid_t child = fork();

    if (child == 0) {
        tvc_exchange_done(&x);
        tvc_exchange_done(&waiting);
        tvc_endpoint_close(endpoint);
        _exit(7);
    }
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    drive(&x);
    CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
    tvc_exchange_done(&x);
    drive(&waiting);
    CHECK_END(waiting, TAVOLA_OK, TVC_ANSWERED);
    tvc_exchange_done(&waiting);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

static bool give(void *user, uint64_t offset, void *to, size_t size, size_t *ret_len)
{
    memset(to, 'x', size);
    *ret_len = size;
    return true;
}

TEST(survives_a_lack_of_memory)
{
    static const char *const texts[] = {HELLO, CHUNKED "5\r\nhello\r\n0\r\n\r\n"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        script_server server = {.answers = {{.text = texts[i]}}, .answer_count = 1};
        char url[64];

        script_server_start(&server);
        snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
        MEMORY_FAULTS(fault)
        {
            tvc_net_options options = {
                .connect_timeout_ms = CONNECT_MS, .connections_max = 1, .proxy = ""};
            tvc_endpoint *endpoint = NULL;
            tavola_err err = tvc_endpoint_open(url, &options, &endpoint, NULL);

            for (int k = 0; k < 2 && err == TAVOLA_OK; k++) {
                tvc_exchange x = make_get(endpoint);

                x.head = TV_LIT("PUT / HTTP/1.1\r\nContent-Length: 5\r\n\r\n");
                x.source = (tvc_source){give, NULL};
                x.source_len = 5;
                drive(&x);
                if (memory_fault_was_hit() && x.err)
                    CHECK_INT(x.err, TAVOLA_ERR_NO_MEMORY);
                else
                    CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
                if (x.err)
                    CHECK(x.response.body == NULL && x.fate != TVC_ANSWERED);
                tvc_exchange_done(&x);
            }
            if (err) {
                CHECK(memory_fault_was_hit());
                CHECK_INT(err, TAVOLA_ERR_NO_MEMORY);
            }
            tvc_endpoint_close(endpoint);
        }
        script_server_stop(&server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: a thread that looks up a host may outlive a test, and must not see the allocator
         * change. */
        cmocka_unit_test(survives_a_lack_of_memory),
        cmocka_unit_test(sends_head_and_body),
        cmocka_unit_test(takes_no_answer_for_whole_that_was_cut),
        cmocka_unit_test(has_sent_nothing_when_nobody_listens),
        cmocka_unit_test(has_sent_nothing_when_there_is_no_such_host),
        cmocka_unit_test(gives_up_at_its_deadline),
        cmocka_unit_test(gives_up_connecting),
        cmocka_unit_test(finds_a_host_by_its_name),
        cmocka_unit_test(lets_a_child_close_what_it_inherited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
