/* Employees with indexes by id, e-mail and badge: what the tests of both index patterns share. */
#ifndef TAVOLA_TESTS_CLIENT_EMPLOYEES_H
#define TAVOLA_TESTS_CLIENT_EMPLOYEES_H

#include "patterns.h"

static const char *const name_only[] = {"Name", NULL};
static const tavola_index indexes[] = {
    {"empid_", "RowKey", NULL}, {"email_", "Email", NULL}, {"badge_", "Badge", name_only}};

enum { BY_ID, BY_EMAIL, BY_BADGE, INDEXES };

static tavola_indexed *employees;

static inline tavola_entity *employee(const char *id, const char *email, const char *badge)
{
    tavola_entity *entity = tavola_entity_new("Sales", id);

    tavola_entity_set_string(entity, "Name", "Jun Cao");
    tavola_entity_set_int32(entity, "Age", 34);
    if (email)
        tavola_entity_set_string(entity, "Email", email);
    if (badge)
        tavola_entity_set_string(entity, "Badge", badge);
    return entity;
}

static inline tavola_err put_on(tavola_indexed *on, const char *id, const char *email,
                                const char *badge)
{
    tavola_entity *entity = employee(id, email, badge);
    tavola_err err = tavola_indexed_put(on, entity, t.call);

    tavola_entity_free(entity);
    return err;
}

static inline tavola_err put(const char *id, const char *email, const char *badge)
{
    return put_on(employees, id, email, badge);
}

static inline tavola_err delete (const char *id)
{
    return tavola_indexed_delete(employees, "Sales", id, TAVOLA_ANY, t.call);
}

static inline tavola_entity *get(int by, const char *value)
{
    tavola_entity *entity = NULL;
    tavola_err err =
        tavola_indexed_get(employees, indexes[by].property, "Sales", value, t.call, &entity);

    if (err != TAVOLA_ERR_NOT_FOUND)
        CHECK_OK(err);
    return entity;
}

static inline bool has(int by, const char *value)
{
    tavola_entity *entity = get(by, value);

    tavola_entity_free(entity);
    return entity != NULL;
}

static inline tavola_err grow_older(void *user, tavola_entity *entity)
{
    (void)user;
    tavola_entity_set_int32(entity, "Age", 99);
    return TAVOLA_OK;
}

#endif
