"""The size limits of documents and commits, for every engine."""

from typing import Final

# bytes of fields and path; Source: Firestore's 1 MiB for a document, less its additions, so that a memory fits either
MAX_DOCUMENT_BYTES: Final = 1_048_000
# bytes of values; Source: Firestore's emulator refuses requests of 4 MiB, and names and revisions add to the values
MAX_COMMIT_BYTES: Final = 2_500_000
