/* Structs of the application as entities, and back. */
#include "base/clock.h"
#include "check.h"
#include "client/entity/entity.h"
#include "client/memory_faults.h"

typedef struct address {
    const char *City;
    int32_t Zip;
} address;

typedef struct person {
    const char *dept, *id;
    tavola_ticks changed;
    const char *Name, *Nick;
    tavola_bytes Photo, Scan;
    bool Active;
    int32_t Age;
    int64_t Salary;
    double Rating;
    tavola_ticks Born;
    tavola_guid Badge;
    address Address;
} person;

static const tavola_field person_fields[] = {
    TAVOLA_FIELD_AS(person, dept, STRING, "PartitionKey", 0),
    TAVOLA_FIELD_AS(person, id, STRING, "RowKey", 0),
    TAVOLA_FIELD_AS(person, changed, DATETIME, "Timestamp", 0),
    TAVOLA_FIELD(person, Name, STRING),
    TAVOLA_FIELD_AS(person, Nick, STRING, "NickName", TAVOLA_FIELD_OPTIONAL),
    TAVOLA_FIELD(person, Photo, BINARY),
    TAVOLA_FIELD_AS(person, Scan, BINARY, "Scan", TAVOLA_FIELD_OPTIONAL),
    TAVOLA_FIELD(person, Active, BOOLEAN),
    TAVOLA_FIELD_AS(person, Age, INT32, "Age", TAVOLA_FIELD_OPTIONAL),
    TAVOLA_FIELD_AS(person, Salary, INT64, "Salary", TAVOLA_FIELD_ENCRYPT),
    TAVOLA_FIELD(person, Rating, DOUBLE),
    TAVOLA_FIELD(person, Born, DATETIME),
    TAVOLA_FIELD(person, Badge, GUID),
    TAVOLA_FIELD_IN(person, Address, City, STRING),
    TAVOLA_FIELD_IN(person, Address, Zip, INT32),
    TAVOLA_FIELD_END,
};

static const person ada = {
    .dept = "Sales",
    .id = "000223",
    .changed = 5,
    .Name = "Ada",
    .Photo = {"\x00\x01", 2},
    .Active = true,
    .Age = -36,
    .Salary = INT64_MAX,
    .Rating = 4.5,
    .Born = INT64_C(639029198451234567),
    .Badge = {{1, 2, 3}},
    .Address = {"London", 1843},
};

TEST(makes_an_entity_of_a_struct)
{
    tavola_entity *entity = NULL;

    assert_int_equal(tavola_entity_from(person_fields, &ada, &entity), TAVOLA_OK);

    char *json = tavola_entity_json(entity);

    assert_string_equal(
        json, "{\"PartitionKey\":\"Sales\",\"RowKey\":\"000223\",\"Name\":\"Ada\","
              "\"Photo@odata.type\":\"Edm.Binary\",\"Photo\":\"AAE=\",\"Active\":true,\"Age\":-36,"
              "\"Salary@odata.type\":\"Edm.Int64\",\"Salary\":\"9223372036854775807\","
              "\"Rating\":4.5,\"Born@odata.type\":\"Edm.DateTime\","
              "\"Born\":\"2026-01-02T03:04:05.1234567Z\",\"Badge@odata.type\":\"Edm.Guid\","
              "\"Badge\":\"01020300-0000-0000-0000-000000000000\",\"Address_City\":\"London\","
              "\"Address_Zip\":1843}");
    tavola_free(json);

    for (size_t i = 0; i < tavola_entity_count(entity); i++) {
        bool is_salary = strcmp(tavola_entity_name_at(entity, i, NULL), "Salary") == 0;

        assert_int_equal(entity->properties[i].is_secret, is_salary);
    }

    tavola_entity *copy = tavola_entity_copy(entity);

    assert_true(copy->properties[tvc_entity_find(copy, TV_LIT("Salary"))].is_secret);
    tavola_entity_free(copy);
    tavola_entity_free(entity);
}

TEST(fills_a_struct_from_an_entity)
{
    tavola_entity *entity = NULL;
    person got;

    assert_int_equal(tavola_entity_from(person_fields, &ada, &entity), TAVOLA_OK);
    entity->timestamp = INT64_C(639029198450000000);
    memset(&got, 0xff, sizeof got);
    assert_int_equal(tavola_entity_read(entity, person_fields, &got), TAVOLA_OK);
    assert_string_equal(got.dept, "Sales");
    assert_string_equal(got.id, "000223");
    assert_int_equal(got.changed, entity->timestamp);
    assert_string_equal(got.Name, "Ada");
    assert_null(got.Nick);
    assert_int_equal(got.Photo.size, 2);
    assert_memory_equal(got.Photo.data, "\x00\x01", 2);
    assert_null(got.Scan.data);
    assert_int_equal(got.Scan.size, 0);
    assert_true(got.Active);
    assert_int_equal(got.Age, -36);
    assert_int_equal(got.Salary, INT64_MAX);
    assert_true(got.Rating == 4.5);
    assert_int_equal(got.Born, ada.Born);
    assert_memory_equal(&got.Badge, &ada.Badge, sizeof got.Badge);
    assert_string_equal(got.Address.City, "London");
    assert_int_equal(got.Address.Zip, 1843);
    tavola_entity_free(entity);
}

/* One property of Ada's entity is changed; whether the struct can still be filled. */
TEST(fills_a_struct_only_as_a_whole)
{
    static const struct {
        const char *label, *name;
        tavola_value value; /* NONE: unset */
        tavola_err err;
    } cases[] = {
        {"absent", "Name", {.type = TAVOLA_NONE}, TAVOLA_ERR_INVALID},
        {"absent and optional", "Age", {.type = TAVOLA_NONE}, TAVOLA_OK},
        {"another type", "Name", {.type = TAVOLA_INT32}, TAVOLA_ERR_INVALID},
        {"optional, but of another type", "Age", {.type = TAVOLA_INT64}, TAVOLA_ERR_INVALID},
        {"Int32 for Int64", "Salary", {.type = TAVOLA_INT32}, TAVOLA_OK},
        {"Int32 for Double", "Rating", {.type = TAVOLA_INT32}, TAVOLA_OK},
        {"Int64 for Double", "Rating", {.type = TAVOLA_INT64}, TAVOLA_ERR_INVALID},
        {"more than there are fields", "More", {.type = TAVOLA_INT64}, TAVOLA_OK},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_entity *entity = NULL;
        person got, before;

        t_row = cases[i].label;
        memset(&got, 0xff, sizeof got);
        before = got;
        CHECK_INT(tavola_entity_from(person_fields, &ada, &entity), TAVOLA_OK);
        if (cases[i].value.type == TAVOLA_NONE)
            tavola_entity_unset(entity, cases[i].name);
        else
            tavola_entity_set(entity, cases[i].name, cases[i].value);
        CHECK_INT(tavola_entity_read(entity, person_fields, &got), cases[i].err);
        if (cases[i].err)
            CHECK(memcmp(&got, &before, sizeof got) == 0);
        else if (strcmp(cases[i].name, "Age") == 0)
            CHECK_INT(got.Age, 0);
        tavola_entity_free(entity);
    }
}

TEST(refuses_structs_and_fields)
{
    static const tavola_field no_keys[] = {TAVOLA_FIELD(person, Name, STRING), TAVOLA_FIELD_END};
    static const tavola_field odd_key[] = {TAVOLA_FIELD_AS(person, Age, INT32, "PartitionKey", 0),
                                           TAVOLA_FIELD_AS(person, id, STRING, "RowKey", 0),
                                           TAVOLA_FIELD_END};
    static const tavola_field no_type[] = {TAVOLA_FIELD_AS(person, dept, STRING, "PartitionKey", 0),
                                           TAVOLA_FIELD_AS(person, id, STRING, "RowKey", 0),
                                           TAVOLA_FIELD(person, Name, NONE), TAVOLA_FIELD_END};
    static const tavola_field odd_name[] = {
        TAVOLA_FIELD_AS(person, dept, STRING, "PartitionKey", 0),
        TAVOLA_FIELD_AS(person, id, STRING, "RowKey", 0),
        TAVOLA_FIELD_AS(person, Name, STRING, "first name", 0), TAVOLA_FIELD_END};
    person nameless = ada, keyless = ada, old = ada, got;
    tavola_entity *entity = NULL;

    nameless.Name = NULL;
    keyless.id = NULL;
    old.Born = 0;
    const struct {
        const char *label;
        const tavola_field *fields;
        const void *object;
    } cases[] = {
        {"no keys", no_keys, &ada},
        {"a key that is no string", odd_key, &ada},
        {"a field without a type", no_type, &ada},
        {"a name that cannot be", odd_name, &ada},
        {"a null that is not optional", person_fields, &nameless},
        {"a null for a key", person_fields, &keyless},
        {"a time before 1601", person_fields, &old},
        {"no fields", NULL, &ada},
        {"no object", person_fields, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].label;
        CHECK_INT(tavola_entity_from(cases[i].fields, cases[i].object, &entity),
                  TAVOLA_ERR_INVALID);
        CHECK(entity == NULL);
    }

    assert_int_equal(tavola_entity_read(NULL, person_fields, &got), TAVOLA_ERR_INVALID);
    assert_int_equal(tavola_entity_from(person_fields, &ada, &entity), TAVOLA_OK);
    assert_int_equal(tavola_entity_read(entity, NULL, &got), TAVOLA_ERR_INVALID);
    assert_int_equal(tavola_entity_read(entity, odd_key, &got), TAVOLA_ERR_INVALID);
    assert_int_equal(tavola_entity_read(entity, no_type, &got), TAVOLA_ERR_INVALID);
    assert_int_equal(tavola_entity_read(entity, person_fields, NULL), TAVOLA_ERR_INVALID);
    tavola_entity_free(entity);
}

TEST(survives_a_lack_of_memory)
{
    MEMORY_FAULTS(fault)
    {
        tavola_entity *entity = NULL;
        tavola_err err = tavola_entity_from(person_fields, &ada, &entity);

        if (err) {
            assert_int_equal(err, TAVOLA_ERR_NO_MEMORY);
            assert_true(memory_fault_was_hit());
        }
        tavola_entity_free(entity);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_an_entity_of_a_struct),
        cmocka_unit_test(fills_a_struct_from_an_entity),
        cmocka_unit_test(fills_a_struct_only_as_a_whole),
        cmocka_unit_test(refuses_structs_and_fields),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
