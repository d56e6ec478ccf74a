"""Many writes go out in commits of a size that every engine takes."""

from fleet_memory.repositories.documents import batches
from fleet_memory.rules.retrieval.budget import size
from fleet_memory.stores import MAX_COMMIT_BYTES, Ref, Write


def writes(count: int, text: str) -> list[Write]:
    return [
        Write(Ref("fleets/f1/programs", str(number)), {"text": text}) for number in range(count)
    ]


def test_fifty_full_programs_of_any_script_are_several_commits_in_order() -> None:
    given = writes(50, "\u6f22" * 100_000)  # 300,000 bytes each
    commits = batches(given)
    assert [write for commit in commits for write in commit] == given
    assert len(commits) == 7
    assert all(
        sum(size(dict(write.fields or {})) for write in commit) <= MAX_COMMIT_BYTES
        for commit in commits
    )


def test_small_writes_go_together_and_a_write_is_never_split() -> None:
    assert batches(writes(50, "short")) == [writes(50, "short")]
    assert [len(commit) for commit in batches(writes(3, "e" * MAX_COMMIT_BYTES))] == [1, 1, 1]
    assert batches([]) == []
    assert batches([Write(Ref("fleets/f1/programs", "gone"), None)]) != []
