"""Histories of how lessons become one entry: rows 1 to 18 of the histories that once ended wrong."""

from tests.law_steps import (
    LESSONS,
    RUN,
    History,
    boots,
    confirms,
    contradicts,
    does,
    entry,
    forgets,
    in_any_order,
    judges,
    named,
    pair,
    passes,
    published,
    recalls,
    refused,
    stores,
    then,
    together,
)
from tests.law_world import World

A = "Deploys of the shop need an approved ticket before Friday noon"
A2 = "Deploys of the shop need an approved ticket before noon on Fridays"
A3 = "Deploys of the billing job need two approvals"
B = "The shop goes live on Fridays once a change request is signed"
B2 = "On Fridays the shop goes live once somebody signed a change request"
C = "The shop can go live on Fridays at any hour, nobody checks"
D = "Friday releases of the shop are free for everybody"

A_AND_B_LEARNT = [in_any_order(stores("a", A, confidence=0.9), stores("b", B)), then(RUN)]
BOTH_SAY_SAME = in_any_order(judges("a", A, B, "same"), judges("b", A, B, "same"))
ONE_ENTRY = [*A_AND_B_LEARNT, BOTH_SAY_SAME, then(RUN)]
A_TWICE = [in_any_order(stores("a", A), stores("b", A)), then(RUN)]


async def a_and_b_discovered(world: World) -> None:
    found = await entry(world, A, B)
    assert (found.state, found.discovered) == ("fresh", named("a", "b"))


async def nothing_is_published(world: World) -> None:
    assert await published(world) == []


async def one_connection(world: World) -> None:
    found = await entry(world, A)
    assert (found.state, found.reasons) == ("verify", named("one connection"))
    assert (found.discovered, found.confirmed) == (named("a", "b"), named())


async def the_text_stays(world: World) -> None:
    await a_and_b_discovered(world)
    assert (await entry(world, A, B)).text == A


async def a_lost_its_vote(world: World) -> None:
    found = await entry(world, A)
    assert (found.state, found.discovered, found.contradicted) == (
        "candidate",
        named("b"),
        named("a"),
    )


async def no_chain(world: World) -> None:
    texts = {"a": A, "b": B, "c": C, "d": D}
    judged = [{A, B}, {B, C}, {C, D}]
    found = await published(world)
    assert found
    for one in found:
        for program in one.discovered:
            assert texts[program] == one.text or {texts[program], one.text} in judged


async def one_of_two_is_read(world: World) -> None:
    found = await entry(world, A, B)
    assert (found.text, found.state, found.contradicted) == (A, "contested", named("x"))
    assert found.discovered == named("a", "b", "c")
    assert {one.text: one.read_through for one in await world.entries()} == {A: None, B: A}


async def both_stand_alone(world: World) -> None:
    found = {one.text: (one.state, one.discovered) for one in await published(world)}
    assert found == {A: ("fresh", named("a", "b")), B: ("fresh", named("c", "d"))}


async def c_contests(world: World) -> None:
    found = await entry(world, A, B)
    assert (found.state, found.discovered) == ("contested", named("a", "b"))
    assert found.contradicted == named("c")


async def a_is_asked_about_the_contrary(world: World) -> None:
    await c_contests(world)
    found = await pair(world, A, C)
    assert found.state == "contradict"
    assert "a" in found.asked


async def the_pair_is_the_same(world: World) -> None:
    assert (await pair(world, A, B)).state == "same"


async def two_texts_are_asked(world: World) -> None:
    assert await world.entries() == []
    assert [(one.state, one.asked) for one in await world.pairs()] == [("open", named("a", "b"))]


async def one_text(world: World) -> None:
    assert await world.pairs() == []
    assert [one.discovered for one in await published(world)] == [named("a", "b")]


async def figures_are_shown(world: World) -> None:
    assert {one.differs for one in await world.pairs()} == {"figures"}


async def two_told_of_figures(world: World) -> None:
    assert [one.discovered for one in await published(world)] == [named("a", "b")]


async def retired_or_withdrawn(world: World) -> None:
    assert {one.state for one in await world.entries()} <= {"retired", "candidate"}


async def learnt_again(world: World) -> None:
    found = await entry(world, A)
    assert (found.state, found.discovered) == ("fresh", named("a", "n1", "n2"))


async def n1_only_confirms(world: World) -> None:
    found = await entry(world, A)
    assert (found.discovered, found.confirmed) == (named("a"), named("n1"))


async def projects_apart(world: World) -> None:
    found = {one.project: one.discovered for one in await published(world)}
    assert found == {"x": named("px", "pn"), "y": named("py", "pn")}


