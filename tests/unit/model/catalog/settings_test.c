/* Service properties, from XML and to XML. */
#include "model/catalog/settings.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define ALL(parts) "<StorageServiceProperties>" parts "</StorageServiceProperties>"
#define OFF "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>"
#define DAYS(n) "<RetentionPolicy><Enabled>true</Enabled><Days>" n "</Days></RetentionPolicy>"
#define LOGGING(retention)                                                                         \
    "<Logging><Version>1.0</Version><Read>true</Read><Write>false</Write><Delete>true</Delete>"    \
    "" retention "</Logging>"
#define METRICS(which, content) "<" which "><Version>1.0</Version>" content "</" which ">"
#define DISABLED "<Enabled>false</Enabled>" OFF
#define ENABLED "<Enabled>true</Enabled><IncludeAPIs>false</IncludeAPIs>" OFF
#define RULE(methods, origins, allowed, exposed, age)                                              \
    "<CorsRule><AllowedMethods>" methods "</AllowedMethods><AllowedOrigins>" origins               \
    "</AllowedOrigins><AllowedHeaders>" allowed "</AllowedHeaders><ExposedHeaders>" exposed        \
    "</ExposedHeaders><MaxAgeInSeconds>" age "</MaxAgeInSeconds></CorsRule>"
#define CORS(rules) ALL("<Cors>" rules "</Cors>")
#define GOOD RULE("GET", "*", "a", "b", "1")
#define NOTHING_BUT(logging, hour, minute, cors) ALL(logging hour minute cors)
#define NO_LOGGING                                                                                 \
    "<Logging><Version>1.0</Version><Read>false</Read><Write>false</Write><Delete>false</Delete>"  \
    "" OFF "</Logging>"
#define NO_HOUR METRICS("HourMetrics", DISABLED)
#define NO_MINUTE METRICS("MinuteMetrics", DISABLED)

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

