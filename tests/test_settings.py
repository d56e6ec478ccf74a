"""Flags win over environment over defaults; a bad value is one line with its source, the value and
the allowed ones.
"""

import itertools
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from fleet_memory import stores
from fleet_memory.errors import SettingsError, exit_of
from fleet_memory.extensions import (
    OWN,
    StoreLocation,
    file_location,
)
from fleet_memory.schemas.fields import Name
from fleet_memory.server.composition import open_judge_model
from fleet_memory.settings import (
    PROJECT_VARIABLE,
    SETTINGS,
    TOOLSETS,
    Rate,
    Settings,
    default_path,
    load,
)


def test_nothing_given_means_the_defaults() -> None:
    assert load({}, {}) == Settings(
        store=file_location(default_path()),
        fleet="default",
        program=None,
        folder=None,
        toolsets=("core",),
        embedder="minilm",
        embedder_url="https://api.openai.com/v1",
        judge_url="https://api.openai.com/v1",
        now=None,
        maintenance_s=900,
        log_level="WARNING",
        log_format="text",
        rate=Rate(600, 16),
        public_url=None,
        prompt_lessons=True,
        issuer=None,
        audience=None,
        program_claim="sub",
        role_claim="role",
    )


def test_the_table_names_every_toolset_and_embedder_of_ours() -> None:
    allowed = {setting.name: setting.allowed for setting in SETTINGS}
    assert allowed["toolsets"] == f"a comma list of: {', '.join(TOOLSETS)}; or all"
    assert [name for name in OWN["embedders"] if name not in allowed["embedder"]] == []


def test_a_flag_wins_over_the_environment() -> None:
    environment = {"FLEET_MEMORY_FLEET": "from-environment", "FLEET_MEMORY_PROGRAM": "basher"}
    settings = load({"fleet": "from-flag", "program": None}, environment)
    assert (settings.fleet, settings.program) == ("from-flag", "basher")


def test_an_empty_variable_counts_as_unset() -> None:
    assert load({}, {setting.variable: "" for setting in SETTINGS}) == load({}, {})


def test_an_empty_flag_does_not_unbind_in_silence() -> None:
    with pytest.raises(SettingsError, match="--program: '' is no name"):
        load({"program": ""}, {"FLEET_MEMORY_PROGRAM": "basher"})


LOCATIONS: list[tuple[str, StoreLocation]] = [
    ("memory.db", file_location(Path("memory.db").absolute())),
    ("/var/lib/memory.db", file_location(Path("/var/lib/memory.db"))),
    ("sqlite:///memory.db", file_location(Path("memory.db").absolute())),
    ("sqlite:////var/lib/memory.db", file_location(Path("/var/lib/memory.db"))),
    ("sqlite:///~/memory.db", file_location(Path.home() / "memory.db")),
    ("~/memory.db", file_location(Path.home() / "memory.db")),
    ("C:\\memory.db", file_location(Path("C:\\memory.db").absolute())),
    ("firestore://my-project", StoreLocation("firestore", ("my-project", "(default)"))),
    ("firestore://my-project/lessons", StoreLocation("firestore", ("my-project", "lessons"))),
    ("firestore://my-project/(default)", StoreLocation("firestore", ("my-project", "(default)"))),
]


@pytest.mark.parametrize(("text", "location"), LOCATIONS)
def test_a_store_is_a_path_or_an_address(text: str, location: StoreLocation) -> None:
    assert load({"store": text}, {}).store == location
    assert load({"store": str(location)}, {}).store == location


def test_every_engine_has_an_address_that_is_read_and_shown() -> None:
    folders = sorted(
        file.parent.name for file in Path(stores.__file__).parent.glob("*/__init__.py")
    )
    assert sorted(OWN["stores"]) == folders, "extensions.toml has a line per package of stores/"
    assert sorted({place.engine for _, place in LOCATIONS}) == folders, (
        "LOCATIONS above has a row per engine"
    )


BAD = [
    ("maintenance", "often"),
    ("maintenance", "0"),
    ("maintenance", "nan"),
    ("maintenance", "1441"),
    ("store", "postgres://host/memory"),
    ("store", "sqlite://memory.db"),
    ("store", "sqlite:///"),
    ("store", ":memory:"),
    ("store", "a\0b"),
    ("store", "~nobody-of-that-name/memory.db"),
    ("store", "firestore://"),
    ("store", "firestore://UPPER"),
    ("store", "firestore://my-project/a/b"),
    ("store", "firestore://my-project/"),
    ("fleet", ".hidden"),
    ("fleet", "a..b"),
    ("fleet", "a b"),
    ("fleet", "x" * 101),
    ("program", "bäsher"),
    ("program", "basher\n"),
    ("toolsets", "core,cor"),
    ("toolsets", ","),
    ("embedder", "openai"),
    ("now", "yesterday"),
    ("now", "2026-03-07T12:00:00"),
    ("now", "0001-01-01T00:00:00+14:00"),
    ("log_level", "LOUD"),
    ("log_format", "xml"),
    ("rate", "600"),
    ("rate", "600/0"),
    ("rate", "0/16"),
    ("rate", "-1/16"),
    ("rate", "600/16/2"),
    ("rate", "9999999/1"),
]


