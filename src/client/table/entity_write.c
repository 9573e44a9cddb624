/*
 * One write of one entity: what it sends is the same whether it is run, started or a part of a
 * batch.
 */
#include "client/table/table.h"

static const struct write_rule {
    const char *method;
    bool has_body, is_conditional, is_merge;
    tvc_settle_kind settle;
} rules[] = {
    [TAVOLA_INSERT] = {"POST", true, false, false, TVC_SETTLE_INSERT},
    [TAVOLA_INSERT_OR_REPLACE] = {"PUT", true, false, false, TVC_SETTLE_REPLACE},
    [TAVOLA_INSERT_OR_MERGE] = {"PATCH", true, false, true, TVC_SETTLE_MERGE},
    [TAVOLA_REPLACE] = {"PUT", true, true, false, TVC_SETTLE_REPLACE},
    [TAVOLA_MERGE] = {"PATCH", true, true, true, TVC_SETTLE_MERGE},
    [TAVOLA_DELETE] = {"DELETE", false, true, false, TVC_SETTLE_DELETE},
};

const char *tvc_write_method(tavola_write kind)
{
    return rules[kind].method;
}

bool tvc_write_has_body(tavola_write kind)
{
    return rules[kind].has_body;
}

tvc_settle_kind tvc_write_settle_kind(tavola_write kind)
{
    return rules[kind].settle;
}

static tavola_err check_entity(const tavola_entity *entity, tavola_call *call)
{
    const char *why = "";
    tavola_err err = tvc_entity_check(entity, &why);

    return err ? tvc_call_refuse(call, err, "%s", why) : TAVOLA_OK;
}

/* The value of If-Match. */
static tavola_err choose_condition(tvc_write *write, const char *if_match, tavola_call *call)
{
    if (!rules[write->kind].is_conditional)
        return TAVOLA_OK;

    write->if_match = if_match ? if_match : write->entity->etag;
    if (write->if_match == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "there is no etag, of the entity or as if_match: read the entity "
                               "first, or give TAVOLA_ANY");
    if (!tvc_is_etag(write->if_match))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "what if_match holds is not an etag");
    return TAVOLA_OK;
}

static tavola_err encrypt(tvc_write *write, const tavola_table *table, tavola_call *call)
{
    tavola_crypto *crypto = tvc_table_crypto(table, call);

    if (crypto == NULL || !rules[write->kind].has_body)
        return TAVOLA_OK;
    if (!tvc_crypto_allows(crypto, write->kind))
        return tvc_call_refuse(call, TAVOLA_ERR_UNSUPPORTED,
                               "an encrypted entity cannot be merged, only replaced");

    tavola_err err = tvc_crypto_encrypt(crypto, tvc_place_of(table->client, table->name),
                                        write->entity, &write->encrypted);

    if (err)
        return tvc_call_refuse(call, err, "%s", tvc_crypto_text(err));
    write->entity = write->encrypted;
    return TAVOLA_OK;
}

tavola_err tvc_write_init(tvc_write *write, const tavola_table *table, tavola_write kind,
                          const tavola_entity *entity, const char *if_match, tavola_call *call)
{
    *write = (tvc_write){.kind = kind, .entity = entity};

    tavola_err err = tvc_table_check(table, call);

    if (err)
        return err;
    if ((unsigned)kind >= sizeof rules / sizeof *rules)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no such kind of write");
    err = check_entity(entity, call);
    if (err)
        return err;
    err = choose_condition(write, if_match, call);
    if (err)
        return err;
    err = encrypt(write, table, call);
    if (err)
        return err;
    err = check_entity(write->entity, call); /* encryption makes it longer */
    if (err)
        tvc_write_done(write);
    return err;
}

void tvc_write_done(tvc_write *write)
{
    tavola_entity_free(write->encrypted);
    write->encrypted = NULL;
}

void tvc_write_add_headers(tvc_text *headers, const tvc_write *write)
{
    if (rules[write->kind].has_body)
        tvc_text_add_header(headers, TV_LIT("Content-Type"), TV_LIT("application/json"));
    if (write->kind == TAVOLA_INSERT)
        tvc_text_add_header(headers, TV_LIT("Prefer"), TV_LIT("return-no-content"));
    if (write->if_match)
        tvc_text_add_header(headers, TV_LIT("If-Match"), tv_slice_of(write->if_match));
}

void tvc_write_add_path(tvc_text *path, const tavola_table *table, const tvc_write *write)
{
    if (write->kind == TAVOLA_INSERT) {
        tvc_text_add_lit(path, "/");
        tvc_text_add(path, tv_slice_of(table->name));
    } else {
        tvc_add_entity_path(path, table, write->entity->partition_key, write->entity->row_key);
    }
}

tavola_op *tvc_write_op(const tavola_table *table, const tvc_write *write, tavola_call *call)
{
    const struct write_rule *rule = &rules[write->kind];
    tavola_op *op = tvc_table_op(table, rule->method, call);

    if (op == NULL)
        return NULL;

    tvc_write_add_path(&op->request.path, table, write);
    tvc_write_add_headers(&op->request.headers, write);
    if (rule->has_body)
        tvc_entity_write(&op->request.body, write->entity);

    op->settle.kind = rule->settle;
    if (rule->has_body) {
        tvc_add_entity_path(&op->settle.path, table, write->entity->partition_key,
                            write->entity->row_key);
        tvc_text_add(&op->settle.entity, tvc_text_slice(&op->request.body));
    }
    return op;
}
