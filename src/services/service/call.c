/* What operations ask of their call, and how they hand it over to other threads. */
#include "services/service/call.h"
#include "services/service/analytics_names.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/xml.h"

/* --- what it asks for --- */

tv_err tv_call_parameter(tv_call *call, tv_slice name, tv_slice *ret_value)
{
    tv_request *req = call->req;

    return tv_parameters_get_nocase(&req->query, &req->arena, name, ret_value)
               ? TV_OK
               : TV_ERR_URL_UNPARSABLE;
}

/* Of each text in an error's body. */
enum { DETAIL_BYTES_MAX = 4096 };

/* Elements of an error's body, in the arena; texts are cleaned, cut and escaped. */
typedef struct detail {
    const char *element;
    tv_slice text;
} detail;

static void set_details(tv_call *call, const detail *details, size_t count)
{
    tv_buf buf = TV_BUF_EMPTY;

    for (size_t i = 0; i < count; i++) {
        if (details[i].text.data)
            tv_xml_add_element(&buf, details[i].element,
                               tv_xml_clean(&call->req->arena, details[i].text, DETAIL_BYTES_MAX));
    }
    call->info.details = tv_arena_dup(&call->req->arena, tv_buf_slice(&buf));
    tv_buf_done(&buf);
}

tv_err tv_call_bad_parameter(tv_call *call, tv_slice name, tv_slice value, const char *reason)
{
    detail details[] = {{"QueryParameterName", name},
                        {"QueryParameterValue", value},
                        {"Reason", reason ? tv_slice_of(reason) : TV_NONE}};

    set_details(call, details, sizeof details / sizeof *details);
    return TV_ERR_INVALID_QUERY_PARAMETER;
}

tv_err tv_call_need_parameter(tv_call *call, tv_slice name, tv_slice *ret_value)
{
    detail details[] = {{"QueryParameterName", name}};
    tv_err err = tv_call_parameter(call, name, ret_value);

    if (err || ret_value->len)
        return err;

    set_details(call, details, sizeof details / sizeof *details);
    return TV_ERR_MISSING_QUERY_PARAMETER;
}

tv_err tv_call_bad_header(tv_call *call, tv_slice name, tv_slice value)
{
    detail details[] = {{"HeaderName", name}, {"HeaderValue", value}};

    set_details(call, details, sizeof details / sizeof *details);
    return TV_ERR_INVALID_HEADER;
}

static tv_err out_of_range(tv_call *call, tv_slice name, tv_slice value, int64_t min, int64_t max)
{
    tv_arena *arena = &call->req->arena;
    detail details[] = {{"QueryParameterName", name},
                        {"QueryParameterValue", value},
                        {"MinimumAllowed", tv_arena_printf(arena, "%lld", (long long)min)},
                        {"MaximumAllowed", tv_arena_printf(arena, "%lld", (long long)max)}};

    set_details(call, details, sizeof details / sizeof *details);
    return TV_ERR_QUERY_OUT_OF_RANGE;
}

tv_err tv_call_number(tv_call *call, tv_slice name, int64_t min, int64_t max, int64_t fallback,
                      int64_t *ret_value)
{
    tv_slice text;
    int64_t value;
    tv_err err = tv_call_parameter(call, name, &text);

    if (err)
        return err;
    if (text.data == NULL) {
        *ret_value = fallback;
        return TV_OK;
    }
    if (!tv_parse_int64(text, &value))
        return tv_call_bad_parameter(call, name, text, "Failed to parse the value as a number.");
    if (value < min || value > max)
        return out_of_range(call, name, text, min, max);

    *ret_value = value;
    return TV_OK;
}

tv_container *tv_call_look_for(tv_call *call, tv_slice account, tv_slice name)
{
    tv_container *container = tv_catalog_find(call->service->catalog, account, name);

    if (container == NULL) {
        call->missed_account = account;
        call->missed = name;
    }
    return container;
}

tv_err tv_call_find_container(tv_call *call, tv_slice name)
{
    tv_catalog *catalog = call->service->catalog;

    tv_assert(call->identity && call->container == NULL);
    if (call->service->spec->kind == TV_SERVICE_TABLE && tv_analytics_table(name).data)
        name = tv_analytics_table(name); /* some have two names */
    call->container = tv_call_look_for(call, tv_identity_account(call->identity), name);
    return call->container ? TV_OK : tv_catalog_kind_of(catalog)->not_found;
}

/* --- handing it over --- */

static void leave(tv_call *call, tv_call_then *then)
{
    tv_assert(then && call->identity && !call->is_away);
    call->then = then;
    call->is_away = true;
    call->left_ns = tv_clock_mono_ns();
}

/* Shared storage that does not answer holds up all threads in turn; a client does not wait for it.
 */
static bool has_waited(const tv_call *call)
{
    return call->service->engine->ops->is_shared &&
           tv_clock_mono_ns() - call->left_ns >= tv_write_wait_max_ns;
}

static void go_on(tv_call *call, tv_err err)
{
    tv_assert(call->is_away);
    call->is_away = false;
    err = call->then(call, err);
    if (err)
        tv_call_fail(call, err);
}

