"""Files that are written whole or not at all: a draft in the same folder first, which then takes
the file's place.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def draft_beside(file: Path, content: bytes, *, mode: int = 0o600) -> Iterator[Path]:
    """Yield a new file next to `file` with this content, which is on the disk, to be moved or
    linked to it; afterwards the draft is gone. Raises OSError.
    """
    number, name = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".fleet-memory")
    draft = Path(name)
    try:
        with os.fdopen(number, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(number)
        draft.chmod(mode)
        yield draft
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
