/*
 * URLs.  The parts of one that is taken, put together again, are the text that they came from and
 * parse to the same; none can end the word or the line of a header that names the host.
 */
#include "fuzz.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/url.h"

static void add_url(tv_buf *buf, const tv_url *url)
{
    tv_buf_add(buf, url->scheme);
    tv_buf_add_lit(buf, "://");
    if (url->user.data) {
        tv_buf_add(buf, url->user);
        tv_buf_add_lit(buf, "@");
    }
    tv_buf_add(buf, url->place);
    tv_buf_add(buf, url->path);
    if (url->query.data) {
        tv_buf_add_lit(buf, "?");
        tv_buf_add(buf, url->query);
    }
}

static bool is_same(tv_slice a, tv_slice b)
{
    return tv_slice_eq(a, b) && (a.data == NULL) == (b.data == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice text = {(const char *)data, size};
    const char *why = NULL;
    tv_buf buf = {0};
    tv_url url, again;

    if (!tv_url_parse(text, &url, &why)) {
        tv_assert(why && *why);
        return 0;
    }

    add_url(&buf, &url);
    tv_assert(tv_slice_eq(tv_buf_slice(&buf), text));
    tv_assert(tv_url_parse(tv_buf_slice(&buf), &again, &why));
    tv_assert(is_same(url.user, again.user) && is_same(url.query, again.query));
    tv_assert(tv_slice_eq(url.host, again.host) && tv_slice_eq(url.path, again.path));
    tv_assert(url.port == again.port && url.is_bracketed == again.is_bracketed);
    tv_buf_done(&buf);

    tv_assert(url.host.len > 0 && tv_url_is_visible(url.place));
    tv_assert(tv_slice_find(url.place, '@') == url.place.len);
    tv_assert(tv_slice_find(url.place, '/') == url.place.len);
    tv_assert((tv_slice_find(url.host, ':') < url.host.len) == url.is_bracketed);
    tv_assert((tv_url_written_host(&url).len == url.place.len) == (url.port == 0));
    tv_assert(url.path.len == 0 || url.path.data[0] == '/');
    tv_assert(tv_slice_starts_with(url.path, tv_url_base_path(&url)));
    return 0;
}