/*
 * What was read of a container that another node has dropped meanwhile does not count;
 * the engine has seen to it that this is known here before the read could be answered.
 */
static tv_err check_dropped(const tv_call *call, tv_err err)
{
    const tv_container *container = call->container;

    if (container == NULL || !atomic_load(&container->is_dropped) ||
        !tv_catalog_is_shared(call->service->catalog))
        return err;
    return container->kind->not_found;
}

static void on_written(tv_mail *mail)
{
    tv_call *call = TV_CALL_OF(tv_call, mail, write.mail);
    tv_err err = call->write.result;

    /* On shared storage it may yet be done, which is what the service says of its time-outs. */
    if (err == TV_ERR_IO && call->service->engine->ops->is_shared)
        err = TV_ERR_TIMED_OUT;
    go_on(call, err);
}

/* As the pipeline does when its queue is full. */
static void refuse(tv_write *write)
{
    tv_mail_chain chain = {0};

    write->result = TV_ERR_OVERLOADED;
    if (write->undo)
        write->undo(write);
    tv_mail_chain_add(&chain, &write->mail);
    tv_mailbox_post(write->reply_to, &chain);
}

void tv_call_write(tv_call *call, tv_call_then *then)
{
    tv_loop *loop = call->req->loop;

    tv_assert(call->write.run && call->write.partition.len > 0);
    leave(call, then);
    call->write.mail.deliver = on_written;
    call->write.reply_to = tv_loop_mailbox(loop);
    if (call->service->refuses_writes && atomic_load(call->service->refuses_writes))
        refuse(&call->write);
    else
        tv_outbox_add(call->service->outboxes[tv_loop_index(loop)], &call->write);
}

static void run_read(tv_job *job)
{
    tv_call *call = TV_CALL_OF(tv_call, job, job);

    call->result = has_waited(call) ? TV_ERR_TIMED_OUT : call->read(call, TV_READ_ANY);
}

static void on_read(tv_mail *mail)
{
    tv_call *call = TV_CALL_OF(tv_call, mail, job.mail);

    go_on(call, check_dropped(call, call->result));
}

tv_err tv_call_read_on(tv_call *call, tv_workers *workers,
                       tv_err (*read)(tv_call *call, tv_read_mode mode), tv_call_then *then)
{
    tv_assert(read);
    leave(call, then);
    call->read = read;
    call->job = (tv_job){
        .mail.deliver = on_read, .run = run_read, .reply_to = tv_loop_mailbox(call->req->loop)};
    call->is_away = tv_workers_submit(workers, &call->job);
    return call->is_away ? TV_OK : TV_ERR_OVERLOADED;
}

tv_err tv_call_read(tv_call *call, tv_err (*read)(tv_call *call, tv_read_mode mode),
                    tv_call_then *then)
{
    tv_err err;

    tv_assert(read && then);
    err = read(call, TV_READ_CACHED);
    return err == TV_ERR_WOULD_BLOCK ? tv_call_read_on(call, call->service->readers, read, then)
                                     : then(call, err);
}

static tv_err fetch_row(tv_call *call, tv_read_mode mode)
{
    return tv_engine_get(call->service->engine, mode, call->fetch.key, &call->req->arena,
                         &call->fetch.value);
}

static void on_fetched(tv_mail *mail)
{
    tv_call *call = TV_CALL_OF(tv_call, mail, fetch.mail);

    go_on(call, call->fetch.result);
}

tv_err tv_call_fetch(tv_call *call, tv_slice key, tv_call_then *then)
{
    tv_engine *engine = call->service->engine;

    call->fetch = (tv_engine_read){
        .mail.deliver = on_fetched,
        .reply_to = tv_loop_mailbox(call->req->loop),
        .key = key,
        .arena = &call->req->arena,
    };
    if (engine->ops->read == NULL)
        return tv_call_read(call, fetch_row, then);

    leave(call, then);
    engine->ops->read(engine, &call->fetch);
    return TV_OK;
}

static bool run_turn(tv_task *task, tv_turn *turn)
{
    tv_call *call = TV_CALL_OF(tv_call, task, task);

    return call->work(call, turn);
}

static void on_turns_done(tv_mail *mail)
{
    tv_call *call = TV_CALL_OF(tv_call, mail, task.mail);

    go_on(call, check_dropped(call, call->result));
}

tv_err tv_call_take_turns(tv_call *call, bool (*work)(tv_call *call, tv_turn *turn),
                          tv_call_then *then)
{
    tv_assert(work);
    leave(call, then);
    call->work = work;
    call->task = (tv_task){
        .mail.deliver = on_turns_done,
        .run = run_turn,
        .reply_to = tv_loop_mailbox(call->req->loop),
        .account = tv_identity_turns(call->identity),
        .is_gone = &call->req->is_gone,
    };
    call->is_away = tv_turns_submit(call->service->scanners, &call->task);
    return call->is_away ? TV_OK : TV_ERR_OVERLOADED;
}
