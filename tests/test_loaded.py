"""Whether a client's model comes to see the tools, and when it is told to call them."""

import re

from fleet_memory.server.toolsets import EVERY_TOOL, TOOLS


def test_each_description_begins_with_the_moment_to_call_its_tool() -> None:
    assert {spec.function.__name__ for specs in TOOLS.values() for spec in specs} == {*EVERY_TOOL}
    for specs in TOOLS.values():
        for spec in specs:
            first = " ".join((spec.function.__doc__ or "").split())
            assert re.match(r"(Before|When|At) [^.:]{8,90}: [a-z]", first), first
