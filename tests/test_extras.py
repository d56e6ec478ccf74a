"""A missing extra is one line that names the command; `scripts/check_extras.py` runs each extra alone."""

import pytest

from fleet_memory.errors import EXIT_USAGE, SettingsError, exit_of
from fleet_memory.server.composition import require_extra


def test_a_missing_extra_is_one_line_with_the_command_that_installs_it() -> None:
    with pytest.raises(SettingsError) as refused:
        require_extra("http", "no-such-distribution")
    assert (str(refused.value), exit_of(refused.value.code)) == (
        "no-such-distribution is not installed; this does it: pip install 'fleet-memory[http]'",
        EXIT_USAGE,
    )


def test_an_extra_that_is_installed_is_no_matter() -> None:
    require_extra("http", "prometheus-client")
    require_extra("firestore", "google-cloud-firestore")
