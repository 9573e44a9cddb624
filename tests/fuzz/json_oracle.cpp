/* simdjson behind a C function. */
#include "json_oracle.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include <simdjson.h>

using namespace simdjson;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* End of the JSON number at `at`; `at` itself when there is none. */
static size_t number_end(const std::string &text, size_t start)
{
    size_t at = start;
    auto peek = [&] { return at < text.size() ? text[at] : '\0'; };
    auto digits = [&] {
        size_t first = at;
        while (is_digit(peek()))
            at++;
        return at - first;
    };

    if (peek() == '-')
        at++;
    bool zero = peek() == '0';
    size_t count = digits();
    if (count == 0 || (zero && count > 1))
        return start;
    if (peek() == '.') {
        at++;
        if (digits() == 0)
            return start;
    }
    if (peek() == 'e' || peek() == 'E') {
        at++;
        if (peek() == '+' || peek() == '-')
            at++;
        if (digits() == 0)
            return start;
    }
    return at;
}

/* Whether simdjson refuses a well-formed number for its size alone. */
static bool is_out_of_range(const std::string &number)
{
    if (number.find_first_of(".eE") != std::string::npos)
        return std::abs(std::strtod(number.c_str(), nullptr)) > 1.7976931348623157e308;

    bool negative = number[0] == '-';
    std::string digits = number.substr(negative);
    std::string limit = negative ? "9223372036854775808" : "18446744073709551615";
    return digits.size() > limit.size() || (digits.size() == limit.size() && digits > limit);
}

/* The text with those numbers replaced by a 0 and blanks; `ret_any` tells whether there were any.
 */
static std::string replace_numbers(std::string text, bool *ret_any)
{
    bool in_string = false;

    *ret_any = false;
    for (size_t at = 0; at < text.size(); at++) {
        if (in_string) {
            if (text[at] == '\\')
                at++;
            else if (text[at] == '"')
                in_string = false;
        } else if (text[at] == '"') {
            in_string = true;
        } else if (text[at] == '-' || is_digit(text[at])) {
            size_t run = std::min(text.find_first_not_of("+-.eE0123456789", at), text.size());
            /* Something like 1.5.5 or 12-3 is not one number and must stay refused. */
            bool is_number = number_end(text, at) == run;

            if (is_number && is_out_of_range(text.substr(at, run - at))) {
                text.replace(at, run - at, "0" + std::string(run - at - 1, ' '));
                *ret_any = true;
            }
            at = run - 1;
        }
    }
    return text;
}

static int depth_of(dom::element element)
{
    int deepest = 0;

    if (element.is_object()) {
        for (auto field : dom::object(element))
            deepest = std::max(deepest, depth_of(field.value));
        return deepest + 1;
    }
    if (element.is_array()) {
        for (auto item : dom::array(element))
            deepest = std::max(deepest, depth_of(item));
        return deepest + 1;
    }
    return 0;
}

static oracle_text slice_of(std::string_view text)
{
    return oracle_text{text.data(), text.size()};
}

/* `texts` keeps the minified forms alive. */
static oracle_member member_of(dom::key_value_pair field, std::deque<std::string> &texts)
{
    oracle_member member{};

    member.name = slice_of(field.key);
    switch (field.value.type()) {
    case dom::element_type::NULL_VALUE:
        member.kind = ORACLE_NULL;
        break;
    case dom::element_type::BOOL:
        member.kind = bool(field.value) ? ORACLE_TRUE : ORACLE_FALSE;
        break;
    case dom::element_type::STRING:
        member.kind = ORACLE_STRING;
        member.text = slice_of(std::string_view(field.value));
        break;
    case dom::element_type::INT64:
        member.kind = ORACLE_INT64;
        member.int64_value = int64_t(field.value);
        break;
    case dom::element_type::UINT64:
        member.kind = ORACLE_UINT64;
        member.uint64_value = uint64_t(field.value);
        break;
    case dom::element_type::DOUBLE:
        member.kind = ORACLE_DOUBLE;
        member.double_value = double(field.value);
        break;
    case dom::element_type::ARRAY:
    case dom::element_type::OBJECT:
        member.kind = ORACLE_NESTED;
        texts.push_back(minify(field.value));
        member.text = slice_of(texts.back());
        break;
    }
    return member;
}

extern "C" oracle_result oracle_read(const char *text, size_t len)
{
    static dom::parser parser;
    static std::vector<oracle_member> members;
    static std::deque<std::string> texts;
    oracle_result result{};
    dom::element root;

    members.clear();
    texts.clear();

    error_code error = parser.parse(text, len).get(root);
    if (error == NUMBER_ERROR) {
        std::string replaced = replace_numbers(std::string(text, len), &result.numbers_replaced);
        if (result.numbers_replaced)
            error = parser.parse(replaced).get(root);
    }
    if (error || !root.is_object())
        return result;

    for (auto field : dom::object(root))
        members.push_back(member_of(field, texts));
    result.accepted = true;
    result.depth = depth_of(root);
    result.members = members.data();
    result.member_count = members.size();
    return result;
}

extern "C" oracle_text oracle_minify(const char *text, size_t len)
{
    static dom::parser parser;
    static std::string minified;
    dom::element root;

    if (parser.parse(text, len).get(root))
        return oracle_text{nullptr, 0};

    minified = minify(root);
    return slice_of(minified);
}
