"""The window in a real browser, Debian's chromium: on the demo's memory, on every engine."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from fleet_memory.demo.player import STORY
from fleet_memory.server.app import call_in_process
from fleet_memory.settings import Settings, load
from fleet_memory.window.pages import PAGES
from tests import forked
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WAIT_MS = 20_000  # for a page or a part of one; machines are shared
NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)
HOSTILE = (
    "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"> "
    "javascript:document.title='taken' \u202egnp.exe"
)
CLAIMING = "pattern/task-claiming/check-task-status-created-before-claiming"


@pytest.fixture(scope="module")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:  # noqa: ARG001 - anyio runs this fixture for it
    found = shutil.which("chromium")
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no chromium: apt-get install it")
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        await opened.close()


async def called(settings: Settings, program: str | None, tool: str, **arguments: object) -> None:
    answer = await call_in_process(replace(settings, program=program), tool, arguments)
    assert not answer.refusal, answer.refusal


async def with_demo(address: str) -> None:
    """Play the demo until its pairs wait for their first verdict, and store a hostile lesson."""
    for line in map(json.loads, STORY):
        if line.get("tool") == "gsp_bootstrap":
            break
        if "tool" in line:
            day = datetime.fromisoformat(line["at"]).replace(hour=12, tzinfo=UTC)
            settings = replace(load({"store": address, "fleet": "demo"}, {}), now=day)
            await called(settings, line.get("program"), line["tool"], **line["arguments"])
    sent = {
        "pattern": HOSTILE,
        "domain": "tricks",
        "confidence": 0.8,
        "evidence": "",
        "id": "trick",
    }
    await called(settings, "ram", "store_memory", programId="ram", pattern=sent)


async def stored_demo(address: str) -> None:
    """Store the demo's memory by a process of its own, which may load what it needs."""
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with anyio.fail_after(HANG_S):
        await anyio.run_process([sys.executable, __file__, address], env=paths, stderr=None)


@contextmanager
def served(address: str) -> Iterator[str]:
    """Serve the window as its command does; yield its link, which opens once."""
    words = [*forked.words(), "window", "--no-browser", "--store", address, "--fleet", "demo"]
    process = subprocess.Popen(  # noqa: S603 words of this test
        [*words, "--now", NOW.isoformat()], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"http://\S+", said)
        assert found, said
        yield found[0]
    finally:
        process.kill()
        process.wait(HANG_S)
        if process.stderr is not None:
            process.stderr.close()


@asynccontextmanager
async def opened(browser: Browser, link: str, **options: object) -> AsyncIterator[Page]:
    """Open the window in a browser of its own; afterwards no page asked another host, and none
    complained.
    """
    context: BrowserContext = await browser.new_context(**options)  # type: ignore[arg-type]  # options of a browser
    page, complaints, hosts = await context.new_page(), list[str](), set[str]()
    page.set_default_timeout(WAIT_MS)
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    await page.goto(link)
    yield page
    assert [each for each in complaints if "503" not in each] == []
    assert hosts - {""} == {urlsplit(link).netloc}  # "" of data: addresses
    await context.close()


async def go(page: Page, path: str) -> None:
    root = page.url.partition("/window")[0]
    answer = await page.goto(f"{root}/window{path}")
    assert answer is not None
    assert answer.status == 200, await page.inner_text("main")


async def open_act(page: Page, name: str) -> None:
    await page.locator("summary", has_text=re.compile(f"^{name}$")).click()


