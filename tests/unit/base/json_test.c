/* The JSON reader and the writer of strings. */
#include "base/json.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tv_arena arena;

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_arena_done(&arena);
    return 0;
}

/*
 * Read all of `text` and write what was read as lines "name|kind|text".  The
 * copy on the heap has just its size, so that reading past its end is seen.
 */
static bool read_members(tv_slice text, tv_buf *buf, bool is_list)
{
    static const char kinds[] = {
        [TV_JSON_NULL] = '0',   [TV_JSON_TRUE] = 't',   [TV_JSON_FALSE] = 'f',
        [TV_JSON_NUMBER] = 'n', [TV_JSON_STRING] = 's', [TV_JSON_NESTED] = '['};
    char *copy = tv_malloc(text.len);
    tv_json_reader reader;
    tv_json_member member;

    if (text.len)
        memcpy(copy, text.data, text.len);
    (is_list ? tv_json_reader_init_list : tv_json_reader_init)(&reader, &arena,
                                                               (tv_slice){copy, text.len});
    while (tv_json_next(&reader, &member)) {
        CHECK(member.kind == TV_JSON_STRING ? member.raw.data[0] == '"'
                                            : tv_slice_eq(member.raw, member.text));
        tv_buf_add(buf, member.name);
        tv_buf_printf(buf, "|%c|", kinds[member.kind]);
        tv_buf_add(buf, member.text);
        tv_buf_add_char(buf, '\n');
    }

    /* The end stays the end. */
    bool failed = reader.failed;
    CHECK(!tv_json_next(&reader, &member));
    CHECK_INT(reader.failed, failed);
    free(copy);
    return !failed;
}

static bool read_all(tv_slice text, tv_buf *buf)
{
    return read_members(text, buf, false);
}

static const struct {
    const char *what, *text, *members;
} accepted[] = {
    {"an empty object", "{}", ""},
    {"blanks everywhere", " \t\r\n{ \"a\" : 1 , \"b\" : [ ] } \n", "a|n|1\nb|[|[ ]\n"},
    {"every kind", "{\"n\":null,\"t\":true,\"f\":false,\"i\":-7,\"s\":\"x\",\"o\":{},\"a\":[1]}",
     "n|0|null\nt|t|true\nf|f|false\ni|n|-7\ns|s|x\no|[|{}\na|[|[1]\n"},
    {"numbers keep their text", "{\"a\":20.0,\"b\":20,\"c\":1E+5,\"d\":-0,\"e\":0.10}",
     "a|n|20.0\nb|n|20\nc|n|1E+5\nd|n|-0\ne|n|0.10\n"},
    {"numbers of any size", "{\"a\":18446744073709551616,\"b\":1e400}",
     "a|n|18446744073709551616\nb|n|1e400\n"},
    {"duplicate names", "{\"a\":1,\"a\":2}", "a|n|1\na|n|2\n"},
    {"an empty name", "{\"\":\"\"}", "|s|\n"},
    {"all short escapes", "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "a|s|\"\\/\b\f\n\r\t\n"},
    {"escapes in a name", "{\"\\u0061\\u00e9\":1}", "a\xC3\xA9|n|1\n"},
    {"hexadecimal digits in any case", "{\"a\":\"\\u20ac\\u20AC\"}",
     "a|s|\xE2\x82\xAC\xE2\x82\xAC\n"},
    {"a surrogate pair", "{\"a\":\"\\uD83D\\ude00\"}", "a|s|\xF0\x9F\x98\x80\n"},
    {"raw UTF-8", "{\"\xC3\xA9\":\"\xF0\x9F\x98\x80\"}", "\xC3\xA9|s|\xF0\x9F\x98\x80\n"},
    {"DEL is not a control character to JSON", "{\"a\":\"\x7F\"}", "a|s|\x7F\n"},
    {"an escape in each place of a word",
     "{\"a\":\"\\n1234567\",\"b\":\"1234567\\n\",\"c\":\"123456\\n7890123456\\n\"}",
     "a|s|\n1234567\nb|s|1234567\n\nc|s|123456\n7890123456\n\n"},
    {"a quote in each place of a word",
     "{\"a\":\"\",\"b\":\"1\",\"c\":\"12\",\"d\":\"123\",\"e\":\"1234\",\"f\":\"12345\","
     "\"g\":\"123456\",\"h\":\"1234567\",\"i\":\"12345678\",\"j\":\"123456789\"}",
     "a|s|\nb|s|1\nc|s|12\nd|s|123\ne|s|1234\nf|s|12345\ng|s|123456\nh|s|1234567\ni|s|12345678\n"
     "j|s|123456789\n"},
    {"nested values are handed out as they are", "{\"a\":{\"b\" : [1, {\"c\":\"\\n\"}, []]}}",
     "a|[|{\"b\" : [1, {\"c\":\"\\n\"}, []]}\n"},
};

