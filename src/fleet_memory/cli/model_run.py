"""A run of the judge model in one line, for `fleet-memory maintain` and `fleet-memory health`."""

from fleet_memory.rules.text.counting import counted
from fleet_memory.schemas.health import ModelRun


def model_line(run: ModelRun) -> str:
    """Return e.g. "qwen3:8b: 12 pairs (3 same, 9 different), 33 calls, 9,120 tokens"."""
    if run.at is None:
        return f"{run.model}: {run.problem or 'not asked yet'}"
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in run.verdicts.items())
    parts = [
        counted(run.pairs, "pair") + (f" ({verdicts})" if verdicts else ""),
        *([f"{run.steering} left to people"] if run.steering else []),
        f"{counted(run.calls, 'call')}, {run.tokens:,} tokens",
        *([f"{run.failures} failed: {run.problem}"] if run.failures else []),
    ]
    return f"{run.model}: {', '.join(parts)}"
