"""How much of a document each kind of content may fill, all below `MAX_DOCUMENT_BYTES` of the
stores (1 MiB).
"""

from typing import Final

# bytes of rows; a row has at most some 40,000 bytes, and boot reads fewer shards the larger they
# are. Chosen
MAX_SNAPSHOT_SHARD_BYTES: Final = 700_000
# entries that one publication takes up; each costs its commit some 350 bytes of `MAX_COMMIT_BYTES`
MAX_ENTRIES_PER_PUBLICATION: Final = 3_000
