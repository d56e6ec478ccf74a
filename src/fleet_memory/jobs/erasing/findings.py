"""The documents that a purge erases and changes, by name, for the person who asks for it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from fleet_memory.rules.erasing.knowledge import entry_after
from fleet_memory.rules.erasing.programs import without_erased
from fleet_memory.rules.erasing.targets import Erasure
from fleet_memory.rules.text.counting import counted
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Write

_KINDS: Final = {  # of documents and of parts of programs
    "notes": ("note", "notes"),
    "questions": ("question", "questions"),
    "pairs": ("pair", "pairs"),
    "archive": ("line of the archive", "lines of the archive"),
    "history": ("earlier handover", "earlier handovers"),
    "receipts": ("remembered answer", "remembered answers"),
    "waiting": ("older document", "older documents"),
    "ledger": ("line of the ledger", "lines of the ledger"),
    "policy": ("policy", "policies"),
    "tokens": ("token", "tokens"),
    "states": ("program's handover or config", "programs' handovers or configs"),
}


@dataclass
class Found:
    """Names of lessons ("iso/use-wal"), entries with their changes, and counts of other things by
    kind.
    """

    programs: dict[str, str] = field(default_factory=dict)
    lessons: set[str] = field(default_factory=set)
    entries: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    others: Counter[str] = field(default_factory=Counter)

    def sums(self) -> str:
        """Return e.g. "1 lesson, 2 pairs", without a name."""
        named = [(self.programs, "program", "programs"), (self.lessons, "lesson", "lessons")]
        counts = [counted(len(names), one, many) for names, one, many in named if names]
        counts += [counted(len(self.entries), "entry", "entries")] if self.entries else []
        counts += [counted(len(self.names), "name")] if self.names else []
        return ", ".join([*counts, *self.other_sums()])

    def other_sums(self) -> list[str]:
        """Return e.g. ["2 pairs", "1 line of the ledger"]."""
        return [counted(count, *_KINDS[kind]) for kind, count in self.others.items() if count]


@dataclass
class Findings:
    """The documents that go, and those that stay without their erased parts."""

    gone: Found = field(default_factory=Found)
    changed: Found = field(default_factory=Found)

    def sums(self) -> str:
        """Return e.g. "1 lesson, 2 pairs; changed: 1 entry", without a name."""
        gone, changed = self.gone.sums(), self.changed.sums()
        return "; ".join([*([gone] if gone else []), *([f"changed: {changed}"] if changed else [])])

    def document(self, kind: str, writes: Sequence[Write]) -> None:
        """Note a document of a kind that goes, or changes."""
        findings = self.changed if any(write.fields for write in writes) else self.gone
        findings.others[kind] += 1

    def whole(self, program: Program) -> None:
        """Note a program that goes."""
        counts = [
            counted(len(program.patterns), "lesson"),
            *([counted(len(program.notes), "note")] if program.notes else []),
            *([counted(len(program.missing), "question")] if program.missing else []),
        ]
        self.gone.programs[program.program_id] = ", ".join(counts)

    def program(self, before: Program, erasure: Erasure) -> None:
        """Note the parts that go of a program that stays, and the changes in it."""
        after, name = without_erased(before, erasure), before.program_id
        for id_, lesson in before.patterns.items():
            new = erasure.name_after(name, id_)
            if erasure.is_lesson_text(name, id_, lesson.pattern):
                self.gone.lessons.add(f"{name}/{id_}")
            elif new != id_:
                self.changed.names[f"{name}/{id_}"] = f"{name}/{new}"
            elif after.patterns.get(id_) != lesson:
                self.changed.lessons.add(f"{name}/{id_}")
        self.gone.others["notes"] += len(before.notes) - len(after.notes)
        self.gone.others["questions"] += len(before.missing) - len(after.missing)
        self.changed.others["states"] += after.state_version != before.state_version

    def entry(self, before: Entry, erasure: Erasure) -> None:
        """Note an entry that goes, or how it changes."""
        after = entry_after(before, erasure)
        if after is None:
            self.gone.entries[before.key] = ""
            return
        lost = {line.program_id for line in before.provenance} - {
            line.program_id for line in after.provenance
        }
        takes = after.value.pattern != before.value.pattern
        parts = [
            *(
                [f"takes the text of {after.provenance[0].program_id}, the others are judged again"]
                if takes
                else []
            ),
            *([f"loses what it has of {', '.join(sorted(lost))}"] if lost and not takes else []),
            *([f"is called {after.key}"] if after.key != before.key else []),
        ]
        self.changed.entries[before.key] = "; ".join(parts) or "loses some words or evidence"
