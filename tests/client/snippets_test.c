/*
 * The snippets of the Table Design Guide in this API, as programmers would write them: they
 * compile, and find what the guide says.
 */
#include "live.h"

/* Laid out as in print, and with the guide's names. */
/* clang-format off */
#pragma GCC diagnostic ignored "-Wshadow"

typedef struct employee { const char *FirstName, *LastName, *Email; int32_t Age; } employee;
static const tavola_field employee_fields[] = {
    TAVOLA_FIELD(employee, FirstName, STRING), TAVOLA_FIELD(employee, LastName, STRING),
    TAVOLA_FIELD(employee, Email, STRING),     TAVOLA_FIELD(employee, Age, INT32), TAVOLA_FIELD_END};
typedef struct department { const char *DepartmentName; int32_t EmployeeCount; } department;
static const tavola_field department_fields[] = {
    TAVOLA_FIELD(department, DepartmentName, STRING), TAVOLA_FIELD(department, EmployeeCount, INT32),
    TAVOLA_FIELD_END};

/* ---- what the snippets work with ---- */

static int entities_used, employees_used, departments_used, errors_reported;

static void use_entity(const tavola_entity *entity)
{
    CHECK(tavola_entity_row_key(entity) != NULL);
    entities_used++;
}

static void use_employee(const employee *emp)
{
    CHECK(emp->FirstName != NULL && emp->Email != NULL && emp->Age > 0);
    employees_used++;
}

static void use_department(const department *dep)
{
    CHECK(dep->DepartmentName != NULL && dep->EmployeeCount > 0);
    departments_used++;
}

static void report(tavola_err err, tavola_call *call)
{
    (void)call;
    print_error("reported: %s\n", tavola_err_name(err));
    errors_reported++;
}

/* ---- the snippets ---- */

static void snippet_0(void)
{
    char key[20];
    tavola_ticks when;
    tavola_key_inverted(tavola_now(), key);
    if (tavola_key_from_inverted(key, &when)) printf("%" PRId64 "\n", when);
}

static void snippet_1(tavola_table *employees)
{
    tavola_entity *entity;
    tavola_err err = tavola_get(employees, "Sales", "212", NULL, &entity);
    if (err == TAVOLA_OK) {
        employee emp;
        if (tavola_entity_read(entity, employee_fields, &emp) == TAVOLA_OK) use_employee(&emp);
        tavola_entity_free(entity);
    } else if (err != TAVOLA_ERR_NOT_FOUND) {
        report(err, NULL);
    }
}

