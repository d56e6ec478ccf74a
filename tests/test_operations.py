"""The files for operators are true: alerts, dashboard and page name metrics, labels and fields that
there are.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.core import Metric

from fleet_memory.server.composition import every_tool
from fleet_memory.server.engines import StoreUse
from fleet_memory.server.observing.metrics import FleetState, Metrics
from fleet_memory.server.observing.requests import OUTCOMES, SeenRequest
from tests.bounds import HANG_S
from tests.test_call_log import COSTS, FIELDS

ROOT = Path(__file__).parent.parent
RULES = ROOT / "deploy" / "prometheus-alerts.yaml"
CASES = ROOT / "deploy" / "prometheus-alerts-test.yaml"
ALERTS = RULES.read_text(encoding="utf-8")
DASHBOARD = (ROOT / "deploy" / "grafana-dashboard.json").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
OURS = r"\b((?:mcp|fleet_memory|process)_[a-z_]+)"
OF_PROMETHEUS = {"up", "job", "instance"}


@pytest.fixture(scope="module")
def families() -> list[Metric]:
    metrics = Metrics(StoreUse(), every_tool(), "default")
    metrics.watch(
        SeenRequest(1, "tools/call", None, None, None, "recall_memory", "ok", 0.1, StoreUse())
    )
    metrics.state = FleetState(1, 1, 1, 1.0)
    metrics.is_store_up = True
    metrics.tokens_end_at = 1.0
    return list(metrics.registry.collect())


def series(families: list[Metric]) -> dict[str, set[str]]:
    """Return the labels of every series."""
    return {
        name: set().union(
            *(
                sample.labels
                for family in families
                for sample in family.samples
                if sample.name == name
            )
        )
        for name in {sample.name for family in families for sample in family.samples}
    }


def expressions() -> Iterator[str]:
    yield from re.findall(r"expr: \|\n((?:\s{10,}.*\n)+)", ALERTS)
    yield from re.findall(r"expr: ([^|\n].*)", ALERTS)
    for panel in json.loads(DASHBOARD)["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def test_every_alert_and_every_panel_has_an_expression() -> None:
    panels = json.loads(DASHBOARD)["panels"]
    assert ALERTS.count("- alert:") == 7
    assert len(list(expressions())) == 7 + sum(len(panel["targets"]) for panel in panels)


def test_alerts_and_dashboard_name_metrics_and_labels_that_there_are(
    families: list[Metric],
) -> None:
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


def test_the_page_lists_every_metric_every_alert_and_every_field_of_the_log(
    families: list[Metric],
) -> None:
    names = {name for name in series(families) if not name.endswith(("_bucket", "_count", "_sum"))}
    missing = [
        name for name in names if not name.startswith("process_") and f"`{name}`" not in PAGE
    ]
    assert missing == []
    assert [
        alert for alert in re.findall(r"- alert: (\w+)", ALERTS) if f"**{alert}**" not in PAGE
    ] == []
    assert [field for field in (*FIELDS, *COSTS) if f"`{field}`" not in PAGE] == []


def test_the_alerts_ask_for_the_job_of_the_page() -> None:
    (job,) = re.findall(r"job_name: (\S+)", PAGE)
    assert set(re.findall(r'job="([^"]*)"', ALERTS)) == {job}


def test_every_alert_has_a_case_with_series_as_a_server_writes_them(families: list[Metric]) -> None:
    cases, known = CASES.read_text(encoding="utf-8"), series(families)
    alerts = re.findall(r"- alert: (\w+)", ALERTS)
    assert set(alerts) == set(re.findall(r"alertname: (\w+)", cases))
    for name, labels in re.findall(r"series: '(\w+)\{(.*?)\}'", cases):
        spelt = set(re.findall(r'(\w+)="', labels))
        assert name == "up" or known[name] <= spelt <= known[name] | OF_PROMETHEUS, name


@pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool, of Prometheus, is not installed"
)
def test_the_alerts_fire_for_the_fleet_with_the_fault_alone() -> None:
    for words in (["check", "rules", str(RULES)], ["test", "rules", str(CASES)]):
        done = subprocess.run(  # noqa: S603 words of this test
            ["promtool", *words],  # noqa: S607 on the PATH of whoever has it
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD)["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells
