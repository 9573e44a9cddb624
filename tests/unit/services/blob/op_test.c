/* What a request asks of the Blob service: method, path, restype, comp and headers. */
#include "services/blob/call.h"

#include "check.h"
#include "requests.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define GUID "01234567-89ab-cdef-0123-456789abcdef"

static tv_request request;
static tv_blob_call call;

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&request.arena);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_arena_done(&request.arena);
    return 0;
}

/* Both steps, as for an account "acct" in path style. */
static tv_err parse(const char *method, const char *target, const char *headers)
{
    static tv_service service = {.spec = &tv_blob_spec};
    tv_arena arena = request.arena;
    tv_err err;

    request = request_new(&arena, method, target, headers);
    request.arena = arena;
    call = (tv_blob_call){0};
    tv_call_init(&call.base, &service, &request);
    call.base.endpoint = request_endpoint(&request.arena, &request);
    err = tv_blob_spec.read_path(&call.base);
    return err ? err : tv_call_choose(&call.base);
}

static const char *name_of(tv_blob_op op)
{
    return tv_blob_spec.ops[op].name;
}

/* --- which operation --- */

static const struct {
    const char *method, *target, *headers;
    tv_err err;
    tv_blob_op kind;
} operations[] = {
    {"GET", "?comp=list", "", TV_OK, TV_BLOB_OP_LIST_CONTAINERS},
    {"GET", "?restype=service&comp=properties", "", TV_OK, TV_BLOB_OP_GET_SERVICE_PROPERTIES},
    {"PUT", "?restype=service&comp=properties", "", TV_OK, TV_BLOB_OP_SET_SERVICE_PROPERTIES},
    {"GET", "?restype=service&comp=stats", "", TV_OK, TV_BLOB_OP_GET_SERVICE_STATS},
    {"GET", "?restype=account&comp=properties", "", TV_OK, TV_BLOB_OP_GET_ACCOUNT_INFO},
    {"HEAD", "con?restype=account&comp=properties", "", TV_OK, TV_BLOB_OP_GET_ACCOUNT_INFO},
    {"GET", "con/b?restype=account&comp=properties", "", TV_OK, TV_BLOB_OP_GET_ACCOUNT_INFO},
    {"PUT", "con?restype=container", "", TV_OK, TV_BLOB_OP_CREATE_CONTAINER},
    {"PUT", "con/?restype=container", "", TV_OK, TV_BLOB_OP_CREATE_CONTAINER},
    {"GET", "con?restype=container", "", TV_OK, TV_BLOB_OP_GET_CONTAINER_PROPERTIES},
    {"HEAD", "con?restype=container", "", TV_OK, TV_BLOB_OP_GET_CONTAINER_PROPERTIES},
    {"DELETE", "con?restype=container", "", TV_OK, TV_BLOB_OP_DELETE_CONTAINER},
    {"GET", "con?restype=container&comp=metadata", "", TV_OK, TV_BLOB_OP_GET_CONTAINER_METADATA},
    {"PUT", "con?restype=container&comp=metadata", "", TV_OK, TV_BLOB_OP_SET_CONTAINER_METADATA},
    {"GET", "con?restype=container&comp=acl", "", TV_OK, TV_BLOB_OP_GET_CONTAINER_ACL},
    {"PUT", "con?restype=container&comp=acl", "", TV_OK, TV_BLOB_OP_SET_CONTAINER_ACL},
    {"GET", "con?restype=container&comp=list", "", TV_OK, TV_BLOB_OP_LIST_BLOBS},
    {"PUT", "con/b", "x-ms-blob-type: BlockBlob\n", TV_OK, TV_BLOB_OP_PUT_BLOB},
    {"PUT", "con/b", "x-ms-blob-type: AppendBlob\n", TV_OK, TV_BLOB_OP_PUT_BLOB},
    {"PUT", "con/b", "x-ms-blob-type: PageBlob\n", TV_ERR_PAGE_BLOB, TV_BLOB_OP_PUT_BLOB},
    {"PUT", "con/b", "x-ms-blob-type: Cobblestone\n", TV_ERR_INVALID_HEADER, TV_BLOB_OP_PUT_BLOB},
    {"PUT", "con/b", "", TV_ERR_MISSING_HEADER, TV_BLOB_OP_PUT_BLOB},
    {"PUT", "con/b", "x-ms-copy-source: http://x/\n", TV_OK, TV_BLOB_OP_COPY_BLOB},
    {"PUT", "con/b", "x-ms-copy-source: http://x/\nx-ms-requires-sync: true\n", TV_OK,
     TV_BLOB_OP_COPY_BLOB_FROM_URL},
    {"PUT", "con/b", "x-ms-copy-source: http://x/\nx-ms-blob-type: BlockBlob\n",
     TV_ERR_NOT_IMPLEMENTED, TV_BLOB_OP_PUT_BLOB},
    {"GET", "con/b", "", TV_OK, TV_BLOB_OP_GET_BLOB},
    {"HEAD", "con/b", "", TV_OK, TV_BLOB_OP_GET_BLOB_PROPERTIES},
    {"DELETE", "con/b", "", TV_OK, TV_BLOB_OP_DELETE_BLOB},
    {"POST", "con/b", "", TV_ERR_UNSUPPORTED_VERB, TV_BLOB_OP_UNKNOWN},
    {"BREW", "con/b", "", TV_ERR_INVALID_VERB, TV_BLOB_OP_UNKNOWN},
    {"PUT", "con/b?comp=block&blockid=AA", "", TV_OK, TV_BLOB_OP_PUT_BLOCK},
    {"PUT", "con/b?comp=block", "x-ms-copy-source: http://x/\n", TV_ERR_NOT_IMPLEMENTED,
     TV_BLOB_OP_PUT_BLOCK},
    {"PUT", "con/b?comp=blocklist", "", TV_OK, TV_BLOB_OP_PUT_BLOCK_LIST},
    {"GET", "con/b?comp=blocklist", "", TV_OK, TV_BLOB_OP_GET_BLOCK_LIST},
    {"PUT", "con/b?comp=appendblock", "", TV_OK, TV_BLOB_OP_APPEND_BLOCK},
    {"PUT", "con/b?comp=appendblock", "x-ms-copy-source: http://x/\n", TV_ERR_NOT_IMPLEMENTED,
     TV_BLOB_OP_APPEND_BLOCK},
    {"PUT", "con/b?comp=properties", "", TV_OK, TV_BLOB_OP_SET_BLOB_PROPERTIES},
    {"GET", "con/b?comp=metadata", "", TV_OK, TV_BLOB_OP_GET_BLOB_METADATA},
    {"HEAD", "con/b?comp=metadata", "", TV_OK, TV_BLOB_OP_GET_BLOB_METADATA},
    {"PUT", "con/b?comp=metadata", "", TV_OK, TV_BLOB_OP_SET_BLOB_METADATA},
    {"PUT", "con/b?comp=snapshot", "", TV_OK, TV_BLOB_OP_SNAPSHOT_BLOB},
    {"PUT", "con/b?comp=copy&copyid=1", "", TV_OK, TV_BLOB_OP_ABORT_COPY_BLOB},
    {"GET", "con/b?comp=copy", "", TV_ERR_UNSUPPORTED_VERB, TV_BLOB_OP_UNKNOWN},
    {"GET", "con/b?comp=nonsense", "", TV_ERR_INVALID_QUERY_PARAMETER, TV_BLOB_OP_UNKNOWN},
    {"GET", "con?restype=nonsense", "", TV_ERR_INVALID_QUERY_PARAMETER, TV_BLOB_OP_UNKNOWN},
    {"GET", "con/b?restype=container", "", TV_ERR_INVALID_QUERY_PARAMETER, TV_BLOB_OP_UNKNOWN},
    {"GET", "con?restype=service&comp=properties", "", TV_ERR_INVALID_QUERY_PARAMETER,
     TV_BLOB_OP_UNKNOWN},
    {"GET", "con/", "", TV_ERR_INVALID_URI, TV_BLOB_OP_UNKNOWN},
    {"GET", "/b", "", TV_ERR_INVALID_URI, TV_BLOB_OP_UNKNOWN},
    {"GET", "/b?restype=account&comp=properties", "", TV_ERR_INVALID_URI, TV_BLOB_OP_UNKNOWN},
    {"GET", "", "", TV_ERR_UNSUPPORTED_VERB, TV_BLOB_OP_UNKNOWN},
    {"GET", "con/%zz", "", TV_ERR_URL_UNPARSABLE, TV_BLOB_OP_UNKNOWN},
    {"GET", "con/%ff", "", TV_ERR_URL_UNPARSABLE, TV_BLOB_OP_UNKNOWN},
    /* What the cloud service has and this server does not. */
    {"PUT", "con/b?comp=page", "", TV_ERR_NOT_IMPLEMENTED, TV_BLOB_OP_UNKNOWN},
    {"GET", "con/b?comp=pagelist", "", TV_ERR_NOT_IMPLEMENTED, TV_BLOB_OP_UNKNOWN},
    {"PUT", "con/b?comp=incrementalcopy", "", TV_ERR_NOT_IMPLEMENTED, TV_BLOB_OP_UNKNOWN},
    {"PUT", "con/b?comp=tier", "", TV_ERR_NOT_IMPLEMENTED, TV_BLOB_OP_UNKNOWN},
    {"GET", "con/b?comp=tags", "", TV_ERR_NOT_IMPLEMENTED, TV_BLOB_OP_UNKNOWN},
    {"PUT", "con/b?comp=undelete", "", TV_ERR_NOT_IMPLEMENTED, TV_BLOB_OP_UNKNOWN},
    {"POST", "con/b?comp=query", "", TV_ERR_NOT_IMPLEMENTED, TV_BLOB_OP_UNKNOWN},
    {"POST", "?comp=batch", "", TV_ERR_NOT_IMPLEMENTED, TV_BLOB_OP_UNKNOWN},
    {"POST", "con?restype=container&comp=batch", "", TV_ERR_NOT_IMPLEMENTED, TV_BLOB_OP_UNKNOWN},
    {"POST", "?restype=service&comp=userdelegationkey", "", TV_ERR_NOT_IMPLEMENTED,
     TV_BLOB_OP_UNKNOWN},
    {"GET", "con/b?versionid=2026-01-02T03:04:05.0000000Z", "", TV_ERR_NOT_IMPLEMENTED,
     TV_BLOB_OP_GET_BLOB},
    {"PUT", "con/b", "x-ms-blob-type: BlockBlob\nx-ms-tags: a=b\n", TV_ERR_NOT_IMPLEMENTED,
     TV_BLOB_OP_PUT_BLOB},
    {"PUT", "con/b", "x-ms-blob-type: BlockBlob\nx-ms-encryption-key: k\n", TV_ERR_NOT_IMPLEMENTED,
     TV_BLOB_OP_PUT_BLOB},
    {"GET", "con/b", "x-ms-if-tags: a = 'b'\n", TV_ERR_NOT_IMPLEMENTED, TV_BLOB_OP_GET_BLOB},
};