async def test_a_person_walks_every_page_and_mends_what_is_wrong(
    browser: Browser, store_address: str
) -> None:
    await stored_demo(store_address)
    with served(store_address) as link:
        async with opened(browser, link) as page:
            # what an agent would read
            await page.fill("#program", "quorra")
            await page.fill("#task", "claim a task")
            await page.get_by_role("button", name="Show").click()
            await expect(page.locator("h1")).to_have_text("What quorra would read now, and why")
            # review: the entry is published
            await page.click("nav >> text=Review")
            pair = page.locator("article.pair", has_text="task.status").first
            await pair.get_by_role("button", name="Same").click()
            await expect(page.locator(".notice").first).to_contain_text("judged this pair same")
            await page.click(".notice >> text=Its entry")
            await expect(page.locator("main")).to_contain_text("It has 2 of 2 independent")
            # reword, retire, reinstate
            await open_act(page, "Reword")
            await page.fill("#text", "Look at the status of a task before you claim it")
            await page.fill("#why-reword", "shorter")
            await page.get_by_role("button", name="Reword").click()
            await expect(page.locator("h1")).to_have_text(re.compile("^Look at the status"))
            await open_act(page, "Retire")
            await page.fill("#why-retire", "we have one worker now")
            await page.get_by_role("button", name="Retire").click()
            await expect(page.locator(".state").first).to_have_text("retired")
            await open_act(page, "Reinstate")
            await page.fill("#why-reinstate", "two workers again")
            await page.get_by_role("button", name="Reinstate").click()
            await expect(page.locator(".state").first).to_have_text("fresh")
            # search, as you type
            await page.click("nav >> text=Knowledge")
            await page.locator("#query").press_sequentially("is the task free")
            await expect(page.locator("#results caption")).to_contain_text("the best first")
            # what an agent reads has it now
            await page.click("nav >> text=What an agent reads")
            await expect(page.locator("main")).to_contain_text("Look at the status of a task")
            # a lesson: edit, forget, undo
            await page.click("nav >> text=Programs")
            await page.click("main >> text=basher")
            await page.click("main >> text=check-status")
            await open_act(page, "Edit")
            await page.fill("#text", "Check the status of a task before you claim it")
            await page.check("[value=reworded]")
            await page.fill("#why-edit", "shorter")
            await page.get_by_role("button", name="Edit").click()
            await expect(page.locator("h1")).to_have_text(re.compile("^Check the status of a"))
            await open_act(page, "Forget")
            await page.fill("#why-forget", "a test")
            await page.get_by_role("button", name="Move it to the archive").click()
            await expect(page.locator(".notice")).to_contain_text("In the archive now")
            await page.get_by_role("button", name="Undo").click()
            await expect(page.locator(".notice")).to_have_text("Restored from the archive.")
            await page.click("main >> text=State, notes and readings")
            await page.click("main >> text=Archive")
            # the feed is live, and has no line twice
            await page.click("nav >> text=Activity")
            first = page.locator("#feed li").first
            await expect(first).to_contain_text("restored")
            lines = await page.locator("#feed li").all_text_contents()
            async with page.expect_response("**/activity"):
                pass
            await expect(first).to_contain_text("restored")
            assert await page.locator("#feed li").all_text_contents() == lines
            # a verdict is taken back
            await page.click("nav >> text=Review")
            await page.click("a:has-text('take it back')")
            await page.get_by_role("button", name="Take it back").first.click()
            await expect(page.locator(".notice").first).not_to_contain_text("judged this pair")
            # hostile text did nothing
            for path in ("/?program=ram", "/programs?program=ram", "/lesson?program=ram&id=trick"):
                await go(page, path)
                await expect(page.locator("main")).to_contain_text("⟨U+202E⟩")
                assert (await page.title()).endswith(" · Fleet Memory")


@pytest.fixture(scope="module")
async def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("demo") / "memory.db"
    await stored_demo(str(file))
    return file


@pytest.fixture
def demo(demo_file: Path, tmp_path: Path) -> str:
    """The demo's memory in a file of the test's own."""
    return shutil.copy(str(demo_file), str(tmp_path / "memory.db"))


