/* See tree.h. */
#include "server/explorer/tree.h"

#include "base/json.h"
#include "server/admin/admin.h"
#include "server/explorer/api.h"

enum { NAMES_MAX = 10000 }; /* of each kind */

typedef struct name_list {
    tv_explorer *explorer;
    tv_service *service;
    tv_slice account;
    tv_buf *out;
    size_t count;
    bool has_more;
} name_list;

static void add_count(name_list *list, const char *items, bool has_bytes, tv_tree_count count)
{
    if (!count.is_known)
        return;
    tv_json_number(list->out, items, count.items);
    if (has_bytes)
        tv_json_number(list->out, "bytes", count.bytes);
    tv_json_bool(list->out, "exact", count.is_exact);
}

static tv_tree_count count_entities(tv_facts *facts, const tv_container *table)
{
    if (facts == NULL)
        return (tv_tree_count){.is_known = false};

    tv_facts_count count = tv_facts_count_of(facts, table->account, table->id);

    return (tv_tree_count){.is_known = count.basis != TV_FACTS_UNKNOWN,
                           .is_exact = count.basis == TV_FACTS_EXACT,
                           .items = count.entities,
                           .bytes = count.bytes};
}

static void add_name(name_list *list, const tv_container *container)
{
    tv_explorer *explorer = list->explorer;

    if (list->count == NAMES_MAX) {
        list->has_more = true;
        return;
    }
    list->count++;
    tv_json_open(list->out, NULL, '{');
    tv_json_text(list->out, "name", container->name);
    tv_json_number(list->out, "requests", atomic_load(&container->requests));
    if (list->service == explorer->table)
        add_count(list, "entities", true, count_entities(explorer->facts, container));
    else if (list->service == explorer->queue)
        add_count(list, "messages", false, tv_tree_counts_of(&explorer->counts, container));
    else
        add_count(list, "blobs", true, tv_tree_counts_of(&explorer->counts, container));
    tv_buf_add_char(list->out, '}');
}

/* In no order: the page sorts what it shows.  True when there were too many. */
static bool add_names(tv_explorer *explorer, tv_service *service, tv_slice account, tv_buf *out)
{
    name_list list = {.explorer = explorer, .service = service, .account = account, .out = out};
    size_t count;
    tv_container **all = tv_catalog_all(service->catalog, &count);

    for (size_t i = 0; i < count; i++) {
        if (tv_slice_eq(all[i]->account, account))
            add_name(&list, all[i]);
        tv_container_unref(all[i]);
    }
    free(all);
    return list.has_more;
}

/* What a client has asked for first: what was done, or else what was refused. */
static void add_first(const tv_explorer *explorer, tv_buf *out)
{
    size_t before = out->len;

    tv_buf_add_lit(out, ",\"first\":");
    for (int i = 0; i < 3; i++) {
        if (tv_first_request_add(&explorer->first[i].good, out))
            return;
    }
    for (int i = 0; i < 3; i++) {
        if (tv_first_request_add(&explorer->first[i].bad, out))
            return;
    }
    out->len = before;
}

void tv_explorer_tree(tv_explorer *explorer, tv_request *req)
{
    tv_buf *out = &req->out;
    tv_slice account = TV_NONE;
    bool has_more;
    tv_err err;

    if (!tv_parameters_get(&req->query, &req->arena, TV_LIT("account"), &account)) {
        tv_explorer_refuse(req, 400, "a parameter cannot be decoded");
        return;
    }
    tv_tree_counts_want(&explorer->counts);
    tv_buf_add_lit(out, "{\"tables\":[");
    has_more = add_names(explorer, explorer->table, account, out);
    tv_buf_add_lit(out, "],\"queues\":[");
    has_more |= add_names(explorer, explorer->queue, account, out);
    tv_buf_add_lit(out, "],\"containers\":[");
    has_more |= add_names(explorer, explorer->blob, account, out);
    err = tv_engine_check(explorer->table->engine);
    tv_buf_printf(out, "],\"more\":%s,\"problem\":\"%s\"", has_more ? "true" : "false",
                  err ? tv_admin_meaning_of(explorer->table->engine, err) : "");
    add_first(explorer, out);
    tv_buf_add_lit(out, "}\n");
    tv_explorer_respond(req, 200, TV_LIT("application/json"));
}
