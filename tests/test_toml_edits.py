"""Edits of TOML: right in value, and without a trace anywhere else."""

import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.clients.toml import cut_value, put_table
from fleet_memory.errors import InvalidArgumentError

PATH = ("mcp_servers", "fleet-memory")
VALUES = {"command": 'C:\\fleet "memory"', "args": ["serve", "é"]}
TABLES = [
    '[projects."/home/me/a.b"]\ntrust_level = "trusted"\n',
    '[mcp_servers.a]\ncommand = "npx" # of work\n# more\nargs = [\n  "-y", # yes\n  '
    '"[mcp_servers.fleet-memory]",\n]\n',
    '[mcp_servers.a.env]\nKEY = "value"\n',
    '[mcp_servers."b c"]\ncommand = "npx"\n\n',
    '[[rules]]\ntext = """\n[mcp_servers.fleet-memory]\ncommand = 1\n"""\n',
    "[profiles.work]\n# nothing yet\n\n\n",
    "# only a comment\n[tui]\n'odd key' = 1979-05-27T07:32:00Z\n",
]
SWAPPED = "[mcp_servers.a]\nx = 1\n[[rules]]\ny = 1\n"  # tomlkit would put the servers together
HEADS = ["", "# mine\n", 'model = "x"\n\n', "a.b.c = 1 # dotted\n"]
DOCUMENTS = st.builds(
    lambda head, tables, newline: (head + "".join(tables)).replace("\n", newline),
    st.sampled_from(HEADS),
    st.lists(st.sampled_from(TABLES), unique=True),
    st.sampled_from(["\n", "\r\n"]),
)


@given(DOCUMENTS)
def test_a_table_is_put_in_changed_and_taken_out_without_a_trace(before: str) -> None:
    document = tomllib.loads(before)
    servers = document.get("mcp_servers", {})
    text = put_table(before, PATH, VALUES)
    assert tomllib.loads(text) == {**document, "mcp_servers": {**servers, "fleet-memory": VALUES}}
    assert put_table(text, PATH, VALUES) == text
    changed = put_table(text, PATH, {"args": []})
    assert tomllib.loads(changed)["mcp_servers"]["fleet-memory"] == {**VALUES, "args": []}
    assert text.startswith(before)
    assert cut_value(changed, PATH) == before
    assert cut_value(before, PATH) == before


@given(DOCUMENTS, st.lists(st.sampled_from(TABLES), unique=True))
def test_everything_that_the_owner_wrote_behind_it_stays(before: str, later: list[str]) -> None:
    later = [
        table
        for table in later
        if table.split("\n")[0] not in before and table.split("\n")[1] not in before
    ]
    text = put_table(before.replace("\r\n", "\n"), PATH, VALUES)
    assert cut_value(text + "\n# mine\n" + "".join(later), PATH) == before.replace(
        "\r\n", "\n"
    ) + "\n# mine\n" + "".join(later)


def test_the_owner_s_keys_and_tables_of_our_entry_stay_until_it_goes() -> None:
    text = (
        put_table("", PATH, VALUES)
        + 'timeout = 30 # slow\n\n[mcp_servers.fleet-memory.env]\nA = "b"\n'
    )
    changed = put_table(text, PATH, {"args": ["other"]})
    assert tomllib.loads(changed)["mcp_servers"]["fleet-memory"] == {
        **VALUES,
        "args": ["other"],
        "timeout": 30,
        "env": {"A": "b"},
    }
    assert "timeout = 30 # slow\n" in changed
    assert cut_value(changed, PATH) == ""


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers.fleet-memory]\ncommand = "docker"  # ask Ana\ntimeout = nan\n\n# of '
        "work\n[work]\nx = inf\n",
        '[mcp_servers]\nfleet-memory = { command = "x", env = { A = "b" } } # mine\n',
        'mcp_servers.fleet-memory = { command = "x" }\n',
        '[mcp_servers.fleet-memory] # mine\ncommand = "x" # \u2028 old\n# last\n'
        '[mcp_servers.fleet-memory.env]\nA = "b"\n# end',
        SWAPPED + '[mcp_servers.fleet-memory]\ncommand = "x" # mine\n# more\n[mcp_servers.b]\nx = '
        "1\n[[rules]]\ny = 2\n",
    ],
)
def test_each_comment_stays_when_values_are_put_in_and_taken_out(text: str) -> None:
    changed = put_table(text, PATH, VALUES)
    assert tomllib.loads(changed)["mcp_servers"]["fleet-memory"].items() >= VALUES.items()
    assert re.findall("#.*", changed) == re.findall("#.*", text)
    command = tomllib.loads(text)["mcp_servers"]["fleet-memory"]["command"]
    back = cut_value(put_table(changed, PATH, {"command": command}), (*PATH, "args"))
    assert [line for line in back.splitlines() if line] == [
        line for line in text.splitlines() if line
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("mcp_servers = 3\n", "'mcp_servers' is no table"),
        ("a = \n", "line 1"),
        ("mcp_servers = []\n", "'mcp_servers' is no table"),
        (f"{SWAPPED}[mcp_servers.'fleet-memory']\ncommand = 'x'\n", "only its owner can edit"),
    ],
)
def test_a_text_that_cannot_be_edited_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidArgumentError, match=problem):
        put_table(text, PATH, VALUES)
