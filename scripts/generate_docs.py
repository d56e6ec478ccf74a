"""Writes the reference pages from the code: docs/tools.md and docs/tools/, docs/commands.md,
docs/configuration.md.

And in docs/security.md who may call each tool. tests/test_docs.py fails while a page differs from
its output. Run: python scripts/generate_docs.py
"""

import json
import re
from argparse import Action, ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias, cast, get_args

from fleet_memory.cli import Command, every_command
from fleet_memory.errors import EXIT_CODES, FleetMemoryError, exit_of
from fleet_memory.fleet import Access, Tool
from fleet_memory.schemas.programs import Role
from fleet_memory.server.arguments import output_schema
from fleet_memory.server.composition import installed_toolsets
from fleet_memory.server.registration import FleetTool, registered
from fleet_memory.settings import SETTINGS

Schema: TypeAlias = Mapping[str, object]

DOCS: Final = Path(__file__).parent.parent / "docs"
GENERATED: Final = "<!-- Made by scripts/generate_docs.py from the code. Edit the code. -->"
MATRIX_BEGINS: Final = "<!-- Who may call: made by scripts/generate_docs.py from the code. -->"
MATRIX_ENDS: Final = "<!-- Who may call: end. -->"
# What each access answers the roles agent, judge, auditor and admin: about their own program, and
# about another's. yes: an answer. read: an answer, and a line of the ledger says so. no:
# `forbidden`, and nothing is written. absent: not served. tests/test_matrix.py calls every tool.
OUTCOMES: Final[Mapping[Access, tuple[str, str]]] = {
    "program": ("yes yes yes yes", "no no read read"),
    "own": ("yes no no yes", "no no no no"),
    "judging": ("yes yes no yes", "no no no no"),
    "shared": ("yes yes yes yes", "yes yes yes yes"),
    "fleet": ("no no read read", "no no read read"),
    "curation": ("absent absent absent yes", "absent absent absent read"),
}
AS_FOR: Final = re.compile(r"As for (\w+)$")
TYPES: Final = {
    "any": "any JSON",
    "boolean": "boolean",
    "instant": "instant",
    "integer": "integer",
    "number": "number",
    "object": "object",
    "string": "text",
}


def pages() -> dict[str, str]:
    """Return every generated page by its path under docs/."""
    tools = {each.name: [*map(registered, each.tools)] for each in installed_toolsets()}
    places = {
        tool.name: f"{toolset}.md#{tool.name}"
        for toolset, offered in tools.items()
        for tool in offered
    }
    each_toolset = {
        f"tools/{toolset}.md": toolset_page(toolset, offered, places)
        for toolset, offered in tools.items()
    }
    reference = {
        "tools.md": tools_page(tools, places),
        "commands.md": commands_page(),
        "configuration.md": configuration_page(),
        "security.md": with_matrix((DOCS / "security.md").read_text(encoding="utf-8")),
    }
    return reference | each_toolset | {"../firestore.indexes.json": indexes()}


def indexes() -> str:
    """Return Firestore's indexes, with exemptions for the large fields of toolsets' documents."""
    text = (DOCS.parent / "firestore.indexes.json").read_text(encoding="utf-8")
    owned = [each for toolset in installed_toolsets() for each in toolset.collections]
    names = {collection.name for collection in owned}
    overrides = [
        each for each in json.loads(text)["fieldOverrides"] if each["collectionGroup"] not in names
    ]
    overrides += [
        {"collectionGroup": collection.name, "fieldPath": field, "indexes": []}
        for collection in owned
        for field in collection.large
    ]
    lines = ",\n    ".join(map(json.dumps, overrides))
    return f'{{\n  "indexes": [],\n  "fieldOverrides": [\n    {lines}\n  ]\n}}\n'


