"""Where the libraries of the embedding model have builds, as pyproject.toml asks for them. On musl
they have none.
"""

import platform
import sys
import sysconfig
from typing import Final

NO_BUILD: Final = (
    "The embedding model has no build for this machine and Python, so lessons are compared by "
    "their letters and only "
    "those of equal text merge."
)


def machine_has_builds() -> bool:
    """Whether the libraries of the embedding model have builds for this machine and Python."""
    is_musl = "musl" in str(sysconfig.get_config_var("SOABI"))
    return not is_musl and has_builds(
        sys.implementation.name, sys.version_info[:2], sys.platform, platform.machine()
    )


def has_builds(implementation: str, version: tuple[int, int], system: str, machine: str) -> bool:
    """Whether there are builds for a Python on a machine, in the words of the marker: "cpython",
    "linux", "x86_64".
    """
    if implementation != "cpython" or version >= (3, 15):
        return False
    match system:
        case "linux":
            return machine in ("x86_64", "aarch64")
        case "darwin":
            return machine == "arm64" or version < (3, 14)
        case "win32":
            return machine in ("AMD64", "ARM64")
    return False
