"""Credentials in the forms that vendors document are found, honest lessons are not, and both in
linear time.

Samples are random, with a fixed seed, and put together here: scanners of code hosts would stop a
push for tokens that open nothing.
"""

import json
import random
import re
import string
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from fleet_memory.rules.text.credentials import RULES, credential_in, linear_pattern

ROOT: Final = Path(__file__).parent.parent
SAMPLES: Final = 200  # of each form

ALPHABETS: Final = {
    "a": string.ascii_lowercase + string.digits,
    "h": "0123456789abcdef",
    "n": string.ascii_letters + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "w": string.ascii_letters + string.digits + "_-",
    "d": string.digits,
}
# "{n22}" are 22 characters of the alphabet n. Source: the vendors' pages on their keys, November 2026
FORMS: Final = {
    "Supabase secret": "Deploys need sb_secret_{n22}_{n8} set first",
    "Vercel": "vercel pull with vcp_{n56} works in CI",
    "Netlify": "nfp_{n36}",
    "Resend": "mails go out with re_{n8}_{n24}",
    "Render": "rnd_{n32}",
    "Neon": "napi_{a64}",
    "LangSmith": "lsv2_pt_{h32}_{h10}",
    "Langfuse": "traces use sk-lf-{h8}-{h4}-{h4}-{h4}-{h12}",
    "Pinecone": "pcsk_{n6}_{n63}",
    "NVIDIA": "nvapi-{w64}",
    "Cerebras": "csk-{a48}",
    "Firecrawl": "fc-{h32}",
    "E2B": "e2b_{h40}",
    "PostHog": "phx_{n43}",
    "New Relic": "NRAK-{u27}",
    "HubSpot": "pat-na1-{h8}-{h4}-{h4}-{h4}-{h12}",
    "CircleCI": "CCIPAT_{n22}_{h40}",
    "Buildkite": "bkua_{h40}",
    "Airtable": "pat{n14}.{h64}",
    "Mapbox": "sk.eyJ{n80}.{w22}",
    "Discord bot": "the bot logs in with MTE{n21}.G{n5}.{w38} now",
    "ngrok": "ngrok config add-authtoken 2{n26}_{n21}",
    "Bedrock": "AWS_BEARER_TOKEN_BEDROCK=ABSK{n128}",
    "Django": "SECRET_KEY = 'django-insecure-{a50}'",
    "mysql": "mysql -u root -p{n12} fails without the socket",
    "short password": "password: N0V{n5}",
    "sentence": "use the secret {n40} when the vault is down",
    "key without its end": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow{n64}\n{n64}\n{n20}",
    "Twilio": "TWILIO_AUTH_TOKEN={h32}",
    "Twilio key": "the bot sends with SK{h32} now",
    "Google client secret": "GOCSPX-{w28}",
    "Google access token": "ya29.a0{w120}",
    "Discord webhook": "alerts go to https://discord.com/api/webhooks/{d19}/{w68}",
    "Tailscale": "tskey-auth-k{n11}CNTRL-{n32}",
    "webhook secret": "whsec_{n20}/{n10}+{n11}=",
    "Datadog": "DD_API_KEY={h32}",
    "database password": "the database password is {n16}",
    "PGPASSWORD": "PGPASSWORD={n16} psql -h db",
    "AWS secret": "AWS_SECRET_ACCESS_KEY={n40}",
}
MIN_FOUND: Final = {  # of 200; a random text may look like a word
    "short password": 180,  # of eight letters and digits some have no digit or no capital left
    "database password": 190,
    "PGPASSWORD": 190,
    "mysql": 190,
}


def sample(form: str, chance: random.Random) -> str:
    def part(found: re.Match[str]) -> str:
        return "".join(chance.choices(ALPHABETS[found[1]], k=int(found[2])))

    return re.sub(r"\{([a-z])(\d+)\}", part, form)


@pytest.mark.parametrize("name", FORMS)
def test_every_documented_form_is_found(name: str) -> None:
    chance = random.Random(name)  # noqa: S311 samples, no secrets
    texts = [sample(FORMS[name], chance) for _ in range(SAMPLES)]
    missed = [text for text in texts if credential_in(text) is None]
    assert len(texts) - len(missed) >= MIN_FOUND.get(name, SAMPLES), missed[:3]