def tools_page(tools: Mapping[str, Sequence[FleetTool]], places: Mapping[str, str]) -> str:
    """Return the index of the tools, and their common parts."""
    lines = [
        "# Tools",
        GENERATED,
        "Which tools are there, and what do their errors mean? Names are camelCase. An unknown "
        "argument is refused with a close one, `null` means absent, and `agentId` and "
        "`programId` stand for each other; leave both out where "
        "[the server knows the program](names.md#which-program-does-an-agent-store-under). An "
        "answer is one JSON object, as structured content and as text. `text ≤ 100` has at most 100 "
        "characters, `list ≤ 10` at most 10 items, an instant is ISO 8601 with a zone. In answers `?` "
        "marks a field that is there only where it applies, `[]` a list; one without a type is a text.",
    ]
    for toolset, offered in tools.items():
        rows = [f"* [`{each.name}`](tools/{places[each.name]}): {each.title}" for each in offered]
        lines += [f"## Toolset `{toolset}`", "\n".join(rows)]
    lines += [
        "## Errors",
        "The text of a refused call starts with one of these codes, and ends in `(retryable)` "
        "where the same call may succeed later. `fleet-memory call` exits with the number.",
        _table(("code", "exit", "raised when"), sorted(_errors())),
        "What nobody foresaw is `internal` too. Its cause is in the server's log (stderr) and "
        "never in the answer.",
    ]
    return "\n\n".join(lines) + "\n"


def toolset_page(toolset: str, offered: Sequence[FleetTool], places: Mapping[str, str]) -> str:
    """Return the page of a toolset; a shape that two answers have stands in the first."""
    shown: dict[str, str] = {}
    lines = [
        f"# Tools of `{toolset}`",
        GENERATED,
        *(part for tool in offered for part in _tool(tool, shown, places)),
    ]
    return "\n\n".join(lines) + "\n"


def _tool(tool: FleetTool, shown: dict[str, str], places: Mapping[str, str]) -> Iterator[str]:
    def linked(found: re.Match[str]) -> str:
        return f"As for [{found[1]}]({places[found[1]]})"

    arguments = [
        f"* `{path}` ({_type(field)}{_default(field, required=required)})"
        f"{AS_FOR.sub(linked, _described(field))}"
        for path, field, required in _fields(tool.accepted)
    ]
    before = dict(shown)
    answer = "\n".join(_shape(output_schema(tool.returned), shown))
    shown |= {
        shape: f"{name} of {tool.name}" for shape, name in shown.items() if shape not in before
    }
    yield f"## {tool.name}"
    yield f"{tool.title} ({_kind(tool)}). {tool.description}"
    yield "\n".join(arguments)
    yield f"```text\n{answer}\n```"


def commands_page() -> str:
    """Return the page of the command line: for each command its effect, an example and its
    arguments.
    """
    lines = [
        "# Commands",
        GENERATED,
        "What does each command do, and what does it take? Settings stand before the command or "
        "after it, or in the environment ([configuration](configuration.md)); a command refuses "
        "those that do not count for it, and its `--help` lists the others.",
        "A command prints lines and tables, and with `--json` (all but `serve`, `call`, `hook` and "
        "`demo`) one JSON object with the same names. Questions and problems go to stderr. Without "
        "a terminal and without `--yes` the answer to a question is no.",
        f"Exit codes: {EXIT_CODES}. A reader that goes away, as in `| head`, is no error.",
        *(section for command in every_command() for section in _command(command)),
    ]
    return "\n\n".join(lines) + "\n"


def _command(command: Command) -> Iterator[str]:
    parser = ArgumentParser(add_help=False)
    for add in command.action()[1]:
        add(parser)
    actions = [action for action in parser._actions if action.dest != "json"]
    rows = [
        f"* `{_argument(action)}`{f': {action.help}' if action.help else ''}" for action in actions
    ]
    yield f"## {command.name}"
    yield f"{command.description} `{command.example}`"
    if rows:
        yield "\n".join(rows)


