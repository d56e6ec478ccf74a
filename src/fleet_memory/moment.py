"""Which lesson fits what an agent reads or does, by rare words in common.

`fleet-memory hook PreToolUse` answers with one line by this module alone, from the index that
`clients.moments` wrote for the session. It imports nothing but the standard library, because each
call of a tool waits for it. Source of every number:
docs/decisions/lessons-for-a-prompt.md
"""

import json
import math
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain
from pathlib import Path

TOOL_EVENTS = ("PreToolUse", "PostToolUseFailure")  # Source: Claude Code's hooks reference
MIN_SHARE = 0.1  # of the information of what is read: a long text has words of everything
MIN_OF_BEST = 0.7  # of the best lesson's fit
KIND_OF_WORK_WEIGHT = 0.5
MIN_POOL = 25  # lessons: among few even a common word is rare
MAX_START_CHARS = 2_000  # of a text that are read: the request, and
MAX_END_CHARS = 1_000  # the end of pasted text, or the request after it
MAX_FITTING = 3
MIN_FIT = 2.2  # rare words in common, a word of one lesson alone counts 1
MIN_WORDS = 2  # of a prompt, none of them a kind of work
MIN_TOOL_FIT = 2.6  # of a lesson that a call of a tool brings
TOOL_WORD_WEIGHT = 0.25  # of a word that many calls have, and of one of two letters
EVIDENCE_WEIGHT = 0.5  # for a call, of a word in a lesson's evidence alone
UNREAD = frozenset({"description", "old_string"})  # of a tool's input: talk, and what goes away

# The claims of work as `stores.sqlite` has them, which takes longer to import than a hook may take
_CLAIMS = (
    "select value from docs join fields on document = docs.number where collection = ?"
    " and id = 'board' and name = 'claims' and key is not null"
)
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ies|ied|ing|(?<!e)ed|es|(?<![sui])s|e|y)$|(?<=[a-z]{5})ly$")

_WORDS = json.loads(Path(__file__).with_name("moment_words.json").read_bytes())

# Grammatical words: they do not show a sentence's subject. Source: the closed word classes of
# English.
FRAME_WORDS = frozenset(_WORDS["frame"])


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return the word without its inflection: "retries", "retried" and "retry" meet, "agent" and
    "agency" do not.
    """
    while (shorter := _ENDING.sub("", word)) != word:
        word = shorter
    return word[:-1] if word[-2:-1] == word[-1:] else word


# Stems of words that name a kind of work or of file and not its subject. Source: docs/hooks.md
KINDS_OF_WORK = frozenset(map(stem, _WORDS["kindsOfWork"]))

# Stems of words that calls of tools have whatever they do
TOOL_WORDS = frozenset(map(stem, _WORDS["tools"]))

_WORD = re.compile(r"[^\W_]+")
# between the words of a camelCase name
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SESSION = re.compile(r"[A-Za-z0-9-]{1,64}")


def stems_of(text: str) -> frozenset[str]:
    """Return the stems of a text's words, those inside names too, e.g. "pool" of `poolSize`; of a
    long text those of its start and its end.
    """
    if len(text) > MAX_START_CHARS + MAX_END_CHARS:
        text = f"{text[:MAX_START_CHARS]}\n{text[-MAX_END_CHARS:]}"
    words = (word.lower() for word in _WORD.findall(_HUMP.sub(" ", text)))
    return frozenset(stem(word) for word in words if len(word) > 1 and word not in FRAME_WORDS)


Index = Mapping[str, Mapping[str, Sequence[int]]]
"""By "text" and "evidence" the places of the lessons that have a stem in their text, and in their
evidence alone.
"""


def index_of(lessons: Iterable[tuple[str, str]]) -> Index:
    """Return the index of some lessons, each a text and its evidence."""
    index = {kind: defaultdict[str, list[int]](list) for kind in ("text", "evidence")}
    for place, (text, seen) in enumerate(lessons):
        stems = stems_of(text)
        for kind, found in (("text", stems), ("evidence", stems_of(seen) - stems)):
            for word in found:
                index[kind][word].append(place)
    return index


def fits(
    index: Index, count: int, read: Collection[str], *, is_call: bool = False
) -> dict[int, float]:
    """Return by its place how well each of `count` lessons fits what was read; none that has less
    than `MIN_SHARE` of its information.

    A lesson's fit is the sum over the stems that it shares of ln((n + 1) / lessons with the stem) /
    ln(n + 1), less for words that say little, plus its share 0..1 of the sum over all stems that
    were read.
    """
    pool, whole = max(count, MIN_POOL) + 1, 0.0
    common = defaultdict[int, float](float)
    for word in sorted(read):
        texts, evidence = index["text"].get(word, ()), index["evidence"].get(word, ())
        rarity = math.log(pool / max(1, len(texts) + len(evidence))) / math.log(pool)
        bits = rarity * _weight(word, is_call=is_call)
        whole += bits
        for place in texts:
            common[place] += bits
        for place in evidence:
            common[place] += EVIDENCE_WEIGHT * bits
    return {at: bits + bits / whole for at, bits in common.items() if bits >= MIN_SHARE * whole}


def _weight(word: str, *, is_call: bool) -> float:
    if is_call and (word in TOOL_WORDS or len(word) <= 2):
        return TOOL_WORD_WEIGHT
    return KIND_OF_WORK_WEIGHT if word in KINDS_OF_WORK else 1.0


def best_places(fit: Mapping[int, float], least: float) -> list[int]:
    """Return the places that fit at least so well, and near as well as the best, best first."""
    least = max(least, MIN_OF_BEST * max(fit.values(), default=0.0))
    return sorted((place for place in fit if fit[place] >= least), key=lambda at: (-fit[at], at))


def is_worth_reading(prompt: str) -> bool:
    """Whether a prompt has enough words for any lesson to fit: neither "go on" nor a command of the
    client.
    """
    is_command = prompt.lstrip().startswith(("/", "<"))
    return not is_command and len(stems_of(prompt) - KINDS_OF_WORK) >= MIN_WORDS


def fitting_places(prompt: str, texts: Sequence[str]) -> list[int]:
    """Return the places of the texts that fit a prompt well, best first, `MAX_FITTING` at most."""
    fit = fits(index_of((text, "") for text in texts), len(texts), stems_of(prompt))
    return best_places(fit, MIN_FIT)[:MAX_FITTING]


def state_folder() -> Path | None:
    """Return the folder of this user's state of hooks, None without a home."""
    with suppress(RuntimeError):
        folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        return folder / "fleet-memory" if folder.is_absolute() else None
    return None