static const struct {
    const char *what, *document;
    const char *again; /* as written over the default; NULL: refused with `err` */
    tv_err err;
} documents[] = {
    {"nothing", "<StorageServiceProperties/>",
     NOTHING_BUT(NO_LOGGING, NO_HOUR, NO_MINUTE, "<Cors />"), TV_OK},
    {"logging", ALL(LOGGING(DAYS("365"))),
     NOTHING_BUT(LOGGING(DAYS("365")), NO_HOUR, NO_MINUTE, "<Cors />"), TV_OK},
    {"metrics in any order",
     ALL(METRICS("MinuteMetrics", ENABLED)
             METRICS("HourMetrics", DAYS("1") "<Enabled> TRUE </Enabled><IncludeAPIs>true"
                                              "</IncludeAPIs>")),
     NOTHING_BUT(NO_LOGGING,
                 METRICS("HourMetrics", "<Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>"
                                        "" DAYS("1")),
                 METRICS("MinuteMetrics", ENABLED), "<Cors />"),
     TV_OK},
    {"what is off needs no more",
     ALL(METRICS("HourMetrics",
                 "<Enabled>false</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy>"
                 "<Enabled>false</Enabled><Days>0</Days></RetentionPolicy>")),
     NOTHING_BUT(NO_LOGGING, NO_HOUR, NO_MINUTE, "<Cors />"), TV_OK},
    {"rules", CORS(RULE("GET, PUT", " * ", "b*, a,A-1 ,c*", "*", "0") GOOD),
     NOTHING_BUT(NO_LOGGING, NO_HOUR, NO_MINUTE,
                 "<Cors>" RULE("GET,PUT", "*", "a,A-1,b*,c*", "*", "0") GOOD "</Cors>"),
     TV_OK},
    {"all methods",
     CORS(RULE("DELETE,GET,HEAD,MERGE,POST,OPTIONS,PUT,PATCH", "http://a:1,null", "a", "b", "1")),
     NOTHING_BUT(NO_LOGGING, NO_HOUR, NO_MINUTE,
                 "<Cors>" RULE("DELETE,GET,HEAD,MERGE,POST,OPTIONS,PUT,PATCH", "http://a:1,null",
                               "a", "b", "1") "</Cors>"),
     TV_OK},
    {"five rules", CORS(GOOD GOOD GOOD GOOD GOOD),
     NOTHING_BUT(NO_LOGGING, NO_HOUR, NO_MINUTE, "<Cors>" GOOD GOOD GOOD GOOD GOOD "</Cors>"),
     TV_OK},
    {"six rules", CORS(GOOD GOOD GOOD GOOD GOOD GOOD), NULL, TV_ERR_XML_DOCUMENT},
    {"three beginnings", CORS(RULE("GET", "*", "a*,b*,c*", "", "1")), NULL, TV_ERR_XML_DOCUMENT},
    {"a method that is not valid", CORS(RULE("GET,TRACE", "*", "", "", "1")), NULL,
     TV_ERR_XML_NODE_VALUE},
    {"no method", CORS(RULE("", "*", "", "", "1")), NULL, TV_ERR_XML_NODE_VALUE},
    {"no origin", CORS(RULE("GET", " ", "", "", "1")), NULL, TV_ERR_XML_NODE_VALUE},
    {"an empty origin", CORS(RULE("GET", "a,,b", "", "", "1")), NULL, TV_ERR_XML_NODE_VALUE},
    {"an origin with a blank", CORS(RULE("GET", "a b", "", "", "1")), NULL, TV_ERR_XML_NODE_VALUE},
    {"an origin beyond ASCII", CORS(RULE("GET", "http://\xC3\xB4", "", "", "1")), NULL,
     TV_ERR_XML_NODE_VALUE},
    {"an origin with a line end", CORS(RULE("GET", "a&#10;b", "", "", "1")), NULL,
     TV_ERR_XML_NODE_VALUE},
    {"a header with a line end", CORS(RULE("GET", "a", "", "a&#13;&#10;b", "1")), NULL,
     TV_ERR_XML_NODE_VALUE},
    {"a header with a colon", CORS(RULE("GET", "a", "a:b", "", "1")), NULL, TV_ERR_XML_NODE_VALUE},
    {"a star in the middle", CORS(RULE("GET", "a", "a*b", "", "1")), NULL, TV_ERR_XML_NODE_VALUE},
    {"two stars", CORS(RULE("GET", "a", "a**", "", "1")), NULL, TV_ERR_XML_NODE_VALUE},
    {"a negative age", CORS(RULE("GET", "a", "", "", "-1")), NULL, TV_ERR_XML_NODE_VALUE},
    {"an age beyond 32 bits", CORS(RULE("GET", "a", "", "", "2147483648")), NULL,
     TV_ERR_XML_NODE_VALUE},
    {"a rule with a part missing",
     CORS("<CorsRule><AllowedMethods>GET</AllowedMethods></CorsRule>"), NULL, TV_ERR_XML_DOCUMENT},
    {"no rule at all", CORS("<Rule/>"), NULL, TV_ERR_XML_DOCUMENT},
    {"366 days", ALL(LOGGING(DAYS("366"))), NULL, TV_ERR_XML_DOCUMENT},
    {"0 days", ALL(LOGGING(DAYS("0"))), NULL, TV_ERR_XML_DOCUMENT},
    {"no number of days", ALL(LOGGING(DAYS("week"))), NULL, TV_ERR_XML_NODE_VALUE},
    {"days missing", ALL(LOGGING("<RetentionPolicy><Enabled>true</Enabled></RetentionPolicy>")),
     NULL, TV_ERR_XML_DOCUMENT},
    {"retention missing", ALL(LOGGING("")), NULL, TV_ERR_XML_DOCUMENT},
    {"IncludeAPIs missing", ALL(METRICS("HourMetrics", "<Enabled>true</Enabled>" OFF)), NULL,
     TV_ERR_XML_DOCUMENT},
    {"Enabled missing", ALL(METRICS("HourMetrics", OFF)), NULL, TV_ERR_XML_DOCUMENT},
    {"no truth", ALL(METRICS("HourMetrics", "<Enabled>1</Enabled>" OFF)), NULL,
     TV_ERR_XML_NODE_VALUE},
    {"another version", ALL("<HourMetrics><Version>2.0</Version>" DISABLED "</HourMetrics>"), NULL,
     TV_ERR_XML_NODE_VALUE},
    {"no version", ALL("<HourMetrics>" DISABLED "</HourMetrics>"), NULL, TV_ERR_XML_DOCUMENT},
    {"a part twice", ALL("<Cors/><Cors/>"), NULL, TV_ERR_XML_DOCUMENT},
    {"an unknown part", ALL("<Other/>"), NULL, TV_ERR_XML_DOCUMENT},
    {"an unknown field", ALL(METRICS("HourMetrics", DISABLED "<Other/>")), NULL,
     TV_ERR_XML_DOCUMENT},
    {"another document", "<Cors/>", NULL, TV_ERR_XML_DOCUMENT},
    {"no document", "", NULL, TV_ERR_XML_DOCUMENT},
};