def _argument(action: Action) -> str:
    """Return e.g. "--limit N", "[FILE]", "--yes", "KEY"."""
    value = str(
        action.metavar or ("|".join(action.choices) if action.choices else action.dest.upper())
    )
    if not action.option_strings:
        return f"[{value}]" if action.nargs in ("?", "*") else value
    flag = ", ".join(action.option_strings)
    return flag if action.nargs == 0 else f"{flag} {value}"


def configuration_page() -> str:
    """Return the page of the settings."""
    allowed: dict[str, str] = {}
    rows = []
    for each in SETTINGS:
        first = allowed.setdefault(each.allowed, each.flag)
        values = each.allowed if first == each.flag else f"as `{first}`"
        default = f", default `{each.default}`" if each.default else ""
        rows.append(f"* `{each.flag}`, `{each.variable}`{default}: {each.help} Allowed: {values}.")
    lines = [
        "# Configuration",
        GENERATED,
        "Which settings are there? Each is a flag and an environment variable. The flag wins over "
        "the variable, the variable over the default; an empty variable counts as unset. A bad "
        "value ends with exit code 2.",
        "\n".join(rows),
        "Keys have no flag, because other users of a machine see command lines, and stand in no "
        "message and no log. That of an `openai:` [embedder](embedders.md) is "
        "`FLEET_MEMORY_EMBEDDER_KEY`, at OpenAI's own address also `OPENAI_API_KEY`; that of the "
        "[judge model](judge-model.md) is `FLEET_MEMORY_JUDGE_KEY`.",
        "## Of one process or call",
        "* `fleet-memory serve --maintain`: this server proposes pairs in a fleet of any size "
        "([Who proposes](maintenance.md#who-proposes)).\n"
        "* `_meta` `fleet-memory/session` of a call, else `CLAUDE_CODE_SESSION_ID`: the session of "
        "a lesson that states no `sessionId`; lessons of one session are one origin.\n"
        "* `_meta` `fleet-memory/model` of a call: the family of the model behind the agent, e.g. "
        "`claude`, which a contribution names.",
    ]
    return "\n\n".join(lines) + "\n"


def with_matrix(page: str) -> str:
    """Return the page about security with the table of who may call each tool, in place of the one
    between its marks.
    """
    before, rest = page.split(MATRIX_BEGINS)
    _, after = rest.split(MATRIX_ENDS)
    return f"{before}{MATRIX_BEGINS}\n{matrix()}\n{MATRIX_ENDS}{after}"


def matrix() -> str:
    """Return the table of who may call each tool, a row for those of the same rights."""
    rows: dict[Sequence[str], list[str]] = {}
    for tool in (tool for toolset in installed_toolsets() for tool in toolset.tools):
        own, other = (words.split() for words in OUTCOMES[tool.access])
        both = zip(own, other if program_argument(tool) else own, strict=True)
        rights = tuple(_outcomes(*outcomes) for outcomes in both)
        rows.setdefault(rights, []).append(f"`{tool.name}`")
    return _table(
        ("tools", *get_args(Role)), [(", ".join(names), *rights) for rights, names in rows.items()]
    )


def program_argument(tool: Tool) -> str | None:
    """Return the argument that names a tool's program, e.g. "programId"; None for a tool that is
    about no program.
    """
    names = {"program_id": "programId", "agent_id": "agentId"}
    return next((names[each] for each in tool.function.__annotations__ if each in names), None)


def _outcomes(own: str, other: str) -> str:
    """Return e.g. "own" for an answer about the caller's own program alone."""
    words = {
        ("yes", "yes"): "yes",
        ("yes", "no"): "own",
        ("yes", "read"): "own; others, noted",
        ("read", "read"): "yes, noted",
    }
    return words.get((own, other), "any, noted" if other == "read" else "no")