async def y_has_its_own(world: World) -> None:
    found = {one.project: one.discovered for one in await published(world)}
    assert found == {"y": named("y1", "y2", "y3")}


def of_figures(a: str, b: str) -> History:
    return History(
        12,
        "figures by the way are shown and decide nothing",
        [
            in_any_order(stores("a", a), stores("b", b)),
            then(RUN, does("the pair shows its figures", figures_are_shown)),
            in_any_order(judges("a", a, b, "same"), judges("b", a, b, "same")),
            then(RUN),
        ],
        two_told_of_figures,
        near=[[a, b]],
    )


def of_near_words(a: str, b: str) -> History:
    stages = [in_any_order(stores("a", a), stores("b", b)), then(RUN)]
    return History(13, f"{a} / {b}: two lessons, asked", stages, two_texts_are_asked, [[a, b]])


def of_copies(title: str, first: str, second: str) -> History:
    copies = [stores("a", A, evidence=first), stores("b", A, evidence=second)]
    return History(18, title, [in_any_order(*copies), then(RUN)], nothing_is_published)


HISTORIES = [
    History(
        1,
        "two names and a third one over one connection",
        [
            in_any_order(stores("a", A, connection="k"), stores("b", A, connection="k")),
            then(RUN, confirms("c", A, connection="k"), RUN),
        ],
        one_connection,
    ),
    History(
        2,
        "a typo is mended",
        [
            *ONE_ENTRY,
            then(refused(stores("a", A2, own=A))),
            then(stores("a", A2, own=A, change="reworded"), RUN),
        ],
        the_text_stays,
        near=[[A, A2, B]],
    ),
    History(
        3,
        "a correction takes the vote",
        [*A_TWICE, then(stores("a", A3, own=A, change="corrected"), RUN)],
        a_lost_its_vote,
    ),
    History(
        3,
        "a correction by mistake is taken back",
        [
            *ONE_ENTRY,
            then(stores("a", A3, own=A, change="corrected"), RUN, passes(1)),
            then(stores("a", A, own=A3, change="reworded"), RUN),
        ],
        a_and_b_discovered,
        near=[[A, B]],
    ),
    History(
        4,
        "a verdict and a better wording in one commit",
        [
            *A_AND_B_LEARNT,
            [
                [judges("a", A, B, "same")],
                [
                    boots("b"),
                    does(
                        "b ends its session",
                        lambda world: world.end_session(
                            "b",
                            verdicts=[(A, B, "same")],
                            stores=[{"text": B2, "own": B, "change": "reworded"}],
                        ),
                    ),
                ],
            ],
            then(RUN),
        ],
        a_and_b_discovered,
        near=[[A, B, B2]],
    ),
    History(
        5,
        "a = b, b = c, c = d make no chain",
        [
            then(stores("a", A), stores("b", B), stores("c", C), stores("d", D), RUN),
            in_any_order(
                together(judges("a", A, B, "same"), judges("b", A, B, "same")),
                together(judges("b", B, C, "same"), judges("c", B, C, "same")),
                together(judges("c", C, D, "same"), judges("d", C, D, "same")),
            ),
            then(RUN),
        ],
        no_chain,
        near=[[A, B], [B, C], [C, D]],
    ),
    History(
        6,
        "two entries are judged the same and a lesson of the younger is forgotten",
        [
            then(stores("a", A), stores("b", A), stores("c", B), stores("d", B), RUN),
            in_any_order(judges("a", A, B, "same"), judges("c", A, B, "same"), forgets("d", B)),
            then(RUN, contradicts("x", B), RUN),
        ],
        one_of_two_is_read,
        near=[[A, B]],
    ),
    History(
        7,
        "two entries are judged the same and then no more",
        [
            then(stores("a", A), stores("b", A), stores("c", B), stores("d", B), RUN),
            in_any_order(judges("a", A, B, "same"), judges("c", A, B, "same")),
            then(RUN, judges(None, A, B, "different"), RUN),
        ],
        both_stand_alone,
        near=[[A, B]],
    ),
    History(
        8,
        "an author says different, later both say the same",
        [
            *A_AND_B_LEARNT,
            [
                [judges("a", A, B, "different"), judges("a", A, B, "same")],
                [judges("b", A, B, "same")],
            ],
            then(RUN),
        ],
        a_and_b_discovered,
        near=[[A, B]],
    ),
    *(
        History(
            9,
            f"a third author contradicts; {better} is the better lesson",
            [
                in_any_order(
                    stores("a", A, confidence=0.9 if better == "A" else 0.7),
                    stores("b", B),
                    stores("c", C),
                ),
                then(RUN),
                in_any_order(
                    judges("a", A, B, "same"),
                    judges("b", A, B, "same"),
                    judges("c", A, C, "contradict"),
                ),
                then(RUN),
            ],
            a_is_asked_about_the_contrary,
            near=[[A, B], [A, C]],
        )
        for better in ("A", "B")
    ),
    History(
        9,
        "c contradicts the entry by its own lesson, which came later",
        [*ONE_ENTRY, then(stores("c", C), RUN, judges("c", A, C, "contradict"), RUN)],
        a_is_asked_about_the_contrary,
        near=[[A, B], [A, C]],
    ),
    History(
        10,
        "an author is silent for 14 days",
        [
            *A_AND_B_LEARNT,
            then(judges("a", A, B, "same"), refused(judges("d", A, B, "same")), passes(15)),
            then(RUN, judges("d", A, B, "same"), RUN),
        ],
        a_and_b_discovered,
        near=[[A, B]],
    ),
    History(
        10,
        "an author is silent at three showings",
        [
            *A_AND_B_LEARNT,
            then(stores("d", D)),
            [
                [judges("a", A, B, "same")],
                [step for _ in range(4) for step in (boots("b"), passes(1))],
            ],
            then(judges("d", A, B, "same"), RUN),
        ],
        a_and_b_discovered,
        near=[[A, B]],
    ),
    History(
        10,
        "an author's lesson has decayed",
        [
            then(stores("d", D), stores("a", A), passes(89), stores("b", B), RUN, passes(2), RUN),
            then(judges("b", A, B, "same"), judges("d", A, B, "same")),
        ],
        the_pair_is_the_same,
        near=[[A, B]],
    ),
    History(
        10,
        "an author's program was purged",
        [
            then(
                stores("a", A),
                RUN,
                recalls("x", A),
                confirms("x", A),
                RUN,
                stores("b", B),
                stores("d", D),
                RUN,
            ),
            in_any_order(
                does("a is deleted", lambda world: world.delete_program("a")),
                judges("b", A, B, "same"),
            ),
            then(judges("d", A, B, "same")),
        ],
        the_pair_is_the_same,
        near=[[A, B]],
        policy=LESSONS,
    ),
    History(
        11,
        "an author's contradict is not outvoted",
        [
            *A_AND_B_LEARNT,
            in_any_order(
                judges("a", A, B, "contradict"),
                judges("b", A, B, "same"),
                judges("j", A, B, "same", role="judge"),
            ),
            then(RUN),
        ],
        nothing_is_published,
        near=[[A, B]],
    ),
    of_figures(
        "The importer ends with exit code 137 when memory runs out",
        "Give the importer 6 Gi of memory or it is killed",
    ),
    of_near_words("git branch -d asks first", "git branch -D asks first"),
    of_near_words("Config and not config is read", "config and not Config is read"),
    History(
        13,
        "one letter in two forms is one text",
        [
            in_any_order(
                stores("a", "The caf\u00e9 job is slow"), stores("b", "The cafe\u0301 job is slow")
            ),
            then(RUN),
        ],
        one_text,
    ),
    History(
        14,
        "both authors contradict their own lesson, before a run or after it",
        [
            in_any_order(stores("a", A), stores("b", A)),
            in_any_order(contradicts("a", A), contradicts("b", A), RUN),
            then(RUN),
        ],
        retired_or_withdrawn,
    ),
    History(
        15,
        "withdrawn, and learnt again by programs that never read it",
        [
            *A_TWICE,
            then(forgets("b", A), RUN, passes(400)),
            in_any_order(stores("n1", A), stores("n2", A)),
            then(RUN),
        ],
        learnt_again,
    ),
    History(
        16,
        "withdrawn, and stored again by a program that had booted with it",
        [*A_TWICE, then(boots("n1"), forgets("b", A), RUN, passes(400), stores("n1", A), RUN)],
        n1_only_confirms,
    ),
    History(
        17,
        "projects x, y and none",
        [
            in_any_order(
                stores("px", A, project="x"), stores("py", A, project="y"), stores("pn", A)
            ),
            then(RUN),
        ],
        projects_apart,
    ),
    History(
        17,
        "three of y have their own",
        [
            in_any_order(
                stores("px", A, project="x"),
                *(stores(name, A, project="y") for name in ("y1", "y2", "y3")),
            ),
            then(RUN),
        ],
        y_has_its_own,
    ),
    of_copies(
        "equal words, equal evidence",
        "the deploy of May was refused",
        "the deploy of May was refused",
    ),
    of_copies("equal words, no evidence", "", ""),
    of_copies("equal words, three words of evidence", "saw it today", "seen in May"),
]
