"""The endpoint engine against a real HTTP server: requests, failures that it survives, refusals,
hidden secrets.
"""

import json
import logging
from collections.abc import Iterator

import anyio
import numpy as np
import pytest

from fleet_memory.errors import EmbedderError, EmbedderUnavailableError
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.similarity.openai import TEXTS_PER_REQUEST, OpenAI, Patience
from tests.bounds import HANG_S
from tests.endpoint import Endpoint, embeddings, served

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret"
EAGER = Patience(timeout_s=10, attempts=3, pause_s=0, rest_s=0)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with served() as endpoint:
        yield endpoint


def engine(endpoint: Endpoint, patience: Patience = EAGER) -> OpenAI:
    return OpenAI("some/model:v1", endpoint.url, KEY, patience)


async def test_texts_become_unit_rows_in_their_order(endpoint: Endpoint) -> None:
    found = await engine(endpoint).vectors(["Run the tests", "Rebase first"])
    assert np.allclose(found, await Lexical().vectors(["Run the tests", "Rebase first"]), atol=1e-6)
    assert endpoint.asked == [
        {"model": "some/model:v1", "input": ["Run the tests", "Rebase first"]}
    ]
    assert endpoint.keys == [f"Bearer {KEY}"]


async def test_without_a_key_none_is_sent(endpoint: Endpoint) -> None:
    await OpenAI("m", endpoint.url).vectors(["a"])
    assert endpoint.keys == [None]


async def test_many_texts_are_asked_for_in_batches(endpoint: Endpoint) -> None:
    texts = [f"Lesson {number}" for number in range(TEXTS_PER_REQUEST + 1)]
    found = await engine(endpoint).vectors(texts)
    assert [len(question["input"]) for question in endpoint.asked] == [TEXTS_PER_REQUEST, 1]
    assert np.allclose(found, await Lexical().vectors(texts), atol=1e-6)


async def test_no_texts_ask_for_nothing(endpoint: Endpoint) -> None:
    assert len(await engine(endpoint).vectors([])) == 0
    assert endpoint.asked == []


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_failure_that_may_pass_is_tried_again(endpoint: Endpoint, status: int) -> None:
    endpoint.script.extend([(status, b""), (status, b"")])
    assert len(await engine(endpoint).vectors(["a"])) == 1
    assert len(endpoint.asked) == 3


async def test_after_the_last_attempt_it_is_an_outage_that_the_next_call_may_end(
    endpoint: Endpoint,
) -> None:
    endpoint.script.extend([(500, b"")] * 3)
    model = engine(endpoint)
    with pytest.raises(EmbedderUnavailableError, match="status 500"):
        await model.vectors(["a"])
    assert (len(endpoint.asked), model.name) == (3, "openai/some/model:v1")
    assert model.degraded.startswith("The embedding endpoint does not answer")
    assert len(await model.vectors(["a"])) == 1
    assert model.degraded == ""


async def test_after_an_outage_it_rests_instead_of_slowing_every_call(endpoint: Endpoint) -> None:
    endpoint.script.extend([(500, b"")] * 3)
    model = engine(endpoint, EAGER._replace(rest_s=3600))
    for _ in range(5):
        with pytest.raises(EmbedderUnavailableError):
            await model.vectors(["a"])
    assert len(endpoint.asked) == 3


async def test_an_endpoint_that_never_answers_is_given_up(endpoint: Endpoint) -> None:
    endpoint.script.extend([endpoint.never] * 2)
    with anyio.fail_after(HANG_S), pytest.raises(EmbedderUnavailableError, match="TimeoutError"):
        await engine(endpoint, EAGER._replace(timeout_s=0.1, attempts=2)).vectors(["a"])


async def test_a_port_without_a_listener_is_an_outage() -> None:
    with served() as endpoint:
        model = engine(endpoint)
    with pytest.raises(EmbedderUnavailableError, match="ConnectError"):
        await model.vectors(["a"])


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "FLEET_MEMORY_EMBEDDER "),
        (401, "valid key"),
        (403, "may use"),
        (404, "model's name"),
        (302, "_URL"),
    ],
)
async def test_a_refusal_is_not_repeated_and_names_the_setting_to_change(
    endpoint: Endpoint, status: int, advice: str
) -> None:
    endpoint.script.append((status, KEY.encode()))
    with pytest.raises(EmbedderError, match=advice) as refusal:
        await engine(endpoint).vectors(["a"])
    assert (len(endpoint.asked), type(refusal.value)) == (1, EmbedderError)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": ["x"]}]}',
        b'{"data": [{"index": 1, "embedding": [1.0]}]}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        embeddings([[0.0, 0.0]]),
        embeddings([[float("nan"), 1.0]]),
        embeddings([[1.0], [1.0]]),
    ],
)
async def test_an_answer_that_is_no_vector_for_each_text_is_refused(
    endpoint: Endpoint, body: bytes
) -> None:
    endpoint.script.append((200, body))
    with pytest.raises(EmbedderError, match="The embedding endpoint"):
        await engine(endpoint).vectors(["a"])


async def test_vectors_of_another_length_than_before_are_refused(endpoint: Endpoint) -> None:
    endpoint.script.extend([(200, embeddings([[3.0, 4.0]])), (200, embeddings([[1.0, 2.0, 3.0]]))])
    model = engine(endpoint)
    assert np.allclose(await model.vectors(["a"]), [[0.6, 0.8]])
    with pytest.raises(EmbedderError, match="no longer have 2 numbers"):
        await model.vectors(["b"])


async def test_the_key_is_in_no_message_and_no_log(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said = []
    echo = json.dumps({"error": f"Incorrect API key provided: {KEY}"}).encode()
    for answer in [(401, echo), (400, echo), (200, echo), (500, echo), (500, echo), (500, echo)]:
        endpoint.script.append(answer)
    model = engine(endpoint)
    for _ in range(4):
        with pytest.raises(EmbedderError) as failure:
            await model.vectors(["a"])
        said += [
            str(failure.value),
            failure.value.operator_detail,
            repr(failure.value.__cause__),
            model.degraded,
        ]
    assert KEY not in " ".join([*said, caplog.text])