TEST(method_path_and_parameters_make_an_operation)
{
    for (size_t i = 0; i < COUNT(operations); i++) {
        char row[200];

        snprintf(row, sizeof row, "%s %s %s", operations[i].method, operations[i].target,
                 operations[i].headers);
        t_row = row;
        CHECK_ERR(parse(operations[i].method, operations[i].target, operations[i].headers),
                  operations[i].err);
        CHECK_TEXT(tv_slice_of(call.base.op->name), name_of(operations[i].kind));
    }
}

/* --- names --- */

static const struct {
    const char *what, *target, *container, *blob;
    tv_err err;
} paths[] = {
    {"a blob", "con/b", "con", "b", TV_OK},
    {"slashes belong to the name", "con/a/b//c/", "con", "a/b//c/", TV_OK},
    {"the name is decoded", "con/a%2Fb%20c%25", "con", "a/b c%", TV_OK},
    {"plus is plus", "con/a+b", "con", "a+b", TV_OK},
    {"beyond ASCII", "con/%C3%A4%F0%9F%98%80", "con", "\xc3\xa4\xf0\x9f\x98\x80", TV_OK},
    {"one segment is a blob of the root", "index.html", "$root", "index.html", TV_OK},
    {"the root by its name", "$root/b", "$root", "b", TV_OK},
    {"logs", "$logs/b", "$logs", "b", TV_OK},
    {"another special one", "$other/b", "$other", "b", TV_ERR_NAME_INVALID},
    {"capitals", "Con/b", "Con", "b", TV_ERR_NAME_INVALID},
    {"two hyphens", "a--b/b", "a--b", "b", TV_ERR_NAME_INVALID},
    {"too short", "ab/b", "ab", "b", TV_ERR_NAME_LENGTH},
    {"a control character", "con/a%01", "con", "a\x01", TV_ERR_NAME_INVALID},
    {"delete is one too", "con/a%7f", "con", "a\x7f", TV_ERR_NAME_INVALID},
};

