"""Makes the wheel for musl, e.g. Alpine: `python scripts/musl_wheel.py
dist/fleet_memory-0.1.0-py3-none-any.whl`.

Unlike the wheel for everybody it does not require the libraries of the model, which have no builds
for musl; no marker of a requirement can express that. Installers prefer the wheel that names their
platform. See docs/dependencies.md, "Platforms".
"""

import base64
import hashlib
import re
import sys
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

TAGS: Final = tuple(f"musllinux_1_2_{machine}" for machine in ("x86_64", "aarch64", "armv7l"))
LEFT_OUT: Final = ("google-re2", "onnxruntime", "tokenizers")


def musl_wheel(wheel: Path) -> Path:
    """Write the wheel for musl next to a wheel for everybody, and return its path."""
    target = wheel.with_name(wheel.name.replace("-any.whl", f"-{'.'.join(TAGS)}.whl"))
    with ZipFile(wheel) as source, ZipFile(target, "w", ZIP_DEFLATED) as made:
        record, changed = "", dict[str, str]()
        for entry in source.infolist():
            content = source.read(entry)
            name = entry.filename
            if name.endswith(".dist-info/RECORD"):
                record = name
                continue
            if name.endswith((".dist-info/METADATA", ".dist-info/WHEEL")):
                content = _changed(content.decode()).encode()
                changed[name] = f"{name},{_hash(content)},{len(content)}"
            made.writestr(entry, content, ZIP_DEFLATED)
        lines = source.read(record).decode().splitlines()
        made.writestr(
            source.getinfo(record),
            "\n".join(changed.get(line.split(",")[0], line) for line in lines) + "\n",
        )
    return target


def _changed(text: str) -> str:
    """Return METADATA without the libraries of the model, or WHEEL with the tags of musl."""
    head, separator, description = text.partition(
        "\n\n"
    )  # the lines of a description are no requirements
    head = re.sub(
        rf"^Requires-Dist: (?:{'|'.join(LEFT_OUT)})\b.*\n", "", f"{head}\n", flags=re.MULTILINE
    )
    head = head.replace("Tag: py3-none-any\n", "".join(f"Tag: py3-none-{tag}\n" for tag in TAGS))
    return head[:-1] + separator + description


def _hash(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"sha256={digest.decode().rstrip('=')}"


if __name__ == "__main__":
    sys.stdout.write(f"{musl_wheel(Path(sys.argv[1]))}\n")