TEST(documents_are_read_and_written)
{
    for (size_t i = 0; i < COUNT(documents); i++) {
        tv_service_settings properties = tv_settings_default(TV_SERVICE_TABLE), update;
        tv_shared_settings *shared;
        tv_buf buf = TV_BUF_EMPTY;

        t_row = documents[i].what;
        CHECK_ERR(tv_settings_parse(&arena, TV_SERVICE_TABLE, tv_slice_of(documents[i].document),
                                    &update, &(tv_error_info){0}),
                  documents[i].err);
        if (documents[i].err)
            continue;
        tv_settings_apply(&properties, &update);
        tv_settings_add_xml(&buf, TV_SERVICE_TABLE, &properties);
        CHECK_TEXT(tv_buf_slice(&buf), documents[i].again);

        CHECK_OK(tv_shared_settings_new(TV_SERVICE_TABLE, tv_buf_slice(&buf), &shared));
        buf.len = 0;
        tv_settings_add_xml(&buf, TV_SERVICE_TABLE, &shared->settings);
        CHECK_TEXT(tv_buf_slice(&buf), documents[i].again);
        tv_shared_settings_unref(shared);
        tv_buf_done(&buf);
    }
}

TEST(a_stored_document_that_is_none_is_damage)
{
    tv_shared_settings *shared;

    CHECK_ERR(tv_shared_settings_new(TV_SERVICE_TABLE, TV_LIT("<Other/>"), &shared),
              TV_ERR_CORRUPT);
    tv_shared_settings_unref(NULL);
}

/* A rule with lists of `count` items of `len` bytes. */
static tv_err parse_lists(size_t origins, size_t headers, size_t len)
{
    tv_service_settings update;
    tv_buf lists[2] = {TV_BUF_EMPTY, TV_BUF_EMPTY};
    tv_buf document = TV_BUF_EMPTY;
    tv_err err;

    for (size_t which = 0; which < 2; which++) {
        for (size_t i = 0; i < (which ? headers : origins); i++) {
            if (i)
                tv_buf_add_char(&lists[which], ',');
            for (size_t j = 0; j < len; j++)
                tv_buf_add_char(&lists[which], 'x');
        }
    }
    tv_buf_printf(&document, CORS(RULE("GET", "%.*s", "%.*s", "", "1")),
                  TV_FMT(tv_buf_slice(&lists[0])), TV_FMT(tv_buf_slice(&lists[1])));
    err = tv_settings_parse(&arena, TV_SERVICE_TABLE, tv_buf_slice(&document), &update,
                            &(tv_error_info){0});
    tv_buf_done(&document);
    tv_buf_done(&lists[0]);
    tv_buf_done(&lists[1]);
    return err;
}

TEST(rules_are_bounded)
{
    CHECK_OK(parse_lists(64, 64, 1));
    CHECK_ERR(parse_lists(65, 1, 1), TV_ERR_XML_DOCUMENT);
    CHECK_ERR(parse_lists(1, 65, 1), TV_ERR_XML_DOCUMENT);
    CHECK_OK(parse_lists(1, 1, 256));
    CHECK_ERR(parse_lists(1, 0, 257), TV_ERR_XML_NODE_VALUE);
    CHECK_OK(parse_lists(3, 4, 256));
    CHECK_ERR(parse_lists(4, 4, 256), TV_ERR_XML_DOCUMENT); /* 2 KiB of all rules */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(documents_are_read_and_written),
        CASE(a_stored_document_that_is_none_is_damage),
        CASE(rules_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