TEST(a_path_names_a_container_and_a_blob)
{
    for (size_t i = 0; i < COUNT(paths); i++) {
        t_row = paths[i].what;
        CHECK_ERR(parse("GET", paths[i].target, ""), paths[i].err);
        CHECK_TEXT(call.base.target.container, paths[i].container);
        CHECK_TEXT(call.base.target.blob, paths[i].blob);
    }
}

TEST(a_blob_name_has_at_most_1024_units)
{
    char target[1200] = "con/";
    memset(target + 4, 'x', 1024);
    CHECK_ERR(parse("GET", target, ""), TV_OK);
    memset(target + 4, 'x', 1025);
    CHECK_ERR(parse("GET", target, ""), TV_ERR_NAME_LENGTH);
}

/* --- snapshots --- */

TEST(a_snapshot_can_be_read_and_deleted_and_nothing_else)
{
#define SNAPSHOT "snapshot=2026-01-02T03:04:05.1234567Z"
    CHECK_ERR(parse("GET", "con/b?" SNAPSHOT, ""), TV_OK);
    CHECK_TEXT(call.base.target.snapshot, "2026-01-02T03:04:05.1234567Z");
    assert_true(call.args.snapshot % 10000000 == 1234567);
    CHECK_ERR(parse("HEAD", "con/b?" SNAPSHOT, ""), TV_OK);
    CHECK_ERR(parse("DELETE", "con/b?" SNAPSHOT, ""), TV_OK);
    CHECK_ERR(parse("GET", "con/b?comp=blocklist&" SNAPSHOT, ""), TV_OK);
    CHECK_ERR(parse("PUT", "con/b?" SNAPSHOT, "x-ms-blob-type: BlockBlob\n"),
              TV_ERR_INVALID_QUERY_PARAMETER);
    CHECK_ERR(parse("PUT", "con/b?comp=metadata&" SNAPSHOT, ""), TV_ERR_INVALID_QUERY_PARAMETER);
    CHECK_ERR(parse("GET", "con/b?snapshot=yesterday", ""), TV_ERR_INVALID_QUERY_PARAMETER);
    CHECK_ERR(parse("GET", "con/b?snapshot=", ""), TV_OK);
    assert_int_equal(call.args.snapshot, 0);
}

