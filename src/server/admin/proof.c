/* See proof.h. */
#include "server/admin/proof.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/json.h"
#include "base/utf8.h"
#include "server/admin/admin.h"
#include "wire/http/local.h"

static bool is_nonce(tv_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (tv_hex_value(text.data[i]) < 0)
            return false;
    }
    return text.len == TV_ADMIN_NONCE_CHARS;
}

bool tv_admin_has_token(const tv_admin *admin)
{
    return admin->token.is_set;
}

int tv_admin_get_proof(tv_admin *admin, tv_request *req)
{
    char proof[TV_ADMIN_PROOF_CHARS + 1], address[TV_LOCAL_ADDRESS_SIZE];
    tv_slice nonce;

    if (!tv_parameters_get(&req->query, &req->arena, TV_LIT("nonce"), &nonce) || !is_nonce(nonce))
        return tv_admin_refuse(req, 400, "nonce is 64 hexadecimal digits");
    if (!tv_request_local_address(req, address))
        return tv_admin_refuse(req, 503, "the connection has ended");

    tv_admin_token_prove(tv_slice_of(admin->token.text), nonce, tv_slice_of(address), proof);
    tv_buf_printf(&req->out, "{\"proof\":\"%s\"}\n", proof);
    return 200;
}

int tv_admin_get_token_file(tv_admin *admin, tv_request *req)
{
    char link[64], folder[PATH_MAX];
    ssize_t len;

    if (!req->is_peer_loopback)
        return tv_admin_refuse(req, 403, "the token is of use on the server's own machine only");
    snprintf(link, sizeof link, "/proc/self/fd/%d", admin->token.dir_fd);
    len = readlink(link, folder, sizeof folder);
    if (len <= 0 || (size_t)len >= sizeof folder ||
        !tv_utf8_is_valid((tv_slice){folder, (size_t)len}))
        return tv_admin_refuse(req, 503, "the data folder has no path that can be told");

    tv_buf path = TV_BUF_EMPTY;

    tv_buf_printf(&path, "%.*s/" TV_ADMIN_TOKEN_FILE, (int)len, folder);
    tv_json_open(&req->out, NULL, '{');
    tv_json_text(&req->out, "file", (tv_slice){path.data, path.len});
    tv_buf_printf(&req->out, "}\n");
    tv_buf_done(&path);
    return 200;
}