TEST(strict_json_is_read)
{
    for (size_t i = 0; i < COUNT(accepted); i++) {
        tv_buf buf = TV_BUF_EMPTY;

        t_row = accepted[i].what;
        CHECK(read_all(tv_slice_of(accepted[i].text), &buf));
        CHECK_TEXT(tv_buf_slice(&buf), accepted[i].members);
        tv_buf_done(&buf);
    }
}

static const struct {
    const char *what, *text;
} refused[] = {
    {"nothing", ""},
    {"blanks alone", "  "},
    {"an open brace", "{"},
    {"an array", "[1]"},
    {"a string", "\"a\""},
    {"a byte order mark", "\xEF\xBB\xBF{}"},
    {"text after the object", "{\"a\":1}x"},
    {"text after an empty object", "{}x"},
    {"two objects", "{}{}"},
    {"a comma after the last member", "{\"a\":1,}"},
    {"a comma alone", "{,}"},
    {"no comma", "{\"a\":1 \"b\":2}"},
    {"no colon", "{\"a\" 1}"},
    {"no value", "{\"a\":}"},
    {"no value and no end", "{\"a\":"},
    {"a name without quotes", "{a:1}"},
    {"a name in single quotes", "{'a':1}"},
    {"a number as a name", "{1:1}"},
    {"an open member", "{\"a\":1"},
    {"an open member after a comma", "{\"a\":1,"},
    {"a comment", "{/**/}"},
    {"a cut literal", "{\"a\":tru}"},
    {"a literal at the end", "{\"a\":nul"},
    {"a literal with a tail", "{\"a\":truex}"},
    {"a literal in upper case", "{\"a\":TRUE}"},
    {"NaN", "{\"a\":NaN}"},
    {"a leading zero", "{\"a\":01}"},
    {"a leading zero after a sign", "{\"a\":-01}"},
    {"a leading point", "{\"a\":.5}"},
    {"a trailing point", "{\"a\":5.}"},
    {"an empty exponent", "{\"a\":5e}"},
    {"an exponent of a sign", "{\"a\":5e+}"},
    {"a plus sign", "{\"a\":+5}"},
    {"a minus sign alone", "{\"a\":-}"},
    {"a minus sign at the end", "{\"a\":-"},
    {"hexadecimal", "{\"a\":0x10}"},
    {"two points", "{\"a\":1.5.5}"},
    {"an open string", "{\"a\":\"b"},
    {"an open string of a whole word", "{\"a\":\"1234567890123456"},
    {"an escaped quote at the end", "{\"a\":\"\\\"}"},
    {"a backslash at the end", "{\"a\":\"\\"},
    {"an unknown escape", "{\"a\":\"\\x41\"}"},
    {"an escaped quote that is single", "{\"a\":\"\\'\"}"},
    {"a capital U", "{\"a\":\"\\U0041\"}"},
    {"a short unicode escape", "{\"a\":\"\\u004\"}"},
    {"a foreign hexadecimal digit", "{\"a\":\"\\u00g4\"}"},
    {"a lone high surrogate", "{\"a\":\"\\ud83d\"}"},
    {"a high surrogate and a letter", "{\"a\":\"\\ud83dx\"}"},
    {"a high surrogate and another escape", "{\"a\":\"\\ud83d\\n1234\"}"},
    {"two high surrogates", "{\"a\":\"\\ud83d\\ud83d\"}"},
    {"a lone low surrogate", "{\"a\":\"\\ude00\"}"},
    {"a low before a high surrogate", "{\"a\":\"\\ude00\\ud83d\"}"},
    {"a raw tab", "{\"a\":\"\t\"}"},
    {"a raw line end in a name", "{\"a\n\":1}"},
    {"a control character after a word", "{\"a\":\"12345678\x1F\"}"},
    {"a control character inside a word", "{\"a\":\"123\x1F"
                                          "5678901234567890\"}"},
    {"bad UTF-8", "{\"a\":\"\xFF\"}"},
    {"bad UTF-8 in a name", "{\"\xC3\":1}"},
    {"bad UTF-8 after an escape", "{\"a\":\"\\u00e9\x80\"}"},
    {"bad UTF-8 right after a backslash", "{\"a\":\"\\\xFF\"}"},
    {"a raw surrogate", "{\"a\":\"\xED\xA0\x80\"}"},
    {"an overlong quote", "{\"a\":\"\xC0\xA2\"}"},
    {"bad UTF-8 outside of strings", "{\"a\":1\xFF}"},
    {"a form feed as a blank", "{\f}"},
    {"a nested trailing comma", "{\"a\":[1,]}"},
    {"a nested comma alone", "{\"a\":[,]}"},
    {"a nested open array", "{\"a\":[1}"},
    {"a nested open object", "{\"a\":{\"b\":1}"},
    {"nested brackets that do not match", "{\"a\":[1}]}"},
    {"a nested name without quotes", "{\"a\":{b:1}}"},
    {"a nested bad escape", "{\"a\":[\"\\x\"]}"},
    {"a nested bad number", "{\"a\":[01]}"},
    {"nested bad UTF-8", "{\"a\":[\"\xFF\"]}"},
};