/* --- conditions --- */

TEST(conditions_are_read_from_their_headers)
{
    CHECK_ERR(parse("GET", "con/b", ""), TV_OK);
    assert_int_equal(call.args.conditions.if_match.test, TV_ETAG_ABSENT);
    assert_int_equal(call.args.conditions.if_none_match.test, TV_ETAG_ABSENT);
    assert_false(call.args.conditions.has_lease_id);

    CHECK_ERR(parse("DELETE", "con/b",
                    "If-Match: \"0x8DF4312BBB6D68C\"\nIf-None-Match: *\n"
                    "If-Modified-Since: Sun, 15 Nov 2026 12:19:44 GMT\n"
                    "If-Unmodified-Since: Sun, 15 Nov 2026 12:19:45 GMT\nx-ms-lease-id: " GUID
                    "\n"),
              TV_OK);
    assert_int_equal(call.args.conditions.if_match.test, TV_ETAG_IS);
    assert_true(call.args.conditions.if_match.etag == INT64_C(0x8DF4312BBB6D68C));
    assert_int_equal(call.args.conditions.if_none_match.test, TV_ETAG_ANY);
    assert_true(call.args.conditions.unmodified_since - call.args.conditions.modified_since ==
                10000000);
    assert_true(call.args.conditions.has_lease_id);

    CHECK_ERR(parse("GET", "con/b", "If-Modified-Since: soon\n"), TV_ERR_INVALID_HEADER);
    CHECK_ERR(parse("GET", "con/b", "x-ms-lease-id: mine\n"), TV_ERR_INVALID_HEADER);
}

