"""What a kind of failure means, and what helps."""

from __future__ import annotations

ADVICE = {
    "http_4xx": "The server returned 400 to 499. A retry seldom helps: the links on the source pages are broken, "
    "and that is where to fix them.",
    "http_5xx": "The server returned 500 to 599. Servers often recover: a retry may pass.",
    "timeout": "No whole response came in time. A retry may pass, at a lower rate if the server is slow.",
    "connect": "Nothing accepted the connection. A retry may pass when the server is up again.",
    "tls": "The certificate or the handshake is not valid. It passes when the server is repaired.",
    "dns_nxdomain": "There is no such name. The links on the source pages are broken, or the name is new.",
    "dns_timeout": "The name server did not respond in time. A retry may pass.",
    "dns_servfail": "The name server failed. A retry may pass.",
    "dns_no_address": "The name has no address. A retry may pass when it has one.",
    "blocked_address": "The name leads to an address that is not public. `fetch.allow_private` allows it.",
    "proxy": "The proxy refused the request or did not respond. A retry may pass with another one.",
    "interrupted": "The connection broke before the end of the response. A retry may pass.",
    "protocol": "The response is not valid HTTP.",
    "too_large": "The body is larger than `fetch.max_bytes`. It is never truncated; raise the limit to store it.",
    "decompression_bomb": "The compressed body decodes to far more than its size, so it was not read.",
    "bad_encoding": "The body could not be decompressed.",
    "redirect_loop": "The redirects lead back to a URL before.",
    "too_many_redirects": "More redirects than `fetch` follows.",
    "bad_redirect": "The redirect leads to no URL that can be requested.",
    "unparsable": "The page could not be parsed.",
}