@pytest.mark.parametrize(("name", "value"), BAD)
@pytest.mark.parametrize("by", ["flag", "variable"])
def test_a_bad_value_is_one_line_that_names_its_source_and_the_allowed_values(
    name: str, value: str, by: str
) -> None:
    setting = next(setting for setting in SETTINGS if setting.name == name)
    flags, environment = ({name: value}, {}) if by == "flag" else ({}, {setting.variable: value})
    with pytest.raises(SettingsError) as refusal:
        load(flags, environment)
    said = str(refusal.value)
    assert said.startswith(f"{setting.flag if by == 'flag' else setting.variable}: ")
    assert said.endswith(f"Allowed: {setting.allowed}.")
    assert "\n" not in said
    assert exit_of(refusal.value.code) == 2


def test_a_long_value_is_not_repeated_at_length() -> None:
    with pytest.raises(SettingsError) as refusal:
        load({"fleet": "é" * 100_000}, {})
    assert len(str(refusal.value)) < 300


def test_lists_and_levels_are_read_with_good_will() -> None:
    settings = load({"toolsets": " core , core", "log_level": "debug"}, {})
    assert (settings.toolsets, settings.log_level) == (("core",), "DEBUG")


@pytest.mark.parametrize(
    ("text", "rate"), [("", Rate(600, 16)), ("60/4", Rate(60, 4)), ("off", None), ("OFF", None)]
)
def test_a_rate_is_calls_a_minute_and_at_once_and_off_is_no_limit(
    text: str, rate: Rate | None
) -> None:
    assert load({}, {"FLEET_MEMORY_RATE": text}).rate == rate
    assert load({"rate": text or None}, {}).rate == rate


@pytest.mark.parametrize(
    ("given", "now", "seconds"),
    [
        (None, None, 900),
        ("0.5", None, 30),
        ("Off", None, 0),
        (None, "2026-03-07T14:00Z", 0),
        ("2", "2026-03-07T14:00Z", 120),
    ],
)
def test_maintenance_is_in_minutes_and_off_in_a_replay_by_default(
    given: str | None, now: str | None, seconds: float
) -> None:
    assert load({"maintenance": given, "now": now}, {}).maintenance_s == seconds


def test_the_clock_starts_at_an_instant_in_utc() -> None:
    settings = load({"now": "2026-03-07T14:00:00+02:00"}, {})
    assert settings.now == datetime(2026, 3, 7, 12, tzinfo=UTC)
    assert settings.now.tzinfo is UTC


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        load({}, {}).fleet = "other"  # type: ignore[misc] # that is the point


@given(st.text(st.sampled_from("aZ9._:/- ä\n"), max_size=5) | st.integers(98, 102).map("x".__mul__))
def test_a_fleet_is_named_by_the_same_rules_as_every_id(name: str) -> None:
    assert _takes(name) == _is_name(name)


def test_names_of_up_to_three_characters_agree_one_by_one() -> None:
    names = [
        "".join(letters)
        for size in (1, 2, 3)
        for letters in itertools.product("a.:/-_", repeat=size)
    ]
    assert [name for name in names if _takes(name) != _is_name(name)] == []


def _takes(name: str) -> bool:
    try:
        return load({"fleet": name}, {}).fleet == name
    except SettingsError:
        return False


def _is_name(text: str) -> bool:
    try:
        return TypeAdapter[str](Name).validate_python(text) == text
    except ValidationError:
        return False


@pytest.mark.parametrize(
    "name", ["openai:BAAI/bge-small-en-v1.5", "openai:text-embedding-3-small", "openai:e:v1"]
)
def test_an_embedder_may_be_a_model_of_a_kind(name: str) -> None:
    assert load({"embedder": name}, {"OPENAI_API_KEY": "k"}).embedder == name