TEST(copies_have_conditions_for_their_source)
{
    CHECK_ERR(parse("PUT", "con/b", "x-ms-copy-source: http://x/\nx-ms-source-if-match: *\n"),
              TV_OK);
    assert_int_equal(call.args.source_conditions.if_match.test, TV_ETAG_ANY);
    assert_int_equal(call.args.conditions.if_match.test, TV_ETAG_ABSENT);
    CHECK_ERR(
        parse("PUT", "con/b", "x-ms-copy-source: http://x/\nx-ms-source-if-modified-since: soon\n"),
        TV_ERR_INVALID_HEADER);
}

/* --- leases --- */

static const struct {
    const char *what, *headers;
    tv_err err;
    tv_blob_op kind;
} leases[] = {
    {"no action", "", TV_ERR_MISSING_HEADER, TV_BLOB_OP_ACQUIRE_BLOB_LEASE},
    {"an unknown action", "x-ms-lease-action: rent\n", TV_ERR_INVALID_HEADER,
     TV_BLOB_OP_ACQUIRE_BLOB_LEASE},
    {"acquire", "x-ms-lease-action: acquire\nx-ms-lease-duration: 15\n", TV_OK,
     TV_BLOB_OP_ACQUIRE_BLOB_LEASE},
    {"in capitals", "x-ms-lease-action: Acquire\nx-ms-lease-duration: -1\n", TV_OK,
     TV_BLOB_OP_ACQUIRE_BLOB_LEASE},
    {"without a duration", "x-ms-lease-action: acquire\n", TV_ERR_MISSING_HEADER,
     TV_BLOB_OP_ACQUIRE_BLOB_LEASE},
    {"too short", "x-ms-lease-action: acquire\nx-ms-lease-duration: 14\n", TV_ERR_INVALID_HEADER,
     TV_BLOB_OP_ACQUIRE_BLOB_LEASE},
    {"too long", "x-ms-lease-action: acquire\nx-ms-lease-duration: 61\n", TV_ERR_INVALID_HEADER,
     TV_BLOB_OP_ACQUIRE_BLOB_LEASE},
    {"a proposed id that is not valid",
     "x-ms-lease-action: acquire\nx-ms-lease-duration: 15\nx-ms-proposed-lease-id: x\n",
     TV_ERR_INVALID_HEADER, TV_BLOB_OP_ACQUIRE_BLOB_LEASE},
    {"renew", "x-ms-lease-action: renew\nx-ms-lease-id: " GUID "\n", TV_OK,
     TV_BLOB_OP_RENEW_BLOB_LEASE},
    {"renew without an id", "x-ms-lease-action: renew\n", TV_ERR_MISSING_HEADER,
     TV_BLOB_OP_ACQUIRE_BLOB_LEASE},
    {"change",
     "x-ms-lease-action: change\nx-ms-lease-id: " GUID "\nx-ms-proposed-lease-id: " GUID "\n",
     TV_OK, TV_BLOB_OP_CHANGE_BLOB_LEASE},
    {"change to nothing", "x-ms-lease-action: change\nx-ms-lease-id: " GUID "\n",
     TV_ERR_MISSING_HEADER, TV_BLOB_OP_ACQUIRE_BLOB_LEASE},
    {"release", "x-ms-lease-action: release\nx-ms-lease-id: " GUID "\n", TV_OK,
     TV_BLOB_OP_RELEASE_BLOB_LEASE},
    {"break", "x-ms-lease-action: break\n", TV_OK, TV_BLOB_OP_BREAK_BLOB_LEASE},
    {"break at once", "x-ms-lease-action: break\nx-ms-lease-break-period: 0\n", TV_OK,
     TV_BLOB_OP_BREAK_BLOB_LEASE},
    {"break too late", "x-ms-lease-action: break\nx-ms-lease-break-period: 61\n",
     TV_ERR_INVALID_HEADER, TV_BLOB_OP_ACQUIRE_BLOB_LEASE},
};

