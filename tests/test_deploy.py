"""The container, the manifest and the Compose file agree with each other and with the settings."""

import json
import re
import signal
from pathlib import Path

import pytest

from fleet_memory.cli import main
from fleet_memory.cli.install import INSTALLED_TOOLSETS
from fleet_memory.cli.serve import DEFAULT_BIND
from fleet_memory.errors import EXIT_USAGE
from fleet_memory.server.http.serving import EXIT_WITHIN_S
from fleet_memory.settings import SETTINGS

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
KUBERNETES = (ROOT / "deploy" / "kubernetes.yaml").read_text(encoding="utf-8")
COMPOSE = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")
SERVICE = (ROOT / "deploy" / "fleet-memory.service").read_text(encoding="utf-8")
SOCKET = (ROOT / "deploy" / "fleet-memory.socket").read_text(encoding="utf-8")
METRICS = ["--metrics", "0.0.0.0:9464"]  # on loopback nothing outside the container could read them


def instruction(name: str) -> str:
    (found,) = re.findall(rf"^{name} (.+)$", DOCKERFILE, re.MULTILINE)
    return str(found)


def test_the_container_serves_http_on_the_port_that_its_health_check_the_manifest_and_compose_name() -> (
    None
):
    assert json.loads(instruction("ENTRYPOINT")) == ["fleet-memory"]
    assert json.loads(instruction("CMD")) == ["serve", "--http", "0.0.0.0:8080", *METRICS]
    assert instruction("EXPOSE") == "8080 9464"
    assert "'http://127.0.0.1:8080/healthz'" in DOCKERFILE
    assert 'args: [serve, --http, "0.0.0.0:8080", --metrics, "0.0.0.0:9464"]' in KUBERNETES
    assert "containerPort: 8080" in KUBERNETES
    assert "127.0.0.1:8080:8080" in COMPOSE


def test_prometheus_reaches_the_metrics_of_every_container() -> None:
    assert "containerPort: 9464" in KUBERNETES
    assert 'prometheus.io/port: "9464"' in KUBERNETES
    assert "'127.0.0.1:9464:9464'" in COMPOSE


def test_an_agent_of_every_deployment_can_leave_a_handoff() -> None:
    assert f"FLEET_MEMORY_TOOLSETS={INSTALLED_TOOLSETS}" in DOCKERFILE
    assert "FLEET_MEMORY_TOOLSETS" not in KUBERNETES + COMPOSE
    assert f"FLEET_MEMORY_TOOLSETS={INSTALLED_TOOLSETS}" in SERVICE


def test_nothing_runs_as_root() -> None:
    assert f"runAsUser: {instruction('USER')}" in KUBERNETES
    assert f"--uid {instruction('USER')} " in DOCKERFILE
    assert "runAsNonRoot: true" in KUBERNETES
    assert re.search(r"^User=(?!root)", SERVICE, re.MULTILINE)


def test_the_service_of_systemd_listens_on_loopback_and_is_not_restarted_for_a_wrong_setting() -> (
    None
):
    assert f"serve --http {DEFAULT_BIND}\n" in SERVICE
    assert f"\nListenStream={DEFAULT_BIND}\n" in SOCKET
    assert f"\nRestartPreventExitStatus={EXIT_USAGE}\n" in SERVICE
    assert f"\nSuccessExitStatus={128 + signal.SIGTERM}\n" in SERVICE
    (stop_s,) = re.findall(r"^TimeoutStopSec=(\d+)$", SERVICE, re.MULTILINE)
    assert int(stop_s) > EXIT_WITHIN_S


@pytest.mark.parametrize(
    "text",
    [KUBERNETES, COMPOSE, DOCKERFILE, SERVICE],
    ids=["kubernetes", "compose", "dockerfile", "systemd"],
)
def test_every_variable_is_a_setting_and_every_command_exists(text: str) -> None:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    assert set(re.findall(r"FLEET_MEMORY_[A-Z_]+", "\n".join(lines))) <= {
        setting.variable for setting in SETTINGS
    }
    for command in set(re.findall(r"(?:fleet-memory|service) (token|serve|doctor)\b", text)):
        with pytest.raises(SystemExit) as left:
            main([command, "--help"])
        assert left.value.code == 0
