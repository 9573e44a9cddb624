/* Lookups in the error table. */
#include "base/err.h"

#include "base/assert.h"

static const struct {
    const char *name;
    int status;
    tv_slice code, text;
} errors[TV_ERR_COUNT] = {
    [TV_OK] = {"OK", 200, {"OK", 2}, {"", 0}},
#define X(name, status, code, text)                                                                \
    [TV_ERR_##name] = {#name, status, {code, sizeof(code) - 1}, {text, sizeof(text) - 1}},
#include "base/errors.def"
#undef X
};

int tv_err_status(tv_err err)
{
    tv_assert(err < TV_ERR_COUNT);
    return errors[err].status;
}

tv_slice tv_err_code(tv_err err)
{
    tv_assert(err < TV_ERR_COUNT);
    return errors[err].code;
}

tv_slice tv_err_text(tv_err err)
{
    tv_assert(err < TV_ERR_COUNT);
    return errors[err].text;
}

const char *tv_err_name(tv_err err)
{
    tv_assert(err < TV_ERR_COUNT);
    return errors[err].name;
}
