"""The history of a program's context summaries, the newest 50 of them."""

from typing import Final

from fleet_memory.repositories.fleet_documents import FleetDocuments
from fleet_memory.schemas.programs import PastSummary, Program
from fleet_memory.stores import Document, Ref, Write

MAX_SUMMARIES: Final = 50  # of one program; Source: docs/state.md, chosen


class History(FleetDocuments):
    """The history of one fleet's programs."""

    async def newest(self, program: Program, count: int) -> list[PastSummary]:
        """Return a program's newest context summaries, the newest first, at most 50. Billed 1 read
        each.
        """
        first = max(0, program.summaries - min(count, MAX_SUMMARIES))
        refs = [self._ref(program.program_id, number) for number in range(first, program.summaries)]
        documents = await self.store.get(*refs) if refs else []
        return sorted(
            (past_summary(document) for document in documents if document),
            key=lambda past: -past.number,
        )

    def write(self, past: PastSummary) -> Write:
        """Return the write that stores a summary."""
        return Write(
            self._ref(past.program_id, past.number),
            {"programId": past.program_id, "number": past.number, "text": past.compact()},
        )

    def _ref(self, program_id: str, number: int) -> Ref:
        # In the place of the one that is 50 older: the history is bounded, and to read it takes no
        # query and no index.
        return self.paths.summary(program_id, number % MAX_SUMMARIES)


def past_summary(document: Document) -> PastSummary:
    """Return the context summary in a document of the history."""
    return PastSummary.from_json(str(document.fields["text"]))
