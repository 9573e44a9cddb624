/* See proof.h. */
#include "server/admin/proof.h"

#include "base/hex.h"
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
