"""How a server proves that it knows the admin token, in the words of docs/admin.md."""

import hashlib
import hmac


def proof_of(token, nonce, address):
    """`address` is where the server was reached: 127.0.0.1:10003, [::1]:10003."""
    text = f"tavola-admin-proof\n{nonce}\n{address}"
    return hmac.new(token.encode(), text.encode(), hashlib.sha256).hexdigest()