static void snippet_2(tavola_table *employees, tavola_call *call)
{
    tavola_query *query = tavola_query_new(
        TAVOLA_BIND("PartitionKey eq ? and RowKey ge ? and RowKey lt ?",
                    tavola_string("Sales"), tavola_string("B"), tavola_string("C")));
    tavola_scan *scan = NULL;
    const tavola_entity *entity;
    tavola_err err = tavola_scan_open(employees, query, call, &scan);
    while (err == TAVOLA_OK && (err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) use_entity(entity);
    if (err != TAVOLA_END) report(err, call);
    tavola_scan_close(scan);
    tavola_query_free(query);
}

static tavola_query *snippet_3(void)
{
    return tavola_query_new(tavola_and(
        tavola_and(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")),
                   tavola_where("RowKey", TAVOLA_GE, tavola_string("B"))),
        tavola_where("RowKey", TAVOLA_LT, tavola_string("C"))));
}

static tavola_query *snippet_3_short(void)
{
    return tavola_query_new(tavola_and(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")),
                                       tavola_where_prefix("RowKey", "B")));
}

static tavola_err snippet_4(tavola_table *employees, tavola_call *call)
{
    tavola_query *query = tavola_query_new(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")));
    tavola_scan *scan = NULL;
    const tavola_entity *entity;
    tavola_err err = tavola_scan_open(employees, query, call, &scan);
    while (err == TAVOLA_OK && (err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        employee emp;
        if (tavola_entity_read(entity, employee_fields, &emp) == TAVOLA_OK) use_employee(&emp);
    }
    tavola_scan_close(scan);
    tavola_query_free(query);
    return err == TAVOLA_END ? TAVOLA_OK : err;
}

static tavola_err many_entities_query(tavola_table *employees, const char *dept)
{
    tavola_query *query = tavola_query_new(TAVOLA_BIND("PartitionKey eq ?", tavola_string(dept)));
    tavola_page *page = NULL;
    tavola_err err;

    tavola_query_set_page_size(query, 50);              /* snippet 6: TakeCount = 50 */
    do {
        tavola_page *next;
        err = tavola_query_page(employees, query, page ? tavola_page_token(page) : NULL, NULL, &next);
        tavola_page_free(page);
        page = err ? NULL : next;
        for (size_t i = 0; page && i < tavola_page_count(page); i++)
            use_entity(tavola_page_at(page, i));
    } while (page && tavola_page_token(page));

    tavola_page_free(page);
    tavola_query_free(query);
    return err;
}

static void snippet_7(tavola_table *employees)
{
    static const char *const columns[] = {"Email", NULL};
    tavola_query *query = tavola_query_new(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")));
    tavola_query_select(query, columns);   /* PartitionKey, RowKey and Timestamp are added for us */
    tavola_scan *scan = NULL;
    const tavola_entity *e;
    const char *email;
    tavola_err err = tavola_scan_open(employees, query, NULL, &scan);
    while (err == TAVOLA_OK && (err = tavola_scan_next(scan, &e)) == TAVOLA_OK)
        if (tavola_entity_get_string(e, "Email", &email))
            printf("RowKey: %s, EmployeeEmail: %s\n", tavola_entity_row_key(e), email);
    tavola_scan_close(scan);
    tavola_query_free(query);
    CHECK_ERR(err, TAVOLA_END);
}

static void snippet_8(tavola_table *employees)
{
    tavola_query *query = tavola_query_new(
        TAVOLA_BIND("PartitionKey eq ? and RowKey ge ? and RowKey lt ?",
                    tavola_string("Sales"), tavola_string("B"), tavola_string("F")));
    tavola_scan *scan = NULL;
    const tavola_entity *e;
    const char *type;
    tavola_err err = tavola_scan_open(employees, query, NULL, &scan);
    while (err == TAVOLA_OK && (err = tavola_scan_next(scan, &e)) == TAVOLA_OK)
        if (tavola_entity_get_string(e, "EntityType", &type) && strcmp(type, "Employee") == 0)
            printf("%s %s %s\n", tavola_entity_partition_key(e), tavola_entity_row_key(e), tavola_entity_etag(e));
    tavola_scan_close(scan);
    tavola_query_free(query);
    CHECK_ERR(err, TAVOLA_END);
}

static tavola_err resolve(const tavola_entity *e)
{
    const char *type = "";
    tavola_err err = TAVOLA_ERR_INVALID;         /* unrecognized entity */
    employee emp;
    department dep;

    if (!tavola_entity_get_string(e, "EntityType", &type))
        return err;
    if (strcmp(type, "Department") == 0 && !(err = tavola_entity_read(e, department_fields, &dep)))
        use_department(&dep);
    else if (strcmp(type, "Employee") == 0 && !(err = tavola_entity_read(e, employee_fields, &emp)))
        use_employee(&emp);
    return err;
}

static tavola_err snippet_10(tavola_table *employees, const char *pk, const char *rk)
{
    tavola_entity *department;
    int32_t count;
    tavola_err err = tavola_get(employees, pk, rk, NULL, &department);
    if (err)
        return err;
    if (!tavola_entity_get_int32(department, "EmployeeCount", &count)) {
        err = TAVOLA_ERR_INVALID;                    /* no such property */
    } else {
        tavola_entity_set_int32(department, "EmployeeCount", count + 1);
        err = tavola_merge(employees, department, NULL, NULL);      /* NULL: its own etag */
    }
    tavola_entity_free(department);
    return err;
}

static tavola_err add_one(void *user, tavola_entity *e)
{
    int32_t count;
    (void)user;
    if (!tavola_entity_get_int32(e, "EmployeeCount", &count))
        return TAVOLA_ERR_INVALID;
    tavola_entity_set_int32(e, "EmployeeCount", count + 1);
    return TAVOLA_OK;
}

static tavola_err snippet_10_update(tavola_table *t, const char *pk, const char *rk)
{
    return tavola_update(t, pk, rk, add_one, NULL, NULL);
}

typedef struct walk { tavola_table *table; tavola_query *query; } walk;
static void on_page(void *user, tavola_op *op)
{
    walk *w = user;
    tavola_page *page = tavola_op_take_page(op);
    tavola_op *next;

    if (tavola_op_err(op)) report(tavola_op_err(op), tavola_op_call(op));
    for (size_t i = 0; page && i < tavola_page_count(page); i++) use_entity(tavola_page_at(page, i));
    if (page && tavola_page_token(page) &&
        tavola_start_page(w->table, w->query, tavola_page_token(page), on_page, w, NULL, &next))
        report(TAVOLA_ERR_NO_MEMORY, NULL);
    tavola_page_free(page);
    tavola_op_free(op);
}
static tavola_err many_entities_query_async(walk *w)
{
    tavola_op *op;
    return tavola_start_page(w->table, w->query, NULL, on_page, w, NULL, &op);  /* then tavola_poll() */
}

static tavola_err simple_employee_upsert(tavola_table *employees, tavola_entity *emp)
{
    tavola_call *call = tavola_call_new();
    tavola_err err = tavola_insert_or_replace(employees, emp, call);
    printf("HTTP Status: %d\n", tavola_call_status(call));
    tavola_call_free(call);
    return err;
}

static void on_upsert(void *user, tavola_op *op)
{
    (void)user;
    printf("HTTP Status: %d\n", tavola_call_status(tavola_op_call(op)));
    tavola_op_free(op);
}
static tavola_err simple_employee_upsert_async(tavola_table *employees, const tavola_entity *emp)
{
    tavola_op *op;
    return tavola_start_write(employees, TAVOLA_INSERT_OR_REPLACE, emp, NULL, on_upsert, NULL, NULL, &op);
}

/* clang-format on */

/* ---- and what they find ---- */

static void put_employee(const char *row_key, int32_t age)
{
    tavola_entity *entity = tavola_entity_new("Sales", row_key);

    tavola_entity_set_string(entity, "FirstName", "Jun");
    tavola_entity_set_string(entity, "LastName", "Cao");
    tavola_entity_set_string(entity, "Email", "junc@contoso.com");
    tavola_entity_set_int32(entity, "Age", age);
    tavola_entity_set_string(entity, "EntityType", "Employee");
    CHECK_OK(simple_employee_upsert(t.table, entity));
    tavola_entity_free(entity);
}

static void put_department(void)
{
    tavola_entity *entity = tavola_entity_new("Sales", "Department");

    tavola_entity_set_string(entity, "EntityType", "Department");
    tavola_entity_set_string(entity, "DepartmentName", "Sales");
    tavola_entity_set_int32(entity, "EmployeeCount", 153);
    CHECK_OK(tavola_insert(t.table, entity, t.call));
    tavola_entity_free(entity);
}

static void fill(void)
{
    char row_key[16];

    for (int i = 0; i < 120; i++) {
        snprintf(row_key, sizeof row_key, "B%03d", i);
        put_employee(row_key, 20 + i);
    }
    put_employee("212", 47);
    put_department();
    entities_used = employees_used = departments_used = errors_reported = 0;
}

TEST(the_snippets_of_the_guide_find_what_they_should)
{
    tavola_query *query;
    uint64_t count = 0;

    fill();
    snippet_0();
    snippet_1(t.table);
    CHECK_INT(employees_used, 1);
    snippet_2(t.table, t.call);
    CHECK_INT(entities_used, 120);

    query = snippet_3();
    CHECK_OK(tavola_count(t.table, query, t.call, &count));
    CHECK_INT(count, 120);
    tavola_query_free(query);
    query = snippet_3_short();
    CHECK_OK(tavola_count(t.table, query, t.call, &count));
    CHECK_INT(count, 120);
    tavola_query_free(query);

    employees_used = 0;
    CHECK_OK(snippet_4(t.table, t.call));
    CHECK_INT(employees_used, 121); /* the department is no employee */
    entities_used = 0;
    CHECK_OK(many_entities_query(t.table, "Sales"));
    CHECK_INT(entities_used, 122);
    snippet_7(t.table);
    snippet_8(t.table);
    CHECK_INT(errors_reported, 0);
}

TEST(the_snippets_of_the_guide_tell_types_apart)
{
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;

    fill();
    CHECK_OK(tavola_scan_open(t.table, NULL, t.call, &scan));
    while (tavola_scan_next(scan, &entity) == TAVOLA_OK)
        CHECK_OK(resolve(entity));
    tavola_scan_close(scan);
    CHECK_INT(employees_used, 121);
    CHECK_INT(departments_used, 1);
}

TEST(the_snippets_of_the_guide_count_up)
{
    tavola_entity *entity = NULL;
    int32_t count = 0;

    put_department();
    CHECK_OK(snippet_10(t.table, "Sales", "Department"));
    CHECK_OK(snippet_10_update(t.table, "Sales", "Department"));
    CHECK_OK(tavola_get(t.table, "Sales", "Department", t.call, &entity));
    CHECK(tavola_entity_get_int32(entity, "EmployeeCount", &count));
    CHECK_INT(count, 155);
    tavola_entity_free(entity);
}

TEST(the_asynchronous_snippets_of_the_guide_run)
{
    walk walk_all = {.table = t.table, .query = tavola_query_new(NULL)};
    tavola_entity *entity = new_entity("Sales", "new", 1);

    fill();
    tavola_query_set_page_size(walk_all.query, 50);
    CHECK_OK(many_entities_query_async(&walk_all));
    while (entities_used < 122)
        CHECK(tavola_poll(t.client, 60000) > 0);
    CHECK_INT(errors_reported, 0);
    CHECK_OK(simple_employee_upsert_async(t.table, entity));
    CHECK_INT(tavola_poll(t.client, 60000), 1);
    CHECK(is_stored("Sales", "new"));
    tavola_query_free(walk_all.query);
    tavola_entity_free(entity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(the_snippets_of_the_guide_find_what_they_should),
        LIVE_TEST(the_snippets_of_the_guide_tell_types_apart),
        LIVE_TEST(the_snippets_of_the_guide_count_up),
        LIVE_TEST(the_asynchronous_snippets_of_the_guide_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