def session_file(folder: Path | None, session_id: object, ending: str) -> Path | None:
    """Return the file of a client's session with an ending, None for none: "json" has the index of
    its lessons, "shown" those that its agents have read.
    """
    if folder and isinstance(session_id, str) and _SESSION.fullmatch(session_id):
        return folder / "moments" / f"{session_id}.{ending}"
    return None


def append(file: Path, line: str) -> None:
    """Append a line to a file of its owner's; of several processes each one's stays whole."""
    number = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(number, "ab", buffering=0) as stream:
        stream.write(f"{line}\n".encode())


def is_first_to_show(shown: Path, agent: str, name: str) -> bool:
    """Note that an agent is shown a lesson; False where it was before, or where a hook that runs
    beside this one was first.
    """
    lesson, hook = f"{agent} {name} ", f"{time.time_ns()}-{os.getpid()}"
    if any(line.startswith(lesson) for line in read_lines(shown)):
        return False
    append(shown, lesson + hook)
    return next(line for line in read_lines(shown) if line.startswith(lesson)) == lesson + hook


def read_lines(file: Path) -> list[str]:
    """Return the lines of a file, none of one that is not there."""
    return file.read_text("utf-8").splitlines() if file.exists() else []


def answer_call(
    event: Mapping[str, object], folder: Path | None, noting: Sequence[str] = ()
) -> str:
    """Return a client's answer to an event of a tool: the line that fits it, "" for none; a claim
    of another session on the edited file comes before lessons. Where another agent told a lesson,
    start the command `noting`, which stores the showing, and wait for nothing.

    A subagent is shown no lesson of single other agents, as at its start.
    """
    index, shown = (
        session_file(folder, event.get("session_id"), ending) for ending in ("json", "shown")
    )
    if not (index and shown and index.exists()):
        return ""
    content = json.loads(index.read_bytes())
    agent = "".join(str(event.get("agent_id") or "").split())
    lessons, read = content["lessons"], stems_of(_done(event))
    fit = fits(content["index"], len(lessons), read, is_call=True)
    fitting = (lessons[place] for place in best_places(fit, MIN_TOOL_FIT))
    claims = _claims_on(event, index, content["program"], content.get("claims"))
    for lesson in chain(claims, fitting):
        if (agent and lesson["told"]) or not is_first_to_show(shown, agent, lesson["name"]):
            continue
        if lesson["told"]:
            told = json.dumps([content["program"], lesson["told"], time.time()])
            append(index.with_suffix(f".{content['memory']}.told"), told)
            if noting:
                from subprocess import DEVNULL, Popen  # noqa: PLC0415 most calls go without

                no = DEVNULL  # the client waits until every pipe of its own is closed
                Popen(noting, stdin=no, stdout=no, stderr=no, start_new_session=True)  # noqa: S603 this very program
        said = {"hookEventName": event["hook_event_name"], "additionalContext": lesson["line"]}
        return json.dumps({"hookSpecificOutput": said})
    return ""


