/* The log: what reaches standard error, and what must not. */
#include "base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Standard error goes into a pipe while a test looks at it. */
static int pipe_read, saved_stderr;

static void capture(void)
{
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    saved_stderr = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    pipe_read = ends[0];
}

static tv_slice captured(void)
{
    static char text[16384];
    ssize_t len = read(pipe_read, text, sizeof text);

    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    close(pipe_read);
    return (tv_slice){text, len > 0 ? (size_t)len : 0};
}

TEST(a_line_has_time_level_event_and_fields)
{
    capture();
    tv_log(TV_LOG_INFO, "start", "port=%d data=%s", 10002, "./data");
    tv_slice line = captured();

    /* time=2026-01-02T03:04:05.123Z */
    CHECK(tv_slice_starts_with(line, TV_LIT("time=2")));
    CHECK(line.len > 29 && line.data[28] == 'Z' && line.data[24] == '.');
    CHECK_TEXT(tv_slice_skip(line, 29), " level=info event=start port=10002 data=./data\n");
}

TEST(one_call_is_one_line_whatever_the_values_hold)
{
    capture();
    tv_log(TV_LOG_ERROR, "x", "a=%s", "1\n2\r3\0334\1775");
    tv_slice line = captured();

    CHECK_INT(tv_slice_find(line, '\n'), line.len - 1);
    CHECK(tv_slice_find(line, '\r') == line.len && tv_slice_find(line, '\033') == line.len);
    CHECK_TEXT(tv_slice_skip(line, line.len - 12), "a=1?2?3?4?5\n");
}

static const struct {
    const char *what, *text, *shown;
} hostile[] = {
    {"text of any script", "K\u00f6ln \u6771\u4eac \U0001f600", "K\u00f6ln \u6771\u4eac \U0001f600"},
    {"a C1 control", "a\xc2\x9b" "31mb", "a??31mb"},
    {"the last of them, and what follows", "\xc2\x9f\u00a0", "??\u00a0"},
    {"a byte that is one without UTF-8", "a\x9b" "31m", "a?31m"},
    {"a text that turns the rest around", "a\u202eb\u2066c\u200fd\u061ce", "a???b???c???d??e"},
    {"a separator of lines", "a\u2028b", "a???b"},
    {"a cut character", "a\xe2\x80", "a??"},
};

TEST(nothing_in_a_line_commands_a_terminal)
{
    for (size_t i = 0; i < COUNT(hostile); i++) {
        char wanted[100];

        t_row = hostile[i].what;
        snprintf(wanted, sizeof wanted, "a=%s\n", hostile[i].shown);
        capture();
        tv_log(TV_LOG_ERROR, "x", "a=%s", hostile[i].text);
        tv_slice line = captured();

        CHECK_TEXT(tv_slice_skip(line, 29 + sizeof " level=error event=x" - 1 + 1), wanted);
    }
    t_row = "";
}

TEST(a_quoted_value_ends_where_it_ends)
{
    capture();
    tv_log(TV_LOG_ERROR, "x", "a=%s b=\"%s/%.*s\" c=%d d=\"%s\" e=%05.1f%% f=%c g=%zu h=%-4llx|",
           "1", "x\" level=info y=\"", 3, "\\\"\\zz", -5, "", 2.5, 'q', (size_t)7,
           (unsigned long long)255);
    tv_slice line = captured();

    CHECK_TEXT(tv_slice_skip(line, 29),
               " level=error event=x a=1 b=\"x\\\" level=info y=\\\"/\\\\\\\"\\\\\" c=-5 d=\"\" "
               "e=002.5% f=q g=7 h=ff  |\n");
}

TEST(a_very_long_line_is_cut_and_still_ends)
{
    capture();
    tv_log(TV_LOG_WARN, "x", "a=%10000d", 1);
    tv_slice line = captured();

    CHECK(line.len > 1000 && line.len <= 2048);
    CHECK_INT(tv_slice_find(line, '\n'), line.len - 1);
}

TEST(lines_below_the_level_are_dropped)
{
    capture();
    tv_log(TV_LOG_DEBUG, "dropped", "a=1");
    tv_log_set_level(TV_LOG_ERROR);
    tv_log(TV_LOG_WARN, "dropped", "a=1");
    CHECK(!tv_log_is_on(TV_LOG_WARN) && tv_log_is_on(TV_LOG_ERROR));
    tv_log_set_level(TV_LOG_OFF);
    tv_log(TV_LOG_ERROR, "dropped", "a=1");
    tv_log(TV_LOG_OFF, "dropped", "a=1");
    tv_log_set_level(TV_LOG_INFO);
    CHECK_INT(captured().len, 0);
}

TEST(levels_have_names)
{
    static const char *const names[] = {"debug", "info", "warn", "error", "off"};
    tv_log_level level;

    for (size_t i = 0; i < COUNT(names); i++) {
        CHECK(tv_log_level_parse(tv_slice_of(names[i]), &level));
        CHECK_INT(level, i);
    }
    CHECK(!tv_log_level_parse(TV_LIT("INFO"), &level));
    CHECK(!tv_log_level_parse(TV_LIT("loud"), &level));
    CHECK(!tv_log_level_parse(TV_LIT(""), &level));
}

static const struct {
    const char *what, *url, *redacted;
} urls[] = {
    {"no query", "/a/People", "/a/People"},
    {"nothing", "", ""},
    {"an empty query", "/a?", "/a?"},
    {"no signature", "/a?b=1&c=2", "/a?b=1&c=2"},
    {"a signature", "/a?sv=1&sig=secret%3D&se=2", "/a?sv=1&sig=REDACTED&se=2"},
    {"a signature first and last", "/a?sig=secret&b=1&sig=secret",
     "/a?sig=REDACTED&b=1&sig=REDACTED"},
    {"another case", "/a?SiG=secret", "/a?sig=REDACTED"},
    {"an encoded name", "/a?%73ig=secret", "/a?sig=REDACTED"},
    {"no value", "/a?sig", "/a?sig=REDACTED"},
    {"a second question mark", "/a?b=?&sig=secret", "/a?b=?&sig=REDACTED"},
    {"a name that only starts so", "/a?sigma=1", "/a?sigma=1"},
    {"in the path, after '&' instead of '?'", "/a&sv=1&sig=secret&se=2?b=1",
     "/a&sv=1&sig=REDACTED?b=1"},
    {"in the path, encoded", "/a%3Fsv=1&Sig%3Dsecret", "/a%3Fsv=1&sig=REDACTED"},
    {"a path that ends so", "/a/sig", "/a/sig"},
    {"a path that ends with it", "/a/sig=", "/a/sig=REDACTED"},
    {"quotes", "/a\"b?c=\"", "/a%22b?c=%22"},
    {"in a value", "/a?b=c%26sig%3Dsecret&d=1", "/a?b=c%26sig=REDACTED&d=1"},
    {"encoded letter by letter", "/a%3F%73%69g%3dsecret", "/a%3Fsig=REDACTED"},
    {"encoded twice", "/a?url=b%253Fsig%253Dsecret", "/a?url=b%253Fsig=REDACTED"},
    {"encoded in part", "/a/s%69G=secret", "/a/sig=REDACTED"},
    {"the shortest that grows most", "?%&%&%", "?sig=REDACTED&sig=REDACTED&sig=REDACTED"},
};

TEST(signatures_are_cut_out_of_urls)
{
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0; i < COUNT(urls); i++) {
        t_row = urls[i].what;
        CHECK_TEXT(tv_log_redact(&arena, tv_slice_of(urls[i].url)), urls[i].redacted);
    }
    tv_arena_done(&arena);
}

static tv_buf read_lines;

static void take_line(void *ctx, uint64_t number, tv_log_level level, tv_slice line)
{
    size_t fields = 29; /* after the time */

    CHECK_INT(number > *(uint64_t *)ctx, true);
    *(uint64_t *)ctx = number;
    tv_buf_printf(&read_lines, "%s|%.*s\n", tv_log_level_name(level),
                  TV_FMT(tv_slice_skip(line, fields)));
}

