"""Sentences of the law that no row of the histories tells, as histories of their own (number 0)."""

from tests.law_histories import (
    A2,
    A3,
    A_AND_B_LEARNT,
    A_TWICE,
    ONE_ENTRY,
    A,
    B,
    D,
    a_and_b_discovered,
)
from tests.law_histories import nothing_is_published as nothing_published
from tests.law_histories_of_readers import STEERING, is_a_candidate, is_fresh, is_not_shown
from tests.law_steps import (
    LESSONS,
    PUBLISHED,
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
    recalls,
    refused,
    stores,
    then,
    tries,
)
from tests.law_world import Policy, World


async def is_verified(world: World) -> None:
    found = await entry(world, A)
    assert (found.state, found.discovered) == ("verify", named("a", "b"))


async def b_contradicts(world: World) -> None:
    found = await entry(world, A)
    assert (found.state, found.discovered, found.contradicted) == (
        "candidate",
        named("a"),
        named("b"),
    )


async def e_stands_contradicted(world: World) -> None:
    found = await entry(world, A)
    assert (found.state, found.contradicted) == ("fresh", named("e"))
    assert found.confirmed == named("f", "g")


async def e_confirms(world: World) -> None:
    found = await entry(world, A)
    assert (found.state, found.contradicted, found.confirmed) == ("fresh", named(), named("e"))


async def only_a_and_b_count(world: World) -> None:
    found = await entry(world, A)
    assert (found.discovered, found.confirmed) == (named("a", "b"), named())


async def n_confirms(world: World) -> None:
    found = await entry(world, A)
    assert (found.discovered, found.confirmed) == (named("a", "b"), named("n"))


async def nobody_reads_it(world: World) -> None:
    assert (await entry(world, A)).state == "retired"
    assert A not in (await world.boot("newcomer")).knowledge
    assert A not in (await world.recall("newcomer", A)).knowledge


async def everybody_reads_it(world: World) -> None:
    assert (await entry(world, A)).state in PUBLISHED
    assert A in (await world.boot("newcomer")).knowledge
    assert A in (await world.recall("newcomer", A)).knowledge


async def its_author_finds_it_by_a_question(world: World) -> None:
    assert A in (await world.recall("a", A)).own
    assert A not in (await world.boot("a")).own
    await is_not_shown(world)


async def the_pair_is_different(world: World) -> None:
    assert (await pair(world, A, B)).state == "different"
    await nothing_published(world)


async def the_pair_is_open(world: World) -> None:
    assert (await pair(world, A, B)).state == "open"
    await nothing_published(world)


async def a_reader_of_y_does_not_see_it(world: World) -> None:
    assert A not in (await world.recall("newcomer", A, project="y")).others
    assert A in (await world.recall("newcomer", A, project="x")).others


async def nothing_is_asked(world: World) -> None:
    assert await world.pairs() == []


async def a_text_is_kept_while_it_is_used(world: World) -> None:
    assert (await pair(world, A, B)).asked == named("a", "b")


NEAR = [[A, A2, B]]
DISAGREED = [
    *A_AND_B_LEARNT,
    in_any_order(judges("a", A, B, "same"), judges("b", A, B, "different")),
]