TEST(everything_else_is_refused)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        tv_buf buf = TV_BUF_EMPTY;

        t_row = refused[i].what;
        CHECK(!read_all(tv_slice_of(refused[i].text), &buf));
        tv_buf_done(&buf);
    }
}

TEST(every_prefix_of_an_object_is_refused)
{
    tv_slice text = TV_LIT("{\"a\":\"\\ud83d\\ude00\\n\",\"b\":[1.5e+5,{\"c\":null}],\"d\":-0.5}");

    for (size_t len = 0; len < text.len; len++) {
        tv_buf buf = TV_BUF_EMPTY;

        CHECK(!read_all(tv_slice_take(text, len), &buf));
        tv_buf_done(&buf);
    }
}

TEST(a_list_is_read_as_members_without_names)
{
    tv_slice text = TV_LIT(" [ \"\\u00e9\", 1.50 ,{\"a\":[]},null ] ");
    static const char *const bad[] = {"{}", "[", "[1,]", "[,1]", "[1 2]", "[1}", "[] 1", "1", ""};
    tv_buf buf = TV_BUF_EMPTY;

    CHECK(read_members(text, &buf, true));
    CHECK_SLICE(tv_buf_slice(&buf), TV_LIT("|s|\u00e9\n|n|1.50\n|[|{\"a\":[]}\n|0|null\n"));
    buf.len = 0;
    CHECK(read_members(TV_LIT("[]"), &buf, true));
    CHECK_INT(buf.len, 0);
    for (size_t i = 0; i < COUNT(bad); i++) {
        t_row = bad[i];
        CHECK(!read_members(tv_slice_of(bad[i]), &buf, true));
    }
    t_row = NULL;
    CHECK(!read_members(TV_LIT("[1]"), &buf, false));
    tv_buf_done(&buf);
}

TEST(one_value_is_read_whole)
{
    tv_json_member value;

    CHECK(tv_json_value(&arena, TV_LIT(" \"a\\nb\" "), &value));
    CHECK_SLICE(value.text, TV_LIT("a\nb"));
    CHECK_SLICE(value.raw, TV_LIT("\"a\\nb\""));
    CHECK(tv_json_value(&arena, TV_LIT("[1,{}]\n"), &value));
    CHECK_INT(value.kind, TV_JSON_NESTED);
    CHECK_SLICE(value.raw, TV_LIT("[1,{}]"));
    CHECK(!tv_json_value(&arena, TV_LIT("1 2"), &value));
    CHECK(!tv_json_value(&arena, TV_LIT("\"a"), &value));
    CHECK(!tv_json_value(&arena, TV_NONE, &value));
}

TEST(nul_bytes_are_data_or_errors)
{
    tv_buf buf = TV_BUF_EMPTY;

    CHECK(read_all(TV_LIT("{\"a\":\"\\u0000\"}"), &buf));
    CHECK_SLICE(tv_buf_slice(&buf), TV_LIT("a|s|\0\n"));
    CHECK(!read_all(TV_LIT("{\"a\":\"\0\"}"), &buf));
    CHECK(!read_all(TV_LIT("{}\0"), &buf));
    tv_buf_done(&buf);
}

TEST(no_text_is_no_object)
{
    tv_json_reader reader;
    tv_json_member member;

    tv_json_reader_init(&reader, &arena, TV_NONE);
    CHECK(!tv_json_next(&reader, &member));
    CHECK(reader.failed);
}

TEST(a_string_without_escapes_is_not_copied)
{
    tv_slice text = TV_LIT("{\"name\":\"value\"}");
    tv_json_reader reader;
    tv_json_member member;

    tv_json_reader_init(&reader, &arena, text);
    CHECK(tv_json_next(&reader, &member));
    CHECK(member.name.data == text.data + 2);
    CHECK(member.text.data == text.data + 9);
}

/* {"a":[[[...]]]} or {"a":{"b":{"b":...}}} with `depth` nested values. */
static bool read_depth(int depth, bool objects)
{
    tv_buf text = TV_BUF_EMPTY, members = TV_BUF_EMPTY;

    tv_buf_add_lit(&text, "{\"a\":");
    for (int i = 1; i < depth; i++)
        tv_buf_add(&text, objects ? TV_LIT("{\"b\":") : TV_LIT("["));
    tv_buf_add(&text, objects ? TV_LIT("{}") : TV_LIT("[]"));
    for (int i = 1; i < depth; i++)
        tv_buf_add_char(&text, objects ? '}' : ']');
    tv_buf_add_char(&text, '}');

    bool ok = read_all(tv_buf_slice(&text), &members);
    tv_buf_done(&text);
    tv_buf_done(&members);
    return ok;
}

