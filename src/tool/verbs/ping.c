/* Is the service there, and how far away? */
#include "../output/output.h"
#include "../text.h"
#include "../verbs.h"

#include <string.h>

/* The smallest question: whether something exists that hardly does. */
static tavola_err ask(tavola_client *client, tavola_service service, tavola_call *call)
{
    tavola_table *table = NULL;
    tavola_queue *queue = NULL;
    tavola_container *container = NULL;
    bool does_exist;
    tavola_err err;

    if (service == TAVOLA_SERVICE_TABLE) {
        err = tavola_table_open(client, "tavolaping", &table);
        err = err ? err : tavola_table_exists(table, call, &does_exist);
    } else if (service == TAVOLA_SERVICE_QUEUE) {
        err = tavola_queue_open(client, "tavola-ping", &queue);
        err = err ? err : tavola_queue_exists(queue, call, &does_exist);
    } else {
        err = tavola_container_open(client, "tavola-ping", &container);
        err = err ? err : tavola_container_exists(container, call, &does_exist);
    }
    tavola_table_close(table);
    tavola_queue_close(queue);
    tavola_container_close(container);
    return err;
}

/* The fastest of `number` questions.  What `told` has been told already is not told again: three
 * services of one server are absent for one reason. */
static tool_exit ping_one(tool_run *run, tool_output *output, tavola_service service,
                          const char *name, int64_t number, tool_text *told)
{
    const char *endpoint = tavola_client_endpoint(run->clients[0], service);
    double fastest_ms = 0;
    tavola_err err = TAVOLA_OK;

    for (int64_t i = 0; i < number && !err; i++) {
        double began_ms = tool_now_ms(), took_ms;

        err = ask(run->clients[0], service, run->call);
        took_ms = tool_now_ms() - began_ms;
        if (i == 0 || took_ms < fastest_ms)
            fastest_ms = took_ms;
    }
    /* Microseconds are enough. */
    fastest_ms = (double)(int64_t)(fastest_ms * 1000) / 1000;
    tool_field fields[] = {
        {"Service", tavola_string(name)},
        {"Endpoint", tavola_string(endpoint)},
        {"Milliseconds", tavola_double(fastest_ms)},
        {"Answer", tavola_string(err ? tavola_err_name(err) : "ok")},
    };
    if (err)
        fields[2].value.type = TAVOLA_NONE;
    tool_output_record(output, fields, 4);
    if (!err || (told->size && strcmp(told->at, tavola_call_message(run->call)) == 0))
        return tool_exit_of(err);
    tool_text_done(told);
    tool_text_puts(told, tavola_call_message(run->call));
    return tool_fail(run, err, NULL);
}

static tool_exit ping(tool_run *run)
{
    static const char *const names[] = {"table", "queue", "blob"};
    int64_t number = 3;
    tavola_client *client;
    tool_output *output = NULL;
    tool_text told = {0};
    tool_exit exit = tool_number_of(run, TOOL_FLAG_NUMBER, 1, 1000, &number), worst = TOOL_OK;

    if (!exit)
        exit = tool_client(run, &client);
    if (!exit)
        exit = tool_output_open(run, true, &output);
    if (exit)
        return exit;
    tavola_call_set_retries(run->call, UINT32_MAX);
    for (int service = TAVOLA_SERVICE_TABLE; service <= TAVOLA_SERVICE_BLOB; service++) {
        if (!tavola_client_endpoint(client, (tavola_service)service))
            continue;
        exit = ping_one(run, output, (tavola_service)service, names[service], number, &told);
        if (exit > worst)
            worst = exit;
    }
    tool_output_close(output);
    tool_text_done(&told);
    return worst;
}

const tool_verb tool_ping_verbs[] = {
    {"ping", "", "Whether the services answer, and the fastest of --number (3) answers", 0, 0,
     TOOL_BIT(NUMBER), .run = ping,
     .examples = "  tavola ping\n"
                 "  tavola ping -c test --number 10\n"},
    {0},
};