def sentences(value: object) -> list[str]:
    match value:
        case str():
            return [value] if " " in value else []
        case dict():
            return [text for member in value.values() for text in sentences(member)]
        case list():
            return [text for member in value for text in sentences(member)]
        case _:
            return []


def honest_lessons() -> list[str]:
    """Return the lessons, evidence and questions of the project's own data sets and pages."""
    folders = ("benchmarks/stories", "benchmarks/asked", "benchmarks/labelled", "tests/data")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.json")]
    texts = [text for file in files for text in sentences(json.loads(file.read_text()))]
    for table in [*(ROOT / "tests/data").glob("*.tsv"), *(ROOT / "benchmarks").glob("*.tsv")]:
        if table.name != "credentials.tsv":
            texts += [cell for cell in re.split(r"[\t\n]", table.read_text()) if " " in cell]
    return list(dict.fromkeys(texts))


def test_honest_lessons_pass() -> None:
    texts = honest_lessons()
    assert len(texts) > 5_000
    alarms = [text for text in texts if credential_in(text) is not None]
    assert len(alarms) < 0.001 * len(texts), alarms


def pages() -> list[str]:
    return [
        line
        for file in sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
        for line in file.read_text().splitlines()
        if " " in line
    ]


@pytest.mark.parametrize(
    "form", ["request req_{u26} timed out", "see msg_01{n22}", "toolu_01{n22}", "chatcmpl-{n29}"]
)
def test_ids_of_requests_and_answers_pass(form: str) -> None:
    chance = random.Random(form)  # noqa: S311 the same
    texts = [sample(form, chance) for _ in range(SAMPLES)]
    assert [text for text in texts if credential_in(text) is not None] == []


def test_lines_of_the_pages_pass() -> None:
    lines = pages()
    alarms = [line for line in lines if credential_in(line) is not None]
    assert len(alarms) < 0.005 * len(lines), alarms


def nested(count: int) -> str:
    """Return a value of dashed groups, each of which is a word, a number and hex at once, that ends
    as a sample does. Values of 16 to 20 groups once took seconds.
    """
    chance = random.Random(count)  # noqa: S311 the same
    groups = [
        "".join(chance.sample(chance.choice(["abcdef", "0123456789"]), 4)) for _ in range(count)
    ]
    return "-".join(["abcd", "efab", *groups, "abcdefghijklmnopqrstuvwxyz"])


def growth(work: Callable[[str], object], shorter: str, longer: str) -> float:
    """Return how many times longer the longer text takes; .2 ms are noise."""

    def seconds(text: str) -> float:
        start = time.process_time()
        work(text)
        return time.process_time() - start

    work(shorter)  # compiles the rules
    before = max(0.0002, min(seconds(shorter) for _ in range(2)))
    return min(seconds(longer) for _ in range(2)) / before


def test_a_text_of_dashed_groups_takes_no_longer_for_each_group() -> None:
    few, many = (" ".join(f"api_key = {nested(count)}" for _ in range(15)) for count in (8, 18))
    assert len(many) > 1_600
    assert growth(credential_in, few, many) < 8


UNITS: Final = ("", "=", " ", "A1", "-ab12", ":'", "eyJ.", "://a:")  # between a rule's words


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_text_of_eight_times_the_length_takes_no_more_than_its_share(name: str) -> None:
    rule = RULES[name]
    for compiled in (linear_pattern, partial(re.compile, flags=re.ASCII)):  # RE2, and without it
        pattern, passes = compiled(rule.pattern), compiled(rule.passes)

        def work(text: str, pattern: re.Pattern[str], passes: re.Pattern[str]) -> None:
            for match in pattern.finditer(text):
                passes.search(match[0])

        for unit in (word + more for word in rule.keywords[:2] for more in UNITS):
            short = (unit or "a") * (2_000 // len(unit or "a"))
            searched = partial(work, pattern=pattern, passes=passes)
            assert growth(searched, short, short * 8) < 32, unit
