"""Every error of the project, as one tree.

    FleetMemoryError
    ├── InvalidArgumentError      invalid_argument      exit 2
    │   └── UnknownNameError      unknown_name          exit 1
    │       └── UnknownProgramError   unknown_name      exit 1
    ├── SettingsError             invalid_argument      exit 2
    ├── PatternNotFoundError      pattern_not_found     exit 1
    ├── KnowledgeNotFoundError    knowledge_not_found   exit 1
    ├── NoteNotFoundError         note_not_found        exit 1
    ├── ForbiddenError            forbidden             exit 1
    ├── ConflictError             conflict              exit 4   retryable
    │   └── RacesLostError        conflict              exit 4   retryable
    ├── LeaseLostError            conflict              exit 4   retryable
    ├── StateMovedError           conflict              exit 4   retryable
    ├── CapacityExceededError     capacity_exceeded     exit 1
    ├── RateLimitedError          rate_limited          exit 1   retryable
    ├── StoreError                store_unavailable     exit 3
    │   ├── StoreUnavailableError store_unavailable     exit 3   retryable
    │   │   └── OutcomeUnknownError   store_unavailable exit 3   retryable
    │   └── StoreRejectedError    store_unavailable     exit 3
    │       └── DocumentRejectedError store_unavailable exit 3
    ├── EmbedderError             internal              exit 5
    │   └── EmbedderUnavailableError  embedder_unavailable  exit 3   retryable
    ├── JudgeModelError           internal              exit 5
    │   └── JudgeModelUnavailableError  judge_model_unavailable  exit 3   retryable
    └── IssuerUnavailableError    issuer_unavailable    exit 3   retryable

A message names the error, its place and the next step for the agent or the operator. It never
contains a traceback, a path or a secret; `FleetMemoryError.operator_detail` may, and is only
logged.
"""

from collections.abc import Sequence
from typing import ClassVar, Final

EXIT_NO: Final = 1  # the answer is no
EXIT_USAGE: Final = 2
EXIT_UNAVAILABLE: Final = 3  # the store or the embedder
EXIT_CONFLICT: Final = 4
EXIT_INTERNAL: Final = 5
RPC_RATE_LIMITED: Final = -32010  # JSON-RPC; chosen: MCP leaves -32000 to -32019 to implementations
EXIT_CODES: Final = (
    "0 done, 1 the answer is no, 2 usage, 3 backend unavailable, 4 conflict, 5 internal"
)

_EXITS: Final = {
    "invalid_argument": EXIT_USAGE,
    "conflict": EXIT_CONFLICT,
    "internal": EXIT_INTERNAL,
}


def exit_of(code: str) -> int:
    """Return the exit code of an error's code, e.g. `exit_of("store_unavailable") == 3`."""
    return EXIT_UNAVAILABLE if code.endswith("_unavailable") else _EXITS.get(code, EXIT_NO)


def close_or(call: str, **close: Sequence[str]) -> str:
    """Return the close names of each kind, e.g. "Close ids are n1." of `ids=["n1"]`, else which
    call lists all.
    """
    known = [f"Close {kind} are {', '.join(names)}." for kind, names in close.items() if names]
    return " ".join(known) or call


