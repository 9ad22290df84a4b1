"""What makes two requests the same request: the key under which an answer is paid for once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anachron.errors import CollectError
from anachron.files import canonical_json, sha256_text

PROTOCOL_TOKEN = "1"
"""Part of every key, bumped by hand and for one reason only: the code that makes or sends a wire body has
changed so that answers paid for under the old token must not be used again. Bumping it asks, and pays for,
everything anew. A change of parsing, estimating or printing is no reason."""


def body_text(body: Mapping[str, Any], where: str) -> str:
    """Return a wire body as canonical JSON.

    Raises
    ------
    CollectError
        When the body holds what JSON cannot say (NaN, infinity, an object); the text begins with `where`.
    """
    try:
        return canonical_json(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise CollectError(
            f"{where}: the request cannot be written as JSON ({error}); look for a number that is not finite "
            "in the model's registry entry or the protocol"
        ) from None


def key(provider: str, endpoint: str | None, body: str, rep: int, token: str = PROTOCOL_TOKEN) -> str:
    """Return the key of a request: SHA-256, in hexadecimal, of canonical JSON.

    What decides the answer is in the key. How it was fetched (time-outs, concurrency, batch or direct,
    credentials) is not, so that changing it never pays twice.

    Parameters
    ----------
    provider
        Provider kind, such as ``planted``.
    endpoint
        Base URL, or None for a provider that has none.
    body
        The full body as it goes over the wire, as `body_text` writes it; it carries the model's identifier.
        The order of its fields does not matter; whether a number is written ``1`` or ``1.0`` does.
    rep
        Number of the repeated sample. It is not in the body: two samples of one prompt are two requests.
    token
        The protocol token; see `PROTOCOL_TOKEN`.

    Notes
    -----
    Law 3 of the design. The JSON hashed is that of the object with the fields body, endpoint,
    protocol_token, provider and rep.
    """
    rest = canonical_json({"endpoint": endpoint, "protocol_token": token, "provider": provider, "rep": rep})
    # `body` sorts first, so its text is spliced in rather than parsed and written again.
    return sha256_text(f'{{"body":{body},{rest[1:]}')
