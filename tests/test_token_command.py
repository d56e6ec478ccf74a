"""`fleet-memory token` at a terminal and in a script: a token is shown once, and nothing else shows
it.
"""

import json
from pathlib import Path

import pytest

from fleet_memory.cli import main
from fleet_memory.rules.tokens import parsed_token

NOW = "2026-03-07T12:00:00Z"


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("FLEET_MEMORY_NOW", NOW)
    monkeypatch.delenv("FLEET_MEMORY_PROGRAM", raising=False)


def answered(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    assert main(words) == code
    said = capsys.readouterr()
    return said.out, said.err


def test_a_token_stands_alone_on_stdout_and_all_else_on_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, err = answered(
        capsys,
        "token",
        "create",
        "--program",
        "basher",
        "--expires",
        "90d",
        "--toolsets",
        "state,core",
    )
    parts = parsed_token(out.removesuffix("\n"))
    assert parts is not None
    assert parts.secret not in err
    row = f"{parts.token_id}  basher     agent  state, core  live   2026-06-05T12:00:00."
    assert row in err
    assert err.endswith("fleet-memory: it is shown once, here:\n")
    listed, _ = answered(capsys, "token", "list")
    assert row in listed


def test_every_action_answers_as_json_without_secrets_but_the_new_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, err = answered(
        capsys, "token", "create", "--program", "basher", "--role", "judge", "--json"
    )
    created = json.loads(out)
    token = parsed_token(created.pop("token"))
    assert token is not None
    assert (created["programId"], created["role"], created["state"], err) == (
        "basher",
        "judge",
        "live",
        "",
    )
    out, _ = answered(capsys, "token", "list", "--json")
    assert json.loads(out) == {
        "tokens": [created | {"createdAt": json.loads(out)["tokens"][0]["createdAt"]}]
    }
    assert token.secret not in out
    out, _ = answered(capsys, "token", "revoke", token.token_id, "--json")
    assert [(one["tokenId"], one["state"]) for one in json.loads(out)["revoked"]] == [
        (token.token_id, "revoked")
    ]
    assert not {"token", "secretHash"} & json.loads(out)["revoked"][0].keys()


@pytest.mark.parametrize(
    ("role", "sent", "allowed"),
    [
        ("agent", "all", None),
        ("admin", "all", None),
        ("admin", "core,curation", ["core", "curation"]),
    ],
)
def test_a_token_allows_all_toolsets_or_some(
    capsys: pytest.CaptureFixture[str], role: str, sent: str, allowed: list[str] | None
) -> None:
    out, _ = answered(
        capsys,
        "token",
        "create",
        "--program=basher",
        f"--role={role}",
        f"--toolsets={sent}",
        "--json",
    )
    assert json.loads(out).get("toolsets") == allowed


def test_a_second_revocation_says_that_it_changes_nothing_and_whose_the_first_was(
    capsys: pytest.CaptureFixture[str],
) -> None:
    token, _ = answered(capsys, "token", "create", "--program", "basher")
    first, _ = answered(capsys, "token", "revoke", token.strip(), "--now", "2030-03-07T12:00:00Z")
    second, _ = answered(capsys, "token", "revoke", token.strip(), "--now", "2030-03-08T12:00:00Z")
    assert first.endswith("\nEvery server refuses it within 5 seconds.\n")
    assert second.endswith("\nIt was revoked before.\n")
    assert "2030-03-07T12:00:00" in second


def test_the_tokens_of_a_program_are_revoked_together(capsys: pytest.CaptureFixture[str]) -> None:
    answered(capsys, "token", "create", "--program", "basher")
    answered(capsys, "token", "create", "--program", "basher", "--also")
    out, _ = answered(capsys, "token", "revoke", "--program", "basher")
    assert out.count(" revoked ") == 2
    out, _ = answered(capsys, "token", "revoke", "--program", "basher", code=1)
    assert out == "revoked  none\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            ["create", "--program", "basher", "--toolsets", "core,magic"],
            2,
            "--toolsets: 'magic' is unknown; known are core, session, state, knowledge, work, journal\n",
        ),
        (
            ["create", "--program", "basher", "--toolsets", "curation"],
            2,
            "--toolsets: 'curation' is unknown; known are core, ",
        ),
        (["revoke"], 2, "token revoke: give the token's ID or --program PROGRAM"),
        (
            ["revoke", "k3x9", "--program", "basher"],
            2,
            "token revoke: give the token's ID or --program PROGRAM",
        ),
        (["revoke", "k3x9"], 1, "k3x9"),
    ],
)
def test_a_wrong_command_is_answered_with_its_correction(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    answered(capsys, "token", "create", "--program", "iso")
    out, err = answered(capsys, "token", *words, code=code)
    assert (out, said in err) == ("", True)


def test_a_token_is_of_a_program_with_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["token", "create", "--program", "a b"])
    assert "--program: must be 1-100 letters" in capsys.readouterr().err
    assert main(["token", "revoke", "k3x9"]) == 1
    assert "there is no memory at " in capsys.readouterr().err


def test_a_second_live_token_needs_also(capsys: pytest.CaptureFixture[str]) -> None:
    answered(capsys, "token", "create", "--program", "basher")
    out, err = answered(capsys, "token", "create", "--program", "basher", code=2)
    assert (out, "basher has a live token, " in err, "--also" in err) == ("", True, True)


def test_a_process_that_is_bound_to_a_program_makes_no_token(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_PROGRAM", "basher")
    out, err = answered(capsys, "token", "create", "--program", "basher", "--role", "admin", code=1)
    assert (out, "You are basher, and only an operator may do this" in err) == ("", True)
