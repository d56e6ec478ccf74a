"""The files for operators are true: alerts, dashboard and page name metrics, labels and fields that there are."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.core import Metric

from fleet_memory.server.listing import tool_names
from fleet_memory.server.observing.metrics import FleetState, Metrics
from fleet_memory.server.observing.requests import OUTCOMES, SeenRequest
from fleet_memory.server.served_store import StoreUse
from tests.test_call_log import COSTS, FIELDS

ROOT = Path(__file__).parent.parent
ALERTS = (ROOT / "deploy" / "prometheus-alerts.yaml").read_text(encoding="utf-8")
DASHBOARD = (ROOT / "deploy" / "grafana-dashboard.json").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
OURS = r"\b((?:mcp|fleet_memory|process)_[a-z_]+)"
OF_PROMETHEUS = {"up", "job", "instance"}


@pytest.fixture(scope="module")
def families() -> list[Metric]:
    metrics = Metrics(StoreUse(), tool_names())
    metrics.watch(SeenRequest(1, "tools/call", None, None, None, "recall_memory", "ok", 0.1, StoreUse()))
    metrics.state = FleetState(1, 1, 1, 1.0)
    metrics.is_store_up = True
    return list(metrics.registry.collect())


def series(families: list[Metric]) -> dict[str, set[str]]:
    """Return the labels of every series."""
    return {
        name: set().union(*(sample.labels for family in families for sample in family.samples if sample.name == name))
        for name in {sample.name for family in families for sample in family.samples}
    }


def expressions() -> Iterator[str]:
    yield from re.findall(r"expr: \|\n((?:\s{10,}.*\n)+)", ALERTS)
    yield from re.findall(r"expr: ([^|\n].*)", ALERTS)
    for panel in json.loads(DASHBOARD)["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def test_every_alert_and_every_panel_has_an_expression() -> None:
    panels = json.loads(DASHBOARD)["panels"]
    assert ALERTS.count("- alert:") == 5
    assert len(list(expressions())) == 5 + sum(len(panel["targets"]) for panel in panels)


def test_alerts_and_dashboard_name_metrics_and_labels_that_there_are(families: list[Metric]) -> None:
    known = series(families)
    for expression in expressions():
        for name, matchers in re.findall(OURS + r"(?:\{([^}]*)\})?", expression):
            if name in {"fleet_memory", *set().union(*known.values())}:
                continue  # a label
            assert name in known, expression
            labels = set(re.findall(r"([a-z_]+)=", matchers.replace("!", "")))
            assert labels <= known[name] | OF_PROMETHEUS, expression


def test_alerts_name_outcomes_that_there_are() -> None:
    for expression in expressions():
        for outcomes in re.findall(r'outcome!?=~?"([^"]*)"', expression):
            assert set(outcomes.split("|")) <= OUTCOMES, expression


def test_the_page_lists_every_metric_every_alert_and_every_field_of_the_log(families: list[Metric]) -> None:
    names = {name for name in series(families) if not name.endswith(("_bucket", "_count", "_sum"))}
    missing = [name for name in names if not name.startswith("process_") and f"`{name}`" not in PAGE]
    assert missing == []
    assert [alert for alert in re.findall(r"- alert: (\w+)", ALERTS) if f"**{alert}**" not in PAGE] == []
    assert [field for field in (*FIELDS, *COSTS) if f"`{field}`" not in PAGE] == []


def test_a_job_of_another_name_and_a_server_that_discovery_lost_raise_the_alert_too() -> None:
    (expression,) = re.findall(r"alert: FleetMemoryDown\n\s+expr: (.*)", ALERTS)
    (job,) = re.findall(r"job_name: (\S+)", PAGE)
    assert expression == f'up{{job="{job}"}} == 0 or absent(up{{job="{job}"}})'


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD)["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells
