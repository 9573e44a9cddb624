/* See shapes.h. */
#include "server/admin/shapes.h"

#include "server/admin/admin.h"

bool tv_admin_has_watch(const tv_admin *admin)
{
    return admin->watch != NULL;
}

/* A list, made on a scanner's thread: that of a run waits for the watcher while it reads what is
 * known of the data of tables.  In the request's arena. */
typedef struct listing {
    tv_task task;
    tv_request *req;
    tv_watch *watch;
    tv_watch_list asked;
    bool is_known; /* result: whether there is such a mark */
} listing;

/* The thread owns the request meanwhile. */
static bool run(tv_task *task, tv_turn *turn)
{
    listing *l = (listing *)(void *)task;

    (void)turn;
    l->is_known = tv_watch_list_shapes(l->watch, &l->asked, &l->req->out);
    return true;
}

static void on_listed(tv_mail *mail)
{
    static const char no_mark[] = "there is no such mark: eight are kept, and none over a restart";
    listing *l = (listing *)(void *)mail;

    tv_admin_respond(l->req, l->is_known ? 200 : tv_admin_refuse(l->req, 404, no_mark));
}

int tv_admin_get_shapes(tv_admin *admin, tv_request *req)
{
    listing *l = tv_arena_zalloc(&req->arena, sizeof *l);

    if (!tv_parameters_get(&req->query, &req->arena, TV_LIT("account"), &l->asked.account) ||
        !tv_parameters_get(&req->query, &req->arena, TV_LIT("table"), &l->asked.table) ||
        !tv_parameters_get(&req->query, &req->arena, TV_LIT("since"), &l->asked.since))
        return tv_admin_refuse(req, 400, "the query string cannot be read");
    l->req = req;
    l->watch = admin->watch;
    return tv_admin_run_later(admin, req, &l->task, run, on_listed);
}