@pytest.mark.parametrize(
    "name", ["openai", "openai:", "openai: m", "minilm:m", "other:m", "fastembed:m", "openai:/m"]
)
def test_an_embedder_of_no_kind_or_without_its_model_is_refused(name: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load({"embedder": name}, {"OPENAI_API_KEY": "k"})
    assert str(refusal.value) == (
        f"--embedder: {name!r} is unknown. Allowed: one of: minilm, lexical, openai:MODEL "
        "(a server on this machine too, by FLEET_MEMORY_EMBEDDER_URL)."
    )


ELSEWHERE = {"embedder": "openai:m", "embedder_url": "http://127.0.0.1:1/v1"}


@pytest.mark.parametrize(
    ("flags", "environment", "key"),
    [
        ({"embedder": "openai:m"}, {"OPENAI_API_KEY": "theirs"}, "theirs"),
        (
            {"embedder": "openai:m"},
            {"OPENAI_API_KEY": "theirs", "FLEET_MEMORY_EMBEDDER_KEY": " ours\n"},
            "ours",
        ),
        (ELSEWHERE, {"OPENAI_API_KEY": "theirs"}, ""),
        (ELSEWHERE, {"FLEET_MEMORY_EMBEDDER_KEY": "ours"}, "ours"),
        (
            {"embedder": "lexical"},
            {"OPENAI_API_KEY": "theirs", "FLEET_MEMORY_EMBEDDER_KEY": "ours"},
            "",
        ),
    ],
)
def test_openais_own_key_goes_to_openai_alone_and_no_key_is_shown(
    flags: dict[str, str | None], environment: dict[str, str], key: str
) -> None:
    settings = load(flags, environment)
    assert settings.embedder_key == key
    assert "ours" not in repr(settings)
    assert "theirs" not in repr(settings)


def test_openai_without_a_key_is_refused_at_the_start() -> None:
    with pytest.raises(SettingsError, match="FLEET_MEMORY_EMBEDDER_KEY: needed by openai:m"):
        load({"embedder": "openai:m"}, {})


def test_a_key_that_no_header_can_hold_is_refused_unseen() -> None:
    with pytest.raises(SettingsError, match="FLEET_MEMORY_EMBEDDER_KEY") as refusal:
        load(ELSEWHERE, {"FLEET_MEMORY_EMBEDDER_KEY": "geheim\nß"})
    assert "geheim" not in str(refusal.value)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:1/v1",
        "ftp://a/v1",
        "https://",
        "http://a/v1?key=k",
        "http://a/#b",
        "http://a:x/v1",
        "http://[a/v1",
    ],
)
def test_an_embedder_url_is_a_plain_address(url: str) -> None:
    with pytest.raises(SettingsError, match=r"--embedder-url: .* is no address"):
        load({"embedder_url": url}, {})


def test_a_judge_model_s_key_is_its_own_and_is_not_shown() -> None:
    settings = load({}, {"FLEET_MEMORY_JUDGE_KEY": " ours\n", "OPENAI_API_KEY": "theirs"})
    assert (settings.judge_key, load({}, {"OPENAI_API_KEY": "theirs"}).judge_key) == ("ours", "")
    assert "ours" not in repr(settings)
    with pytest.raises(SettingsError, match="FLEET_MEMORY_JUDGE_KEY: holds characters") as refusal:
        load({}, {"FLEET_MEMORY_JUDGE_KEY": "geheim\nß"})
    assert "geheim" not in str(refusal.value)


def test_a_judge_model_is_asked_where_its_address_or_its_key_is_set() -> None:
    assert open_judge_model(load({}, {"OPENAI_API_KEY": "theirs"})) is None
    assert open_judge_model(load({"judge_url": "http://127.0.0.1:11434/v1"}, {})) is not None
    assert open_judge_model(load({}, {"FLEET_MEMORY_JUDGE_KEY": "ours"})) is not None


@pytest.mark.parametrize("host", ["a", "a:x", "a\u2100", "["])
def test_a_password_in_an_address_is_not_repeated(host: str) -> None:
    with pytest.raises(
        SettingsError, match="--embedder-url: holds a user or a password"
    ) as refusal:
        load({"embedder_url": f"https://me:geheim@{host}/v1"}, {})
    assert "geheim" not in str(refusal.value)


@pytest.mark.parametrize(
    "url",
    [
        "https:me:geheim@host",
        "https:/me:geheim@host/v1",
        "http:///me:geheim@host",
        "me:geheim@host:8080/v1",
        "https://me:ge/geheim@host/v1",
        "https://host/v1?api_key=geheim",
        "https://host/v1#geheim",
    ],
)
def test_an_address_that_may_hold_a_password_is_not_repeated(url: str) -> None:
    for flag in ("embedder_url", "judge_url", "public_url", "issuer"):
        with pytest.raises(SettingsError, match="it is no address") as refusal:
            load({flag: url}, {})
        assert "geheim" not in str(refusal.value)


def test_a_public_address_with_a_password_in_its_path_is_not_repeated() -> None:
    with pytest.raises(SettingsError, match="it is no address") as refusal:
        load({"public_url": "https://me:8080/geheim@host"}, {})
    assert "geheim" not in str(refusal.value)


@pytest.mark.parametrize(
    ("passed", "is_project"),
    [("{home}", False), ("{home}/", False), ("${{workspaceFolder}}", False), ("{home}/shop", True)],
)
def test_a_client_without_a_project_passes_its_variable_or_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passed: str, is_project: bool
) -> None:
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    text = passed.format(home=tmp_path)
    for settings in (load({"folder": text}, {}), load({}, {PROJECT_VARIABLE: text})):
        assert settings.folder == (Path(text) if is_project else None)