class FleetMemoryError(Exception):
    """Base of every error raised on purpose."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, operator_detail: str = "") -> None:
        super().__init__(message)
        self.operator_detail = operator_detail


class InvalidArgumentError(FleetMemoryError):
    """An argument is wrong; the message names the field. Nothing was written."""

    code = "invalid_argument"


class UnknownNameError(InvalidArgumentError):
    """An argument names something that is not there. Nothing was written."""

    code = "unknown_name"


class UnknownProgramError(UnknownNameError):
    """A program that has stored nothing; `close` are names close to its."""

    def __init__(self, program_id: str, close: Sequence[str] = ()) -> None:
        known = close_or("`fleet-memory list programs` lists the programs.", names=close)
        super().__init__(f"{program_id} has stored nothing. {known}")


class SettingsError(FleetMemoryError):
    """A flag or environment variable is wrong; the message names it. Shown to operators only."""

    code = "invalid_argument"


class PatternNotFoundError(FleetMemoryError):
    """The program has no lesson of that id."""

    code = "pattern_not_found"

    def __init__(
        self, program_id: str, pattern_id: str, ids: Sequence[str] = (), keys: Sequence[str] = ()
    ) -> None:
        call = "Call recall_memory to list its lessons (in a shell: fleet-memory list lessons)."
        known = close_or(call, ids=ids, **{"keys of shared knowledge": keys})
        super().__init__(f"{program_id} has no lesson {pattern_id!r}. {known}")


class KnowledgeNotFoundError(FleetMemoryError):
    """The fleet has no knowledge entry of that key."""

    code = "knowledge_not_found"

    def __init__(self, key: str, keys: Sequence[str] = ()) -> None:
        shell = "(in a shell: fleet-memory list entries)"
        known = close_or(f"Call recall_memory with scope 'shared' to list them {shell}.", keys=keys)
        super().__init__(f"There is no knowledge entry {key!r}. {known}")


class NoteNotFoundError(FleetMemoryError):
    """The program has no short-term note of that id."""

    code = "note_not_found"

    def __init__(self, program_id: str, note_id: str, ids: Sequence[str] = ()) -> None:
        known = close_or("Call get_program_state to list its notes.", ids=ids)
        super().__init__(f"{program_id} has no note {note_id!r}; it may be in the archive. {known}")


class ForbiddenError(FleetMemoryError):
    """The caller is bound to another program, or its role does not allow this. Nothing was
    written.
    """

    code = "forbidden"


class ConflictError(FleetMemoryError):
    """Someone else wrote first; nothing of the commit was applied. Read again and decide again."""

    code = "conflict"
    retryable = True


class RacesLostError(ConflictError):
    """Others wrote first at every attempt; the message names the document. Earlier commits of the
    call stay.
    """


class LeaseLostError(FleetMemoryError):
    """Another worker has taken over this job. This run writes nothing more, however often it tries;
    a new one may.
    """

    code = "conflict"
    retryable = True


class StateMovedError(FleetMemoryError):
    """The state of a program is at another version than the caller expects. Nothing was written,
    and the same again is refused too.
    """

    code = "conflict"
    retryable = True


class CapacityExceededError(FleetMemoryError):
    """A document would outgrow the store's limit. Nothing was written."""

    code = "capacity_exceeded"


class RateLimitedError(FleetMemoryError):
    """The caller made too many calls; nothing was written. The same call succeeds after
    `retry_after_s` seconds.
    """

    code = "rate_limited"
    retryable = True

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class StoreError(FleetMemoryError):
    """The store cannot serve this; nothing was written, unless a commit's answer was lost."""

    code = "store_unavailable"


class StoreUnavailableError(StoreError):
    """The store did not answer; nothing was written. The same call may succeed later."""

    retryable = True


class OutcomeUnknownError(StoreUnavailableError):
    """A commit was sent and its answer was lost: it may have been applied. Repeating the call is
    safe.
    """


class StoreRejectedError(StoreError):
    """The store refused and will refuse again: corrupt or newer file, no permission, too large."""


class EmbedderError(FleetMemoryError):
    """The embedding engine cannot load or answer."""


class EmbedderUnavailableError(EmbedderError):
    """The embedding endpoint did not answer. Lessons are stored all the same; their vectors come
    later.
    """

    code = "embedder_unavailable"
    retryable = True


class JudgeModelError(FleetMemoryError):
    """The judge model did not answer a question. The pair stays open; another question may be
    answered.
    """


class JudgeModelUnavailableError(JudgeModelError):
    """The judge model's endpoint answers no question at present: no connection, a wrong key. Pairs
    stay open.
    """

    code = "judge_model_unavailable"
    retryable = True


class IssuerUnavailableError(FleetMemoryError):
    """The issuer of a token does not answer, so the token cannot be checked. The same request may
    succeed later.
    """

    code = "issuer_unavailable"
    retryable = True


class DocumentRejectedError(StoreRejectedError):
    """The store refuses this document, which is damaged, too large or has an unfit value; others
    are unaffected.
    """
