"""Document paths are spelt once, and are those that stored fleets already have."""

from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.stores import Ref

F1 = FleetPaths("f1")


def test_every_document_is_where_earlier_versions_put_it() -> None:
    assert [
        F1.program("basher"),
        F1.entry("pattern/ci/pin"),
        F1.ledger_line("9f86d0"),
        F1.ledger_line("pin#2"),
        F1.pair("9f86d0"),
        F1.policy,
        F1.snapshot_shard(0),
        F1.snapshot_shard(2, half=1),
        F1.archive_record("9f86d0"),
        F1.summary("basher", 3),
        F1.lease("maintenance"),
        F1.last_run,
        F1.model_run,
    ] == [
        Ref("fleets/f1/programs", "basher"),
        Ref("fleets/f1/gsp", "pattern_2f_ci_2f_pin"),
        Ref("fleets/f1/ledger", "9f86d0"),
        Ref("fleets/f1/ledger", "pin_23_2"),
        Ref("fleets/f1/pairs", "9f86d0"),
        Ref("fleets", "f1"),
        Ref("fleets/f1/snapshots", "s0"),
        Ref("fleets/f1/snapshots", "t2"),
        Ref("fleets/f1/archive", "9f86d0"),
        Ref("fleets/f1/history", "basher_23_3"),
        Ref("fleets/f1/leases", "maintenance"),
        Ref("fleets/f1/maintenance", "run"),
        Ref("fleets/f1/maintenance", "model"),
    ]


def test_a_fleet_id_is_escaped_like_any_other_id() -> None:
    assert FleetPaths("team/a").programs == "fleets/team_2f_a/programs"