async def test_the_keyboard_alone_is_enough(browser: Browser, demo: str) -> None:
    with served(demo) as link:
        async with opened(browser, link) as page:
            await page.keyboard.press("2")
            await page.wait_for_url("**/review*")
            first = await page.locator("article.pair").first.get_attribute("id")
            await page.keyboard.press("k")
            second = await page.evaluate("document.activeElement.id")
            assert second.startswith("pair-")
            assert second != first
            await page.keyboard.press("d")
            await page.wait_for_url("**/review?pair=*")
            assert second in page.url.replace("pair=", "pair-")
            await page.keyboard.press("u")
            await expect(page.locator(".notice").first).to_contain_text("pair is open")
            await page.keyboard.press("3")
            await page.wait_for_url("**/knowledge*")
            await page.keyboard.press("/")
            await page.keyboard.type("1 2 3")  # no page is chosen while one types
            assert "/knowledge" in page.url
            await page.keyboard.press("Escape")
            await page.keyboard.press("4")
            await page.wait_for_url("**/programs*")
            # a link and an act by Tab and Enter
            await page.locator("main a").first.focus()
            await page.keyboard.press("Enter")
            await page.wait_for_url("**/programs?program=*")
            await page.locator("main input[type=checkbox]").first.focus()
            await page.keyboard.press("Space")
            await page.locator("#why-bulk").focus()
            await page.keyboard.type("wrong")
            await page.keyboard.press("Tab")
            await page.keyboard.press("Enter")
            await expect(page.locator(".notice")).to_contain_text("In the archive now")
            await page.keyboard.press("z")
            await expect(page.locator(".notice")).to_have_text("Restored from the archive.")


async def test_without_javascript_all_but_the_feed_works(browser: Browser, demo: str) -> None:
    with served(demo) as link:
        async with opened(browser, link, java_script_enabled=False) as page:
            await page.click("nav >> text=Review")
            await page.get_by_role("button", name="Same").first.click()
            await page.click(".notice >> text=Its entry")
            await open_act(page, "Retire")
            await page.fill("#why-retire", "wrong")
            await page.get_by_role("button", name="Retire").click()
            await expect(page.locator(".state").first).to_have_text("retired")
            await page.click("nav >> text=Knowledge")
            await page.select_option("#state", "retired")
            await page.get_by_role("button", name="Show").click()
            await expect(page.locator("tbody tr")).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nothing_keeps_people_out_and_all_fits_a_phone(
    browser: Browser, demo: str, scheme: str
) -> None:
    phone = {"viewport": {"width": 375, "height": 700}, "color_scheme": scheme}
    with served(demo) as link:
        async with opened(browser, link, **phone) as page:
            await page.click("nav >> text=Review")
            await page.get_by_role("button", name="Same").first.click()
            await page.click(".notice >> text=Its entry")
            of_entry = urlsplit(page.url)
            paths = [
                "/components",
                *(each.path for each in PAGES if each.number),
                "/programs?program=basher",
                "/programs?program=basher&show=state",
                "/lesson?program=basher&id=check-status",
                f"/entry?{of_entry.query}",
            ]
            for path in paths if scheme == "light" else paths[:2]:
                await go(page, path)
                for act in await page.locator("details > summary").all():
                    await act.click()
                wide = await page.evaluate("document.documentElement.scrollWidth")
                assert wide <= 375, path
                found = await Axe().run(page)
                grave = [
                    (each["id"], [node["html"] for node in each["nodes"]])
                    for each in found.response["violations"]
                    if each["impact"] in ("serious", "critical")
                ]
                assert grave == [], path


async def test_a_lost_connection_is_said_and_what_was_seen_stays(
    browser: Browser, demo: str
) -> None:
    with served(demo) as link:
        async with opened(browser, link) as page:
            await page.click("nav >> text=Activity")
            lost, lines = page.locator("#lost"), await page.locator("#feed li").count()
            await page.context.route("**/activity*", lambda route: route.fulfill(status=503))
            await expect(lost).to_be_visible(timeout=WAIT_MS)
            assert await page.locator("#feed li").count() == lines
            await page.context.unroute("**/activity*")
            await expect(lost).to_be_hidden(timeout=WAIT_MS)


if __name__ == "__main__":
    anyio.run(with_demo, sys.argv[1])
