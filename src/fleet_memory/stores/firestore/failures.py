"""Failures of Firestore, by the classes of its client, in words for agent and operator.

Clients see these sentences, so they name no project; the project and Google's own words go to
`operator_detail`.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from google.api_core import exceptions as google

from fleet_memory.errors import (
    ConflictError,
    DocumentRejectedError,
    FleetMemoryError,
    OutcomeUnknownError,
    StoreError,
    StoreRejectedError,
    StoreUnavailableError,
)
from fleet_memory.stores import CONFLICT, Failure

_LOGIN = "run `gcloud auth application-default login`"

NO_CREDENTIALS: Final = (
    f"There are no usable Google credentials: {_LOGIN}, or point GOOGLE_APPLICATION_CREDENTIALS "
    "at a service account's key."
)
REFUSED_CREDENTIALS: Final = (
    f"Google refuses the credentials, which have expired or were revoked: {_LOGIN} again, or "
    "renew the key that GOOGLE_APPLICATION_CREDENTIALS names."
)
NO_DATABASE: Final = (
    "There is no such Firestore database: create it with `gcloud firestore databases create`, or "
    "correct FLEET_MEMORY_STORE (firestore://PROJECT/DATABASE)."
)
NO_PROJECT: Final = (
    "There is no such Google Cloud project for these credentials: correct FLEET_MEMORY_STORE "
    "(firestore://PROJECT,"
    " the project's id and not its name), or log in with an account that may use it."
)
API_OFF: Final = (
    "The project's Firestore API is switched off: run `gcloud services enable "
    "firestore.googleapis.com`."
)
NO_PERMISSION: Final = (
    "The credentials may not use this Firestore database: grant their account the role "
    "roles/datastore.user on the"
    " project, or correct FLEET_MEMORY_STORE (firestore://PROJECT/DATABASE)."
)
NO_EMULATOR: Final = (
    "No Firestore emulator answers at FIRESTORE_EMULATOR_HOST: start it there (host:port, "
    "without http://), or unset the variable to use Firestore itself."
)
UNREACHABLE: Final = (
    "Firestore cannot be reached. Call again; if it goes on, check this machine's network."
)
SILENT: Final = (
    "Firestore did not answer in time. Call again; if it goes on, check this machine's network."
)
UNCONFIRMED: Final = (
    "Firestore did not confirm the last write, which may have been applied. Call again; if it "
    "goes on, check this machine's network."
)
NO_QUOTA: Final = (
    "The project's Firestore quota is used up; nothing was written. Call again later, or raise it."
)
NOT_READY: Final = (
    "The Firestore database cannot answer this: it must be in Native mode and have the indexes that"
    " https://github.com/fleet-memory/fleet-memory/blob/main/docs/firestore.md deploys."
)
REFUSED: Final = (
    "Firestore refuses this request and will refuse it again; run `fleet-memory doctor store`."
)
PROBABLY_TOO_LARGE: Final = (
    "Firestore refuses a document, most likely because it would grow beyond 1 MiB; nothing was "
    "written. Store less in it."
)

_BY_REASON: Mapping[str | None, Failure] = {  # Source: google.api.ErrorReason
    "SERVICE_DISABLED": (StoreRejectedError, API_OFF),
    "CONSUMER_INVALID": (StoreRejectedError, NO_PROJECT),
}
_BY_CLASS: Mapping[type[google.GoogleAPIError], Failure] = {  # the first that fits
    google.Unauthenticated: (StoreRejectedError, REFUSED_CREDENTIALS),
    google.PermissionDenied: (StoreRejectedError, NO_PERMISSION),
    google.NotFound: (StoreRejectedError, NO_DATABASE),
    google.FailedPrecondition: (StoreRejectedError, NOT_READY),
    google.ResourceExhausted: (StoreUnavailableError, NO_QUOTA),
    google.DeadlineExceeded: (StoreUnavailableError, SILENT),
    google.ServerError: (StoreUnavailableError, UNREACHABLE),
    google.RetryError: (StoreUnavailableError, UNREACHABLE),
    google.Aborted: (StoreUnavailableError, UNREACHABLE),
    google.Cancelled: (StoreUnavailableError, UNREACHABLE),
    google.GoogleAPIError: (StoreRejectedError, REFUSED),
}
_EXPECTED = (google.AlreadyExists, google.FailedPrecondition, google.NotFound, google.Aborted)
_UNANSWERED = (google.ServerError, google.Cancelled)


class DatabaseAddress(NamedTuple):
    """The database that a client talks to; `emulator` is its host:port, None for Google's own."""

    project: str
    database: str
    emulator: str | None

    def told(self, failure: BaseException) -> str:
        """Return the detail of a failure for the operator."""
        at = f" at {self.emulator}" if self.emulator else ""
        return (
            f"project {self.project}, database {self.database}{at}: {type(failure).__name__}: "
            f"{failure}"
        )


def read_failure(failure: google.GoogleAPIError, place: DatabaseAddress) -> StoreError:
    """Return the error to raise when nothing was asked to be written."""
    cause = _cause(failure)
    kind, message = _BY_REASON.get(getattr(cause, "reason", None)) or _explained(cause)
    if place.emulator and message in (UNREACHABLE, SILENT):
        message = NO_EMULATOR
    return kind(message, operator_detail=place.told(cause))


def commit_failure(
    failure: google.GoogleAPIError,
    attempts: Sequence[BaseException],
    place: DatabaseAddress,
    documents: str,
) -> FleetMemoryError:
    """Return the error to raise when a commit of these documents failed; `attempts` are those that
    failed before.

    After an attempt without an answer, a conflict may be with that attempt: the outcome is unknown.
    """
    cause = _cause(failure)
    detail = f"{place.told(cause)} ({documents})"
    if isinstance(cause, _UNANSWERED) or any(
        isinstance(attempt, _UNANSWERED) for attempt in attempts
    ):
        return OutcomeUnknownError(UNCONFIRMED, operator_detail=detail)
    if isinstance(cause, _EXPECTED):
        return ConflictError(CONFLICT, operator_detail=detail)
    if isinstance(cause, google.InvalidArgument):
        return DocumentRejectedError(PROBABLY_TOO_LARGE, operator_detail=detail)
    return read_failure(cause, place)


def _cause(failure: google.GoogleAPIError) -> google.GoogleAPIError:
    if isinstance(failure, google.RetryError) and isinstance(failure.cause, google.GoogleAPIError):
        return failure.cause
    return failure


def _explained(failure: google.GoogleAPIError) -> Failure:
    return next(known for kind, known in _BY_CLASS.items() if isinstance(failure, kind))