TEST(nesting_ends_at_its_limit)
{
    for (int objects = 0; objects <= 1; objects++) {
        CHECK(read_depth(1, objects));
        CHECK(read_depth(TV_JSON_DEPTH_MAX, objects));
        CHECK(!read_depth(TV_JSON_DEPTH_MAX + 1, objects));
        CHECK(!read_depth(100000, objects));
    }
}

static const struct {
    const char *what, *text, *json;
} strings[] = {
    {"nothing", "", "\"\""},
    {"plain text", "hello world", "\"hello world\""},
    {"quote and backslash", "a\"b\\c", "\"a\\\"b\\\\c\""},
    {"short escapes", "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
    {"other control characters", "\x01\x1F", "\"\\u0001\\u001f\""},
    {"what needs no escape", "/<>&'\x7F", "\"/<>&'\x7F\""},
    {"two bytes", "\xC3\xA9", "\"\\u00e9\""},
    {"three bytes", "\xE2\x82\xAC", "\"\\u20ac\""},
    {"beyond the BMP", "\xF0\x9F\x98\x80", "\"\\ud83d\\ude00\""},
    {"the last code point", "\xF4\x8F\xBF\xBF", "\"\\udbff\\udfff\""},
    {"after a whole word", "12345678\"12345678\xC3\xA9x", "\"12345678\\\"12345678\\u00e9x\""},
    {"inside a word", "123\n5678", "\"123\\n5678\""},
    {"a control character inside a word",
     "12\x1F"
     "45678 ",
     "\"12\\u001f45678 \""},
};

TEST(strings_are_written_as_the_service_does)
{
    for (size_t i = 0; i < COUNT(strings); i++) {
        tv_buf buf = TV_BUF_EMPTY;

        t_row = strings[i].what;
        tv_json_add_string(&buf, tv_slice_of(strings[i].text));
        CHECK_TEXT(tv_buf_slice(&buf), strings[i].json);
        tv_buf_done(&buf);
    }
}

TEST(an_absent_string_is_written_as_an_empty_one)
{
    tv_buf buf = TV_BUF_EMPTY;

    tv_json_add_string(&buf, TV_NONE);
    CHECK_TEXT(tv_buf_slice(&buf), "\"\"");
    tv_buf_done(&buf);
}

TEST(members_and_items_have_the_commas_that_they_need)
{
    tv_buf buf = TV_BUF_EMPTY;

    tv_json_open(&buf, NULL, '{');
    tv_json_text(&buf, "text", TV_LIT("a,"));
    tv_json_number(&buf, "most", UINT64_MAX);
    tv_json_open(&buf, "none", '{');
    tv_buf_add_char(&buf, '}');
    tv_json_open(&buf, "list", '[');
    for (int i = 0; i < 3; i++)
        tv_json_bool(&buf, NULL, i == 1);
    tv_json_open(&buf, NULL, '\n');
    tv_json_open(&buf, NULL, '[');
    tv_json_text(&buf, NULL, TV_LIT("["));
    tv_json_number(&buf, NULL, 0);
    tv_buf_add_lit(&buf, "]]");
    tv_json_name(&buf, "value");
    tv_buf_add_lit(&buf, "null");
    tv_json_time(&buf, "at", 0);
    tv_buf_add_char(&buf, '}');
    CHECK_TEXT(tv_buf_slice(&buf), "{\"text\":\"a,\",\"most\":18446744073709551615,\"none\":{},"
                                   "\"list\":[false,true,false,\n[\"[\",0]],\"value\":null,"
                                   "\"at\":\"0001-01-01T00:00:00Z\"}");
    tv_buf_done(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_json_is_read),
        cmocka_unit_test(everything_else_is_refused),
        cmocka_unit_test(every_prefix_of_an_object_is_refused),
        cmocka_unit_test(a_list_is_read_as_members_without_names),
        cmocka_unit_test(one_value_is_read_whole),
        cmocka_unit_test(nul_bytes_are_data_or_errors),
        cmocka_unit_test(no_text_is_no_object),
        cmocka_unit_test(a_string_without_escapes_is_not_copied),
        cmocka_unit_test(nesting_ends_at_its_limit),
        cmocka_unit_test(strings_are_written_as_the_service_does),
        cmocka_unit_test(an_absent_string_is_written_as_an_empty_one),
        cmocka_unit_test(members_and_items_have_the_commas_that_they_need),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