TEST(lease_operations_are_told_by_their_action)
{
    for (size_t i = 0; i < COUNT(leases); i++) {
        t_row = leases[i].what;
        CHECK_ERR(parse("PUT", "con/b?comp=lease", leases[i].headers), leases[i].err);
        CHECK_TEXT(tv_slice_of(call.base.op->name), name_of(leases[i].kind));
    }
}

TEST(a_container_is_leased_like_a_blob)
{
    CHECK_ERR(parse("PUT", "con?restype=container&comp=lease",
                    "x-ms-lease-action: break\nx-ms-lease-break-period: 7\n"),
              TV_OK);
    assert_int_equal(tv_call_kind(&call.base), TV_BLOB_OP_BREAK_CONTAINER_LEASE);
    assert_int_equal(call.args.lease.break_period_s, 7);
}

/* --- limits --- */

static const struct {
    const char *target, *version;
    uint64_t mib;
} limits[] = {
    {"con/b", "2021-12-02", 5000},
    {"con/b", "2019-12-12", 5000},
    {"con/b", "2019-07-07", 256},
    {"con/b", "2016-05-31", 256},
    {"con/b", "2015-12-11", 64},
    {"con/b", NULL, 5000},
    {"con/b?sv=2015-04-05", NULL, 64},
    {"con/b?sv=2015-04-05", "2021-12-02", 5000},
    {"con/b?comp=block", "2019-12-12", 4000},
    {"con/b?comp=block", "2018-11-09", 100},
    {"con/b?comp=block", "2015-12-11", 4},
    {"con/b?comp=appendblock", "2022-11-02", 100},
    {"con/b?comp=appendblock", "2021-12-02", 4},
    {"con/b?comp=blocklist", "2021-12-02", 8},
};

TEST(how_much_a_body_may_have_depends_on_the_version)
{
    for (size_t i = 0; i < COUNT(limits); i++) {
        char headers[200];
        t_row = limits[i].target;
        snprintf(headers, sizeof headers, "x-ms-blob-type: BlockBlob\n%s%s\n",
                 limits[i].version ? "x-ms-version: " : "",
                 limits[i].version ? limits[i].version : "");
        CHECK_ERR(parse("PUT", limits[i].target, headers), TV_OK);
        assert_true(tv_blob_body_bytes_max(&call.base) == limits[i].mib << 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(method_path_and_parameters_make_an_operation),
        cmocka_unit_test(a_path_names_a_container_and_a_blob),
        cmocka_unit_test(a_blob_name_has_at_most_1024_units),
        cmocka_unit_test(a_snapshot_can_be_read_and_deleted_and_nothing_else),
        cmocka_unit_test(conditions_are_read_from_their_headers),
        cmocka_unit_test(copies_have_conditions_for_their_source),
        cmocka_unit_test(lease_operations_are_told_by_their_action),
        cmocka_unit_test(a_container_is_leased_like_a_blob),
        cmocka_unit_test(how_much_a_body_may_have_depends_on_the_version),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
