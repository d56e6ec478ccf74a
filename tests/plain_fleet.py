"""A plain model of votes: the simplest, slowest statement of docs/knowledge.md, with no store,
numbers or threads.

A program is named as it writes itself; wherever independence counts, two spellings of a name are
one program. `plain_memory` stores and joins, `plain_judging` takes verdicts, `plain_asking` chooses
who gives them.
"""

from datetime import datetime

from tests.plain_asking import PlainAsking
from tests.plain_entry import Entry, Lesson, RefusedError, Word, count_origins, folded, words_of
from tests.plain_pair import Side, Voice


class PlainFleet(PlainAsking):
    """The knowledge of a fleet, from everything that its programs and people did."""

    # Words

    def word(
        self,
        program: str,
        target: Side,
        outcome: str,
        evidence: str = "",
        *,
        at: datetime,
        session: str | None = None,
        connection: str | None = None,
    ) -> None:
        """Take a program's word about `("lesson", its lesson_id)`, and so about its entry, or
        `("entry", text)`.
        """
        if target[0] == "entry":
            entries = [self._entry(target[1])]
            if (
                entries[0].published_at is None
            ):  # once published, the key is known, and a word may be taken back
                raise RefusedError("agents have never read this entry")
        else:
            lesson = self._lesson(program, target[1])
            self._reinforce(lesson, outcome, at)
            entries = [entry for entry, _ in self._places(lesson)]
        for entry in entries:
            if outcome == "confirmed":
                self._move_last_confirmed(entry, at)
            if evidence.strip():
                self._hear(entry, Word(program, outcome, at, session, connection))
                self._settle(entry, at)

    def _reinforce(self, lesson: Lesson, outcome: str, at: datetime) -> None:
        if outcome == "confirmed":
            lesson.last_reinforced = max(lesson.last_reinforced, at)
        else:
            lesson.confidence /= 2

    def _hear(self, entry: Entry, word: Word) -> None:
        if word.outcome == "contradicted":
            self._contradict(entry, word)
            return
        entry.words_about[folded(word.program)] = word
        for against in entry.contradictions(waiting=True):
            supporters = count_origins(
                entry.confirmations_after(against.at), self._rule_of(entry).origins
            )
            if supporters >= 2 and not entry.is_contributor(against.program):
                del entry.words_about[folded(against.program)]

    # People

    def retire(self, text: str, at: datetime) -> None:
        entry = self._entry(text)
        entry.retired = True
        self._settle(entry, at)

    def reinstate(self, text: str, at: datetime) -> None:
        """Bring a retired entry back and clear the contradictions of it; people's word confirms
        it.
        """
        entry = self._entry(text)
        if not entry.retired:
            return
        entry.retired = False
        entry.words_about = {
            who: word for who, word in entry.words_about.items() if word.outcome == "confirmed"
        }
        self._move_last_confirmed(entry, at)
        self._settle(entry, at)

    def reword(self, text: str, new_text: str, at: datetime) -> None:
        """Give the entry another text; its contributions stay."""
        entry = self._entry(text)
        if any(other.words == words_of(new_text) for other in self.known if other is not entry):
            raise RefusedError("another entry has this text")
        entry.text = new_text
        self._settle(entry, at)

    def split(self, text: str, program: str, at: datetime) -> None:
        """Take the program's contributions out of the entry for good."""
        entry = self._entry(text)
        mine = [one for one in entry.contributions if not one.echo]
        theirs = [one for one in mine if folded(one.program) == folded(program)]
        if (
            len(theirs) != 1 or theirs[0].words == entry.words
        ):  # "Equal words are the same, unasked"
            raise RefusedError("the program has no contribution to take out, or several")
        entry.contributions.remove(theirs[0])
        entry.split_off |= {(folded(program), theirs[0].words)}
        # "turns one contribution to `different`", for a person
        self._record(frozenset({entry.words, theirs[0].words}), Voice(None, "different", at, None))
        self._settle(entry, at)

    def apply_policy(self, at: datetime) -> None:
        """Make candidates of the published entries that the present policy would not publish.

        "lists and takes back the rest"; an entry that suffices keeps the policy it was published
        under, and the maintainer publishes entries that reach a lowered threshold.
        """
        for entry in self.known:
            if (
                entry.published
                and not entry.retired
                and self._votes(entry, self.policy) < self.policy.threshold
            ):
                entry.rule = self.policy
                self._settle(entry, at)
