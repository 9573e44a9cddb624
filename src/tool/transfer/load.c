/* Entities into a table. */
#include "load.h"

#include <stdio.h>
#include <string.h>

#include "digest.h"

tool_exit xfer_conflict_of(const tool_run *run, xfer_conflict *ret_conflict)
{
    static const char *const names[] = {"fail", "skip", "merge", "replace"};
    const char *name = tool_value_of(run, TOOL_FLAG_ON_CONFLICT);

    *ret_conflict = XFER_FAIL;
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret_conflict = (xfer_conflict)i;
            return TOOL_OK;
        }
    }
    return name ? tool_refuse("--on-conflict is fail, skip, merge or replace") : TOOL_OK;
}

const char *xfer_code_of(tavola_err err, const char *code)
{
    return code && *code ? code : tavola_err_name(err);
}

static void note_trouble(xfer_load *load, tavola_err err, const char *code)
{
    if (load->trouble)
        return;
    load->trouble = err;
    snprintf(load->trouble_code, sizeof load->trouble_code, "%s", xfer_code_of(err, code));
}

bool xfer_load_has(xfer_load *load, const tavola_entity *entity)
{
    tavola_entity *stored = NULL;
    xfer_tally wanted = {0}, found = {0};
    tavola_err err;

    if (load->trouble)
        return false;
    err = tavola_get(load->table, tavola_entity_partition_key(entity),
                     tavola_entity_row_key(entity), load->call, &stored);
    if (err && err != TAVOLA_ERR_NOT_FOUND)
        note_trouble(load, err, NULL);
    if (err)
        return false;
    xfer_tally_add(&wanted, entity);
    xfer_tally_add(&found, stored);
    tavola_entity_free(stored);
    return memcmp(&wanted, &found, sizeof wanted) == 0;
}

/* Whether it is about this entity and no other. */
static bool is_of_entity(tavola_err err)
{
    return err == TAVOLA_ERR_EXISTS || err == TAVOLA_ERR_INVALID || err == TAVOLA_ERR_TOO_LARGE;
}

static void on_failed(void *user, const tavola_entity *entity, tavola_err err, const char *code)
{
    xfer_load *load = user;

    if (!is_of_entity(err)) {
        note_trouble(load, err, code);
        load->failed++;
    } else if ((err == TAVOLA_ERR_EXISTS && load->conflict == XFER_SKIP) ||
               load->refused(load->user, entity, err, code)) {
        load->existing++;
    } else {
        load->failed++;
    }
}

tavola_err xfer_load_add(xfer_load *load, const tavola_entity *entity)
{
    static const tavola_write writes[] = {[XFER_FAIL] = TAVOLA_INSERT,
                                          [XFER_SKIP] = TAVOLA_INSERT,
                                          [XFER_MERGE] = TAVOLA_INSERT_OR_MERGE,
                                          [XFER_REPLACE] = TAVOLA_INSERT_OR_REPLACE};
    tavola_err err = TAVOLA_OK;

    if (load->bulk == NULL)
        err =
            tavola_bulk_open(load->table, load->parallel, on_failed, load, load->call, &load->bulk);
    if (err == TAVOLA_OK)
        err = tavola_bulk_add(load->bulk, writes[load->conflict], entity, NULL);
    if (err && !is_of_entity(err))
        note_trouble(load, err, NULL);
    return err;
}

void xfer_load_drain(xfer_load *load)
{
    uint64_t written = 0;
    tavola_err err;

    if (load->trouble)
        tavola_call_cancel(load->call);
    err = tavola_bulk_close(load->bulk, &written, NULL);
    load->bulk = NULL;
    load->written += written;
    if (err && load->trouble == TAVOLA_OK)
        load->trouble = err;
}

tool_exit xfer_load_tell(const xfer_load *load, const char *target)
{
    if (tool_stop_signal())
        return tool_stopped();
    tool_trouble("%s: %s: the rest was not written%s", load->trouble_code, target,
                 strcmp(load->trouble_code, "TableNotFound") == 0
                     ? "; --create makes the table"
                     : tool_remedy(load->trouble, target));
    return load->trouble == TAVOLA_ERR_UNKNOWN_OUTCOME ? TOOL_UNAVAILABLE
                                                       : tool_exit_of(load->trouble);
}
