"""What people change: each act is one of the jobs that commands and tools use, on a store that
refuses what is not as the person saw it. It returns the page to go to.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, get_args
from urllib.parse import urlencode

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import (
    allow_lesson,
    edit_lesson,
    judge_pair,
    reinstate_entry,
    retire_entry,
    reword_entry,
    split_entry,
    withdraw_lesson,
)
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.jobs.restoration import restore_archived
from fleet_memory.jobs.tokens import revoke_token
from fleet_memory.schemas.pairs import NewVerdict, Verdict
from fleet_memory.schemas.patterns import TextChange
from fleet_memory.window.stores import entry_seen, lesson_seen, pair_seen, watching

MAX_AT_ONCE: Final = 100  # lessons of one act; chosen
UNNAMED: Final = "by a person in the window"  # the reason where a form asks for none


class Form(NamedTuple):
    """The fields of a form as they were sent."""

    fields: Mapping[str, Sequence[str]]

    def text(self, name: str) -> str:
        """Return a field's text, "" for none."""
        return (self.fields.get(name) or [""])[0].strip()

    def needed(self, name: str) -> str:
        """Return a field's text. Raises InvalidArgumentError for none."""
        if not (text := self.text(name)):
            raise InvalidArgumentError(f"{name}: is missing. Nothing was done.")
        return text

    def why(self) -> str:
        """Return the reason that the ledger keeps."""
        return self.text("why") or UNNAMED


def _to(path: str, **asked: str) -> str:
    return f"{path}?{urlencode(asked)}"


def _of_entry(fleet: Fleet, form: Form) -> tuple[Fleet, str]:
    key = form.needed("key")
    return watching(fleet, entry_seen(fleet, key, form.text("seen"))), key


def _of_lesson(fleet: Fleet, form: Form) -> tuple[Fleet, str, str]:
    program, id_ = form.needed("program"), form.needed("id")
    return watching(fleet, lesson_seen(fleet, program, id_, form.text("seen"))), program, id_


async def _judge(fleet: Fleet, form: Form) -> str:
    """Judge a pair, and in the same act give its entry a better text or take a side's lesson out
    of its program.
    """
    fleet.caller.require_curation()
    pair_id = form.needed("pair")
    act = watching(fleet, pair_seen(fleet, pair_id, form.text("seen")))
    word = form.needed("verdict")
    verdict = next((each for each in get_args(Verdict) if each == word), None)
    if verdict is None:
        raise InvalidArgumentError(f"verdict: {word!r} is none. Nothing was done.")
    sent = {"pairId": pair_id, "verdict": verdict, "reason": form.text("reason")}
    judged = await judge_pair(act, NewVerdict.model_validate(sent))
    if (text := form.text("text")) and judged.key:
        await reword_entry(fleet, judged.key, text, form.text("reason") or UNNAMED)
    await publish_now(fleet)
    return _to("/review", pair=pair_id, **({"entry": judged.key} if judged.key else {}))


async def _reject(fleet: Fleet, form: Form) -> str:
    """Take a lesson out of its program, and its pair with it: it is wrong, whatever the other
    says.
    """
    act, program, id_ = _of_lesson(fleet, form)
    await withdraw_lesson(act, program, id_, form.why())
    await publish_now(fleet)
    return _to("/programs", program=program, forgot=id_)


async def _retire(fleet: Fleet, form: Form) -> str:
    """Take an entry out of use."""
    act, key = _of_entry(fleet, form)
    await retire_entry(act, key, form.needed("why"))
    return _to("/entry", key=key, done="retired")


async def _reinstate(fleet: Fleet, form: Form) -> str:
    """Bring a retired entry back."""
    act, key = _of_entry(fleet, form)
    await reinstate_entry(act, key, form.needed("why"))
    return _to("/entry", key=key, done="reinstated")


async def _reword(fleet: Fleet, form: Form) -> str:
    """Give an entry another text."""
    act, key = _of_entry(fleet, form)
    await reword_entry(act, key, form.needed("text"), form.needed("why"))
    return _to("/entry", key=key, done="reworded")


async def _split(fleet: Fleet, form: Form) -> str:
    """Take a contribution out of an entry."""
    act, key = _of_entry(fleet, form)
    await split_entry(act, key, form.needed("program"), form.text("id") or None, form.why())
    return _to("/entry", key=key, done="split")


async def _edit(fleet: Fleet, form: Form) -> str:
    """Give a lesson another text, as its author would."""
    act, program, id_ = _of_lesson(fleet, form)
    change = next((each for each in get_args(TextChange) if each == form.text("change")), None)
    if change is None:
        raise InvalidArgumentError("change: choose reworded or corrected. Nothing was done.")
    await edit_lesson(act, program, id_, form.needed("text"), change, form.needed("why"))
    await publish_now(fleet)
    return _to("/lesson", program=program, id=id_, done="edited")


async def _forget(fleet: Fleet, form: Form) -> str:
    """Move lessons of a program to the archive, up to the first that changed since it was shown.

    A lesson is sent as its mark and its id, e.g. "9f86d081 check-status".
    """
    program, why, gone = form.needed("program"), form.needed("why"), list[str]()
    for each in (form.fields.get("lesson") or ())[:MAX_AT_ONCE]:
        seen, _, id_ = each.partition(" ")
        act = watching(fleet, lesson_seen(fleet, program, id_, seen))
        await withdraw_lesson(act, program, id_, why)
        gone.append(id_)
    if not gone:
        raise InvalidArgumentError("lesson: choose at least one. Nothing was done.")
    await publish_now(fleet)
    return _to("/programs", program=program, forgot=",".join(gone))


async def _restore(fleet: Fleet, form: Form) -> str:
    """Bring lessons or notes of a program back from the archive."""
    fleet.caller.require_curation()
    program = form.needed("program")
    for id_ in (form.fields.get("id") or ())[:MAX_AT_ONCE]:
        row = await restore_archived(fleet, program, id_)
        if not row["restored"]:
            raise InvalidArgumentError(f"{id_}: {row['reason']}")
    await publish_now(fleet)
    return _to("/programs", program=program, done="restored")


async def _allow(fleet: Fleet, form: Form) -> str:
    """Release a lesson that gives its reader orders."""
    act, program, id_ = _of_lesson(fleet, form)
    await allow_lesson(act, program, id_, form.needed("why"))
    return _to("/lesson", program=program, id=id_, done="allowed")


async def _end_token(fleet: Fleet, form: Form) -> str:
    """End a token: every server refuses it within seconds."""
    ended = await revoke_token(fleet, form.needed("token"))
    return _to("/programs", program=ended.program_id, show="state", done="ended")


Act: TypeAlias = Callable[[Fleet, Form], Awaitable[str]]
ACTS: Final[Mapping[str, Act]] = {
    f"/do/{act.__name__.strip('_').replace('_', '-')}": act
    for act in (
        *(_judge, _reject, _retire, _reinstate, _reword, _split),
        *(_edit, _forget, _restore, _allow, _end_token),
    )
}