def _fields(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema, bool]]:
    """Yield (path, schema, required) of every field, "rows[].id" inside an array."""
    required = cast("Sequence[str]", schema.get("required", ()))
    for name, field in cast("Mapping[str, Schema]", schema.get("properties", {})).items():
        yield path + name, field, name in required
        if AS_FOR.match(_text(field, "description")):
            continue
        yield from _fields(field, f"{path}{name}.")
        yield from _fields(cast("Schema", field.get("items", {})), f"{path}{name}[].")


def _shape(schema: Schema, shown: dict[str, str], indent: str = "") -> Iterator[str]:
    """Yield a line of each field, its own fields indented below it; a shape that was shown before
    is named, e.g. "notes[]?: as patterns[]".
    """
    required = cast("Sequence[str]", schema.get("required", ()))
    for name, field in cast("Mapping[str, Schema]", schema.get("properties", {})).items():
        items = cast("Schema | None", field.get("items"))
        named = name if items is None else f"{name}[]"
        always = name in required or "default" in field
        label = f"{indent}{named}" if always else f"{indent}{named}?"
        inner = field if items is None else items
        shape = json.dumps(inner, sort_keys=True)
        if "properties" not in inner:
            kind = _type(inner).replace("`", "")
            yield label if kind == "text" else f"{label}: {kind}"
        elif shape in shown:
            yield f"{label}: as {shown[shape]}"
        else:
            shown[shape] = named
            yield label
            yield from _shape(inner, shown, f"{indent}  ")


def _type(field: Schema) -> str:
    values = (
        [field["const"]] if "const" in field else cast("Sequence[object]", field.get("enum", ()))
    )
    if values:
        return ", ".join(
            f"`{value if isinstance(value, str) else json.dumps(value)}`" for value in values
        )
    if "anyOf" in field:
        return " or ".join(_type(arm) for arm in cast("Sequence[Schema]", field["anyOf"]))
    kind = "instant" if field.get("format") == "date-time" else field.get("type", "any")
    if kind == "array":
        return f"list{_most(field, 'maxItems')} of {_type(cast('Schema', field.get('items', {})))}"
    return TYPES[str(kind)] + _most(field, "maxLength") + _range(field)


def _most(field: Schema, limit: str) -> str:
    return f" ≤ {field[limit]:,}" if limit in field else ""


def _range(field: Schema) -> str:
    low, high = field.get("minimum"), field.get("maximum")
    if low is None:
        return ""
    return f", at least {low}" if high is None else f", {low} to {high}"


def _default(field: Schema, *, required: bool) -> str:
    if required:
        return "; required"
    return f"; `{json.dumps(field['default'])}`" if "default" in field else ""


def _described(field: Schema) -> str:
    return f": {text}" if (text := _text(field, "description")) else ""


def _kind(tool: FleetTool) -> str:
    hints = tool.annotations
    if hints and hints.read_only_hint:
        return "reads"
    return "writes, harmless to repeat" if hints and hints.idempotent_hint else "writes"


def _errors() -> Iterator[tuple[str, str, str]]:
    """Yield (code, exit code, meaning) of each code, as its most general error has them."""
    kinds: list[type[FleetMemoryError]] = [FleetMemoryError]
    of_code: dict[str, type[FleetMemoryError]] = {}
    for kind in kinds:
        kinds += kind.__subclasses__()
        if kind is not FleetMemoryError and kind.__module__ == FleetMemoryError.__module__:
            of_code.setdefault(kind.code, kind)
    for code, kind in of_code.items():
        yield f"`{code}`", str(exit_of(code)), " ".join((kind.__doc__ or "").split())


def _text(field: Schema, key: str) -> str:
    return str(field.get(key, ""))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [
        head,
        ["---"] * len(head),
        *([cell.replace("|", r"\|") for cell in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    for name, text in pages().items():
        (DOCS / name).parent.mkdir(exist_ok=True)
        (DOCS / name).write_text(text, encoding="utf-8")
