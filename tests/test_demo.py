"""`fleet-memory demo` comes out as announced, in plain words; `--mine` shows the fate of the
reader's own sentences.
"""

import os
import re
import subprocess
import sys
from io import BytesIO, StringIO, TextIOWrapper

import pytest

from fleet_memory.cli import main
from fleet_memory.demo.mine import MAX_SENTENCES, read_lessons
from fleet_memory.demo.player import STORY, WIDTH, play
from tests import forked
from tests.bounds import HANG_S

FIGURES = re.compile(r"\b0\.\d|cosine|similarity|threshold")


class Terminal(StringIO):
    """Input typed by a person."""

    def isatty(self) -> bool:
        return True


def demo(*flags: str) -> "subprocess.CompletedProcess[bytes]":
    """Run the demo as a pipe sees it that knows ASCII only, without this shell's own settings."""
    ours = ("FLEET_MEMORY_", "FORCE_COLOR", "COLUMNS", "TTY_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.run(  # noqa: S603 our own module
        [*forked.words(), "demo", *flags],
        env=environment | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=HANG_S,
        check=False,
    )


def test_three_agents_learn_one_lesson_and_a_fourth_starts_with_it() -> None:
    done = demo()
    told = done.stdout.decode("ascii")
    assert (done.returncode, done.stderr) == (0, b""), told
    assert "\x1b" not in told
    assert max(map(len, told.splitlines())) <= WIDTH
    assert '  from basher, iso, sark: "Always check task.status' in told
    assert not FIGURES.search(told)
    ((asked, known),) = re.findall(
        r"^3\. Numbers propose (.*?)^4\. (.*?)^5\.", told, re.DOTALL | re.MULTILINE
    )
    assert "iso answers: contradict" in asked
    assert "3 agents learnt the same" in known
    assert "2 agents learnt the same" in known
    assert "Every answer is as the story expects." in told


def test_a_job_is_claimed_once_read_whole_and_flagged_aloud() -> None:
    done = demo("work")
    told = done.stdout.decode("ascii")
    assert (done.returncode, done.stderr) == (0, b""), told
    assert "Every answer is as the story expects." in told


def test_a_story_that_comes_out_otherwise_names_the_answer() -> None:
    otherwise = STORY[2].replace('"created"', '"updated"')
    (played,) = play([otherwise], lambda _: None)
    assert [*played.unmet()] == ["store_memory: status is 'created', and not 'updated'"]


def test_the_story_ignores_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")
    monkeypatch.setenv("FLEET_MEMORY_STORE", "firestore://nowhere")
    assert main(["demo"]) == 0


def mine(source: StringIO | TextIOWrapper, patch: pytest.MonkeyPatch) -> int:
    patch.setattr(sys, "stdin", source)
    return main(["demo", "--mine"])


def test_own_sentences_are_sorted_by_the_answers_of_the_tools(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sentences = (
        "Keep pull requests small\nRotate the context when 30-35 % of it remains\nCats sleep "
        "all day\n\n\n"
        "Keep pull requests small.\nBuilder sessions degrade after a while; start a fresh one\n\n"
        "Rotate the context when 10 % of it remains\nTired builders make careless edits; swap "
        "them out after a while\n"
    )
    assert mine(StringIO(sentences), monkeypatch) == 0
    told = capsys.readouterr().out
    titles = re.split(r"\n\d\. (.+)\n-+\n", told)
    chapters = {
        title: re.findall(r"^  (agent-\d): \"(\w+)", text, re.MULTILINE)
        for title, text in zip(titles[1::2], titles[2::2], strict=True)
    }
    assert chapters == {
        "Now knowledge that every agent reads when it starts": [
            ("agent-1", "Keep"),
            ("agent-2", "Keep"),
        ],
        "Perhaps the same": [
            ("agent-1", "Rotate"),
            ("agent-3", "Rotate"),
            ("agent-2", "Builder"),
            ("agent-3", "Tired"),
        ],
        "Apart: matched with no other agent's sentence": [("agent-1", "Cats")],
    }


@pytest.mark.parametrize(
    ("sentences", "advice"),
    [
        ("", "needs sentences of two agents"),
        ("\n\n\n", "needs sentences of two agents"),
        ("One line only\n", "needs sentences of two agents"),
        ("One\nTwo\nThree\n", "an empty line, then those of agent-2"),
        (
            f"One\n\n{'a' * 1001}\n",
            "Sentence 1 of agent-2 must be at most 1000 characters, not 1001; shorten it.",
        ),
        (
            "One\n\x1b[31mred\n\nTwo\n",
            "Sentence 2 of agent-1 must not hold control characters (U+001B at position 0).",
        ),
        ("a\n" * (MAX_SENTENCES + 1) + "\nb\n", f"agent-1 has {MAX_SENTENCES} sentences already"),
        ("One\n\nTwo\n\nThree\n\nFour\n", "leave out what follows the third list"),
    ],
)
def test_unusable_input_is_answered_with_one_line_of_advice(
    sentences: str, advice: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mine(StringIO(sentences), monkeypatch) == 2
    complaint = capsys.readouterr().err
    assert advice in complaint
    assert complaint.count("\n") == 1


UNICODE = "Prüfe zuerst\n\nÜbe täglich\n"


@pytest.mark.parametrize(
    ("encoding", "errors"),
    [("ascii", "strict"), ("latin-1", "strict"), ("utf-8", "surrogateescape")],
)
def test_input_is_utf_8_under_any_locale(
    encoding: str, errors: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mine(TextIOWrapper(BytesIO(UNICODE.encode()), encoding, errors), monkeypatch) == 0
    assert "Prüfe zuerst" in capsys.readouterr().out
    assert (
        mine(TextIOWrapper(BytesIO(UNICODE.encode("latin-1")), encoding, errors), monkeypatch) == 2
    )
    assert "save it as UTF-8" in capsys.readouterr().err


def test_a_person_is_read_lessons_again_and_ends_with_an_empty_line() -> None:
    heard: list[str] = []
    typed = Terminal("One\x07\nOne\nTwo\n\nThree\n\n\nnever read\n")
    assert read_lessons(typed, heard.append) == {"agent-1": ["One", "Two"], "agent-2": ["Three"]}
    assert "Sentence 1 of agent-1 must not hold control characters" in "\n".join(heard)


def test_a_closed_stdin_holds_no_sentences(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["demo", "--mine"]) == 2
    assert "needs sentences of two agents" in capsys.readouterr().err


def test_a_closed_stdout_hears_nothing_and_the_story_comes_out_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["demo", "work"]) == 0


def test_one_sentence_typed_twice_counts_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mine(StringIO("Cats sleep\ncats sleep\n\nUse pnpm\n"), monkeypatch) == 0
    assert capsys.readouterr().out.lower().count("cats sleep") == 1