def _claims_on(
    event: Mapping[str, object], index: Path, program: str, board: Sequence[str] | None
) -> Iterator[dict[str, str]]:
    """Yield a line for each claim of another session on the file that a call edits: "iso holds
    src/auth, 20 minutes ago". Paths count from the client's folder, and from a folder with `.git`.
    `board` is the address of the memory file and the collection of its claims, None for no file.

    A claim that the program made under the name of a job is its own, in each of its sessions.
    """
    sent, rows = _input(event), list[tuple[bytes]]()
    path = sent.get("file_path") or sent.get("notebook_path")
    if not (path and board):
        return
    import sqlite3  # noqa: PLC0415 most calls go without
    from datetime import datetime  # noqa: PLC0415 the same

    address, work = board
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"{address}?mode=ro", timeout=0, uri=True)) as store,
    ):
        rows = store.execute(_CLAIMS, (work,)).fetchall()
    folder, now = Path(str(event.get("cwd"))), time.time()
    edited = folder / path
    roots = (each for each in edited.parents if each == folder or (each / ".git").exists())
    names = [it.as_posix().split("/") for it in (edited, *map(edited.relative_to, roots))]
    for claim in (json.loads(row) for (row,) in rows):
        times = (datetime.fromisoformat(claim[name]) for name in ("since", "until"))
        since, until = (each.timestamp() for each in times)
        session = session_file(index.parents[1], claim["session"], "json")
        is_here = session is not None and session.exists()
        is_own = not is_here and f"{claim['by']}/".startswith(f"{program}/")
        if session == index or is_own or now >= until:
            continue
        minutes = int(now - since) // 60
        age, unit = (minutes, "minute") if minutes < 120 else (minutes // 60, "hour")
        for held in claim.get("paths", ()):
            if any(paths_overlap(held.split("/"), it, is_file=True) for it in names):
                line = f"{claim['by']} holds {held}, {age} {unit}{'s' * (age != 1)} ago"
                yield {"name": claim["claimId"], "line": line, "told": ""}


def paths_overlap(one: Sequence[str], two: Sequence[str], *, is_file: bool = False) -> bool:
    """Whether the parts of two paths overlap by prefix or glob, e.g. of "src/**/a.py" and "src";
    `is_file`: nothing is in the second.
    """
    if not one or not two or ["."] in (one, two):
        return not is_file or one in ([], ["."])
    for some, others in ((one, two), (two, one)):
        if some[0] == "**":  # at most one in a path, so that this takes n × m steps at most
            rests = (others[at:] for at in range(len(others) + 1))
            return any(paths_overlap(some[1:], rest, is_file=is_file) for rest in rests)
    a, b = one[0], two[0]
    patterns = ((b, a),) if is_file else ((b, a), (a, b))  # a file's name is none
    alike = a == b or any(fnmatchcase(*each) for each in patterns if {*"*?["} & {*each[1]})
    return alike and paths_overlap(one[1:], two[1:], is_file=is_file)


def _done(event: Mapping[str, object]) -> str:
    """Return what a call of a tool does, and how it failed: the texts of its input, without the
    folder that the client is in.
    """
    texts = [text for name, text in _input(event).items() if name not in UNREAD]
    done = "\n".join([str(event.get("error") or ""), *texts])
    return done.replace(str(event.get("cwd") or "\n"), " ")


def _input(event: Mapping[str, object]) -> dict[str, str]:
    """Return the texts of a call's input by their names."""
    sent = event.get("tool_input")
    texts = sent.items() if isinstance(sent, dict) else ()
    return {name: text for name, text in texts if isinstance(text, str)}


def answer_stdin(noting: Sequence[str] = ()) -> int:
    """Answer the event on stdin and return 0; an error is no answer, because a call of a tool must
    not fail by it.
    """
    try:
        text = answer_call(json.loads(sys.stdin.buffer.read()), state_folder(), noting)
        os.write(1, f"{text}\n".encode() if text else b"")
    except Exception:  # noqa: BLE001, S110 the outermost edge, and a client shows what it says
        pass
    return 0


if __name__ == "__main__":
    answer_stdin()