HISTORIES = [
    History(
        0,
        "two programs of one session are one origin",
        [in_any_order(stores("a", A, session="s"), stores("b", A, session="s")), then(RUN)],
        nothing_published,
    ),
    History(
        0,
        "one connection is one origin of discoveries where the policy says so",
        [in_any_order(stores("a", A, connection="k"), stores("b", A, connection="k")), then(RUN)],
        nothing_published,
        policy=Policy(origins="connection"),
    ),
    History(
        0,
        "contributions outlive their lessons; 180 days without a word ask for a check",
        [*A_TWICE, then(passes(200), RUN)],
        is_verified,
    ),
    History(
        0,
        "a correction of a lesson that joined by a verdict contradicts the entry",
        [*ONE_ENTRY, then(stores("b", A3, own=B, change="corrected"), RUN)],
        b_contradicts,
        near=NEAR,
    ),
    History(
        0,
        "two others who confirm after it close an open word",
        [
            *A_TWICE,
            then(contradicts("e", A)),
            in_any_order(confirms("f", A), confirms("g", A)),
            then(RUN),
        ],
        e_stands_contradicted,
    ),
    History(
        0,
        "a program takes its word back",
        [*A_TWICE, then(contradicts("e", A), RUN, passes(1), confirms("e", A), RUN)],
        e_confirms,
    ),
    History(
        0,
        "a word without evidence about another's lesson does not count",
        [*A_TWICE, then(confirms("e", A, evidence=""), contradicts("f", A, evidence=""), RUN)],
        only_a_and_b_count,
    ),
    History(
        0,
        "who confirms its own discovery still discovered it",
        [*A_TWICE, then(passes(1), confirms("a", A), RUN)],
        only_a_and_b_count,
    ),
    History(
        0,
        "a lesson with orders in its evidence joins no entry",
        [*A_TWICE, then(forgets("b", A), RUN, stores("c", A, evidence=STEERING), RUN)],
        is_a_candidate,
    ),
    History(
        0,
        "stored while it was published: no discovery",
        [*A_TWICE, then(passes(1), stores("n", A), RUN)],
        n_confirms,
    ),
    History(
        0,
        "what is published is read by all",
        [*A_TWICE, then(contradicts("c", A), RUN)],
        everybody_reads_it,
    ),
    History(
        0,
        "what is retired is read by nobody",
        [*A_TWICE, in_any_order(contradicts("c", A), contradicts("d", A)), then(RUN)],
        nobody_reads_it,
    ),
    History(
        0,
        "people retire an entry",
        [*A_TWICE, then(does("people retire it", lambda world: world.retire(A)), RUN)],
        nobody_reads_it,
    ),
    History(
        0,
        "a lesson that its own author contradicts is not shown to others",
        [then(stores("a", A), RUN, contradicts("a", A), RUN)],
        is_not_shown,
        policy=LESSONS,
    ),
    History(
        0,
        "a stale lesson is found by its author's question alone",
        [then(stores("a", A), RUN, passes(100), RUN)],
        its_author_finds_it_by_a_question,
        policy=LESSONS,
    ),
    History(
        0,
        "a lesson of a project is not shown in another one",
        [then(stores("a", A, project="x"), RUN)],
        a_reader_of_y_does_not_see_it,
        policy=LESSONS,
    ),
    History(
        0,
        "without sharing of lessons nobody sees another's",
        [then(stores("a", A), RUN)],
        is_not_shown,
    ),
    History(
        0,
        "where two authors disagree the next program decides: same",
        [
            *DISAGREED,
            then(stores("d", D), judges("d", A, B, "same"), RUN),
        ],
        a_and_b_discovered,
        near=NEAR,
    ),
    History(
        0,
        "where two authors disagree the next program decides: different",
        [
            *DISAGREED,
            then(stores("d", D), judges("d", A, B, "different"), RUN),
        ],
        the_pair_is_different,
        near=NEAR,
    ),
    History(
        0,
        "where two authors disagree nobody else has decided yet",
        [*DISAGREED, then(RUN)],
        the_pair_is_open,
        near=NEAR,
    ),
    History(
        0,
        "one author's verdict waits for the other",
        [*A_AND_B_LEARNT, then(judges("a", A, B, "same"), RUN)],
        the_pair_is_open,
        near=NEAR,
    ),
    History(
        0,
        "both authors over one connection are one origin",
        [
            *A_AND_B_LEARNT,
            in_any_order(
                judges("a", A, B, "same", connection="k"), judges("b", A, B, "same", connection="k")
            ),
            then(RUN),
        ],
        the_pair_is_open,
        near=NEAR,
    ),
    History(
        0,
        "a person's verdict is final",
        [
            *A_AND_B_LEARNT,
            in_any_order(boots("a"), boots("b")),  # so that both were asked before the person spoke
            in_any_order(
                tries(judges("a", A, B, "same")),
                tries(judges("b", A, B, "same")),
                judges(None, A, B, "different"),
            ),
            then(RUN),
        ],
        the_pair_is_different,
        near=NEAR,
    ),
    History(
        0,
        "a person takes its verdict back",
        [*ONE_ENTRY, then(judges(None, A, B, "different"), RUN, judges(None, A, B, "unsure"), RUN)],
        a_and_b_discovered,
        near=NEAR,
    ),
    History(
        0,
        "lessons of two projects are not asked about",
        [in_any_order(stores("a", A, project="x"), stores("b", B, project="y")), then(RUN)],
        nothing_is_asked,
        near=NEAR,
    ),
    History(
        0,
        "lessons of one origin are not asked about",
        [in_any_order(stores("shop", A), stores("shop/reviewer", B)), then(RUN)],
        nothing_is_asked,
        near=NEAR,
    ),
    History(
        0,
        "a lesson in an open pair changes only with a reason, and its pair keeps the text",
        [
            *A_AND_B_LEARNT,
            then(refused(stores("a", A2, own=A)), stores("a", A2, own=A, change="reworded"), RUN),
        ],
        a_text_is_kept_while_it_is_used,
        near=NEAR,
    ),
    History(
        0,
        "a confirmer does not publish where `tried` is off",
        [then(stores("a", A), RUN, recalls("e", A), confirms("e", A), RUN)],
        is_a_candidate,
        policy=Policy(sharing="lessons", tried=0),
    ),
    History(
        0,
        "the same words again reinforce, from one program",
        [
            then(
                stores("a", A), passes(1), stores("a", A, evidence="it failed again on Monday"), RUN
            )
        ],
        nothing_published,
    ),
    History(
        0,
        "imported notes and a lesson are two origins",
        [in_any_order(stores("a", A, imported=True), stores("b", A)), then(RUN)],
        is_fresh,
    ),
]
