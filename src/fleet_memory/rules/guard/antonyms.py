"""Pairs of opposite words as lessons and manuals use them, e.g. "enable" and "disable". English
only.
"""

import re
from functools import lru_cache

from fleet_memory.rules.text.tokens import stem

# One word, then its opposites; a row ends with its line or at a bar. Source: common English and the
# verbs of programs, written for this project.
_TABLE = """
enable disable | hold release | acquire release | take release give | activate deactivate | allow deny block forbid
give deny revoke | permit deny block | accept reject refuse decline | approve reject deny | grant deny revoke refuse
include exclude omit | add remove delete exclude drop | create delete destroy remove drop truncate unlink rm
make delete remove drop destroy | insert delete remove | commit revert rollback reset ignore discard
apply revert undo delete | merge revert | cherry-pick revert | do undo | redo undo | set unset clear
build clear delete drop prune demolish | fill empty clear drain flush truncate | populate empty clear truncate wipe
seed wipe truncate clear | warm purge evict flush | retry fail abort drop give_up | reuse recreate rebuild reset
pin unpin | zip unzip | archive extract restore unarchive | fork join | spawn kill | allocate free deallocate
reverse forward | back_up restore | go_in go_out | roll_back roll_out roll_forward
keep discard drop delete remove rebuild recreate reset | retain discard drop delete | preserve discard destroy
save discard drop load | stash pop | track untrack ignore | continue abort stop
start stop end finish abort terminate cancel | begin end finish abort | schedule cancel | run kill
launch terminate kill | open close shut | lock unlock release | attach detach | connect disconnect
mount unmount umount | link unlink | cordon uncordon | drain uncordon | load unload | install uninstall remove purge
publish yank withdraw unpublish | provision decommission deprovision | subscribe unsubscribe
register unregister deregister | import export | upload download | push pull pop | enqueue dequeue | sort shuffle
send receive | read write | encrypt decrypt | encode decode | compress decompress | pack unpack
serialize deserialize | serialise deserialise | increase decrease reduce lower
raise lower reduce swallow suppress catch | throw catch swallow | log suppress silence | increment decrement
grow shrink | expand shrink collapse | widen narrow | maximize minimize | maximise minimise | accelerate decelerate
upgrade downgrade | promote demote | strengthen weaken | ascending descending | ascend descend | up down
upward downward | upstream downstream | above below | over under | more less fewer | many few | much little
most least fewest | maximum minimum | max min | at_most at_least | greater less smaller | larger smaller
bigger smaller | higher lower | longer shorter | faster slower | earlier later | older newer younger | high low
large small | big small | huge tiny | long short | fast slow | quick slow | early late | old new young | first last
next previous | head tail | top bottom | left right | front back | prefix suffix | prepend append | inside outside
indoors outdoors outside | indoor outdoor | internal external | inner outer | inbound outbound | incoming outgoing
input output | local remote global utc | public private | shared private exclusive | frontend backend | client server
synchronous asynchronous | synchronously asynchronously | sync async | blocking nonblocking
sequential parallel concurrent | serial parallel | single multiple double | static dynamic | mutable immutable
safe unsafe dangerous | secure insecure | valid invalid | visible hidden invisible | show hide | display hide
reveal conceal hide | expose hide | known unknown | required optional | mandatory optional | necessary unnecessary
possible impossible | likely unlikely | true false | turn_on turn_off disable | enable turn_off | put_on take_off
online offline | available unavailable | active inactive idle | busy idle free | alive dead | live die | pause resume
suspend resume | freeze thaw | bind unbind | wrap unwrap | check uncheck | succeed fail | success failure
successful failed unsuccessful | pass fail | win lose | gain lose | hit miss | strike miss | remember forget
ignore respect obey | follow ignore violate | trust distrust | agree disagree | encourage discourage
recommend discourage | support oppose | confirm deny | full empty | crowded empty | hot cold | warm cold | wet dry
bright dark | same different | similar different | strict lenient loose | tight loose | easy hard difficult
simple complex complicated | strong weak | heavy light | thick thin | wide narrow | deep shallow | clean dirty
rich poor | cheap expensive | buy sell | lend borrow | rise fall | arrive leave depart | enter leave exit
join leave split | merge split | combine separate | manual automatic | manually automatically | explicit implicit
explicitly implicitly | eager lazy | eagerly lazily | optimistic pessimistic | forward backward | forwards backwards
horizontal vertical | positive negative | even odd | inclusive exclusive | lowercase uppercase | minor major
whitelist blacklist | allowlist denylist blocklist | complete incomplete partial | temporary permanent
volatile persistent | primary secondary replica | parent child | ancestor descendant | source destination target
producer consumer | sender receiver | legal illegal | normal abnormal | regular irregular | consistent inconsistent
correct incorrect wrong | right wrong | good bad | better worse | best worst | often rarely seldom
frequently rarely seldom | usually rarely seldom | always rarely seldom sometimes | only any anyone also
together alone | http https | opt-in opt-out | read-only read-write | stdout stderr stdin | asc desc | ltr rtl
big-endian little-endian | staging production prod | development production | getter setter | text binary
real mock fake | exponential linear constant | concurrent sequential | row column | tab space | weekday weekend
singular plural | deprecated recommended | sleep wake | sit stand | asleep awake | skip run | presence absence
"""


@lru_cache(maxsize=1)
def opposites() -> dict[str, tuple[str, ...]]:
    """Return for every stem the stems that deny it; the relation is symmetric."""
    by_word: dict[str, set[str]] = {}
    for row in re.split(r"[\n|]", _TABLE.strip()):
        word, *others = map(stem, row.split())
        for other in others:
            by_word.setdefault(word, set()).add(other)
            by_word.setdefault(other, set()).add(word)
    return {word: tuple(sorted(others)) for word, others in by_word.items()}
