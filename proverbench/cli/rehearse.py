"""``proverbench rehearse``: a local endpoint that plays latencies and faults."""

import asyncio
import json
from pathlib import Path

import click

from proverbench.cli.common import HandlesErrors
from proverbench.cli.stop_signals import StopSignals
from proverbench.rehearse.dialects import Dialect, dialect_named, list_dialects
from proverbench.rehearse.prefix_cache import PrefixCache
from proverbench.rehearse.profile import FAULTS, BatchProfile, Latency, Profile, parse_faults
from proverbench.rehearse.replies import GeneratedReplies, Replies, SavedReplies, Vary
from proverbench.rehearse.server import RehearseServer

_RATE = click.FloatRange(0, 1)
_AT_LEAST_1 = click.IntRange(1)


@click.command(cls=HandlesErrors, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--port", type=click.IntRange(0, 65535), default=8765, help="Port; 0 takes a free one.")
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--latency", default="fixed:0", help="fixed:SECONDS or lognormal:MEDIAN,SIGMA.")
@click.option("--faults", default="", metavar="NAME=RATE,…", help=f"Names: an HTTP status, {', '.join(FAULTS)}.")
@click.option("--retry-after", default="1", help="What 429, 503 and 529 say in Retry-After; empty: nothing.")
@click.option("--seed", default=0, help="Everything random follows from it and from the requests.")
@click.option("--accept-rate", type=_RATE, default=0.5, help="Share of proofs that the verifier leans to accept.")
@click.option("--invalid-rate", type=_RATE, default=0.0, help="Share of replies that the protocol counts as invalid.")
@click.option("--reply-chars", type=click.IntRange(0), default=0, help="Pad replies to about this length.")
@click.option(
    "--vary",
    type=click.Choice(["prompt", "seed", "order"]),
    default="prompt",
    help="What a reply depends on besides the prompt: nothing; the request's own seed (set `seed` in [….generation]); "
    "or how often the prompt was answered before (then no two runs are alike).",
)
@click.option(
    "--replies", metavar="RUN", help="Play the replies of this saved run; prompts it never asked get made-up ones."
)
@click.option("--max-in-flight", type=_AT_LEAST_1, help="Refuse more requests at once with 429.")
@click.option("--requests-per-minute", type=_AT_LEAST_1, help="Refuse more with 429, and tell the quota in headers.")
@click.option(
    "--prefix-cache",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Model the provider's prompt cache, which keeps prefixes so long after their last use.",
)
@click.option("--batch-seconds", type=click.FloatRange(0), default=0.0, help="Time until a batch has ended.")
@click.option(
    "--dialect",
    metavar="NAME",
    help="Answer every request in the shape of this server or fault; `--dialect list` lists them all.",
)
@click.option(
    "--kind", type=click.Choice(["openai", "anthropic"]), default="openai", help="Kind in the config printed."
)
def command(
    port: int,
    host: str,
    latency: str,
    faults: str,
    retry_after: str,
    seed: int,
    accept_rate: float,
    invalid_rate: float,
    reply_chars: int,
    vary: Vary,
    replies: str | None,
    max_in_flight: int | None,
    requests_per_minute: int | None,
    prefix_cache: float | None,
    batch_seconds: float,
    dialect: str | None,
    kind: str,
) -> None:
    """A local endpoint that plays latencies and faults, to try a run without key or cost.

    Prints a config that uses it, so that this works:

    \b
    proverbench rehearse --latency lognormal:2,0.6 --faults 429=0.05,500=0.02,reset=0.01 > rehearse.toml &
    sleep 2  # until it listens
    proverbench run --config rehearse.toml --data shipped:proverbench --samples 2

    It speaks OpenAI chat completions, Responses, files and batches, and Anthropic Messages and message batches, at
    once. GET /rehearse/stats counts what it saw; POST /rehearse/control changes it while it runs. Ctrl-C ends it, and
    `kill %1` where it is in the background.
    """
    if dialect == "list":
        click.echo(list_dialects())
        return
    played = None if dialect is None else dialect_named(dialect)
    profile = Profile(
        seed=seed,
        latency=Latency.parse(latency),
        faults=parse_faults(faults),
        retry_after=retry_after or None,
        max_in_flight=max_in_flight,
        requests_per_minute=requests_per_minute,
        batch=BatchProfile(duration_s=batch_seconds),
        true_cache=vary == "order",
        prefix_cache=None if prefix_cache is None else PrefixCache(prefix_cache),
        dialect=played,
    )
    said: Replies = GeneratedReplies(
        seed=seed, vary=vary, accept_rate=accept_rate, invalid_rate=invalid_rate, min_chars=reply_chars
    )
    if replies is not None:
        said = SavedReplies(Path(replies), vary=vary, otherwise=said)
        click.echo(f"{len(said)} saved replies from {replies}", err=True)
    server = RehearseServer(profile=profile, replies=said, host=host, port=port, keep_log=False)
    if played is not None:
        kind = played.kind
    asyncio.run(_serve(server, config=_config(kind, seeded=vary == "seed", dialect=played)))


def _config(kind: str, *, seeded: bool, dialect: Dialect | None = None) -> str:
    """The config that is printed, with the output limit that a dialect speaks of."""
    base_url = "{origin}/v1" if kind == "openai" else "{origin}"
    limits = {"policy": 4096, "verifier": 2048, "meta": 512}
    if dialect is not None and dialect.max_tokens is not None:
        limits = dict.fromkeys(limits, dialect.max_tokens)
    lines = [
        "# Plays latencies and faults; no key and no cost.",
        "[endpoint.rehearse]",
        f'kind = "{kind}"',
        f'base_url = "{base_url}"',
        "concurrency = 64",
        "read_timeout_s = 60",
        "timeout_s = 300",
        *(["stream = true"] if dialect is not None and dialect.streams else []),
    ]
    for role, max_tokens in limits.items():
        seed = ", seed = 1" if seeded else ""
        lines += [
            "",
            f"[{role}]",
            f'model = "rehearse-{role}"',
            'endpoint = "rehearse"',
            f"generation = {{ max_tokens = {max_tokens}{seed} }}",
        ]
    return "\n".join(lines)


async def _serve(server: RehearseServer, *, config: str) -> None:
    """Listen until a signal comes; stdout carries the config alone, so that it can be saved."""
    async with server:
        with StopSignals() as signals:
            click.echo(
                f"listening on {server.origin}; stats at {server.origin}/rehearse/stats; Ctrl-C ends it", err=True
            )
            click.echo(config.replace("{origin}", server.origin))
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if signals.came is None:
                    raise
        click.echo(json.dumps(server.stats(), indent=2), err=True)