static void check_read(tv_log_query query, const char *wanted)
{
    uint64_t last = query.after;

    read_lines.len = 0;
    tv_log_read(&query, take_line, &last);
    CHECK_TEXT(tv_buf_slice(&read_lines), wanted);
}

TEST(the_last_lines_can_be_read_again_by_level_and_text)
{
    tv_log_query query = {.lines_max = 1};

    tv_log_read(&query, take_line, &(uint64_t){0});

    uint64_t before = query.last;

    capture();
    tv_log(TV_LOG_INFO, "one", "path=\"%s\"", "/Tables");
    tv_log(TV_LOG_WARN, "two", "x=%s", "caf\xc3\xa9");
    tv_log(TV_LOG_ERROR, "three", "x=%s", "\xff\n\xc3");
    captured();

    check_read((tv_log_query){.after = before, .lines_max = 9},
               "info| level=info event=one path=\"/Tables\"\n"
               "warn| level=warn event=two x=caf\xc3\xa9\n"
               "error| level=error event=three x=???\n");
    check_read((tv_log_query){.after = before, .level = TV_LOG_WARN, .lines_max = 1},
               "error| level=error event=three x=???\n");
    check_read((tv_log_query){.after = before, .text = TV_LIT("EVENT=ONE"), .lines_max = 9},
               "info| level=info event=one path=\"/Tables\"\n");
    check_read((tv_log_query){.after = before + 2, .lines_max = 9},
               "error| level=error event=three x=???\n");
    check_read((tv_log_query){.after = before + 3, .lines_max = 9}, "");
    check_read((tv_log_query){.after = UINT64_MAX, .lines_max = 9}, "");

    query = (tv_log_query){.after = before, .lines_max = 2};
    read_lines.len = 0;
    tv_log_read(&query, take_line, &(uint64_t){0});
    CHECK_INT(query.last, before + 3);
    CHECK(query.is_cut && query.first >= 1 && query.first <= before + 1);
    tv_buf_done(&read_lines);
    read_lines = TV_BUF_EMPTY;
}

static void check_file(const char *path, const char *event)
{
    char text[400] = "";
    FILE *file = fopen(path, "r");

    CHECK(file != NULL);
    CHECK(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    CHECK(strstr(text, event));
    CHECK(strchr(text, '\n') == strrchr(text, '\n')); /* one line */
}

/* For the rest of this program, so it is the last of its tests. */
TEST(lines_go_to_a_file_which_may_be_moved)
{
    char folder[] = "/tmp/tavola-log-XXXXXX", path[64], moved[64];

    CHECK(!tv_log_open("/nonexistent/log"));
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/log", folder);
    snprintf(moved, sizeof moved, "%s/log.1", folder);
    CHECK(tv_log_open(path));
    tv_log(TV_LOG_ERROR, "first", "n=%d", 1);
    CHECK(rename(path, moved) == 0);
    CHECK(tv_log_open(path));
    tv_log(TV_LOG_ERROR, "second", "n=%d", 2);
    check_file(moved, "event=first n=1");
    check_file(path, "event=second n=2");
    unlink(moved);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_time_level_event_and_fields),
        cmocka_unit_test(one_call_is_one_line_whatever_the_values_hold),
        cmocka_unit_test(nothing_in_a_line_commands_a_terminal),
        cmocka_unit_test(a_quoted_value_ends_where_it_ends),
        cmocka_unit_test(a_very_long_line_is_cut_and_still_ends),
        cmocka_unit_test(lines_below_the_level_are_dropped),
        cmocka_unit_test(levels_have_names),
        cmocka_unit_test(signatures_are_cut_out_of_urls),
        cmocka_unit_test(the_last_lines_can_be_read_again_by_level_and_text),
        cmocka_unit_test(lines_go_to_a_file_which_may_be_moved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
