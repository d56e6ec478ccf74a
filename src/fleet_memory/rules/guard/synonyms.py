"""Words and phrases of equal meaning in instructions, and words too general to be another thing.
English only.

An editor may exchange the words of a row, and a reader still does the same; a word may stand in
several. Source: common English and the vocabulary of programs, written for this project.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from fleet_memory.rules.text.tokens import stem

_TABLE: Final = """
bump increase raise rise grow climb | announce tell say communicate | without lack miss
fall decrease drop sink shrink | use utilise employ leverage adopt apply rely prefer favour choose pick opt select
run execute invoke launch perform
start begin initiate create generate make build produce write add insert author introduce construct
delete remove drop erase discard purge eliminate | stop halt terminate kill end quit cease shut
check verify confirm validate ensure test inspect review examine audit assure
look see watch monitor observe track eye
keep store save put place hold retain preserve persist live belong stay remain maintain leave
change modify edit alter adjust update amend tweak rewrite | fix repair correct resolve solve patch mend address
show display print present reveal surface render
get fetch retrieve obtain acquire load read pull grab gather collect
send submit deliver transmit push post dispatch emit forward | give pass supply provide hand offer assign grant
need require demand want must should necessary mandatory required obligatory | let allow permit enable
avoid never not without refrain nor | log record note document write_down journal capture
describe explain state say tell mention name call specify declare list define
say_so link reference refer cite point mention | wait pause sleep hold_on
limit cap restrict bound constrain throttle | split break divide separate | join combine merge unite
wrap enclose surround | handle treat process deal manage | refuse reject decline deny | fail break crash error
undo revert rollback roll_back | deploy ship release rollout | turn_off disable deactivate switch_off
turn_on activate switch_on | measure profile benchmark quantify | notify inform alert warn | ask request query solicit
share reuse | happen occur arise | own owner owned | find discover detect locate spot identify | compare match diff
prevent protect guard stop_from | include contain | clean tidy cleanup clean_up | work function operate
exceed surpass | expire invalidate | cause lead trigger | help assist support
finish complete done conclude completed finished | fill populate | hide mask redact conceal
sanitise clean_input escape | require_approval approve sign_off | format reformat | quote quoted | back_up backup copy
rebase rebased | squash fixup_together | commit commits | before prior until ahead_of
after once afterwards afterward following later subsequently then | when whenever while if upon where
every each all any everything always consistently | during within inside in throughout across among between
only solely just exclusively merely | because since due therefore so hence thus | instead rather over than
with using via through by | for of to about regarding | on onto top | also too additionally well
near beside next adjacent | per | often frequently regularly | immediately instantly at_once promptly directly
quickly fast rapidly quick rapid | carefully thoroughly closely | complete whole entire full total
large big huge great | small tiny little short | single one sole individual dedicated
several multiple many various numerous | important critical crucial essential key vital | helpful useful meaningful
clear descriptive explicit expressive explicitly clearly | simple easy plain trivial easily | missing absent lacking
correct right proper appropriate properly | same identical equal | slow sluggish
current latest newest recent up_to_date | old stale outdated obsolete | own personal private
external third-party outside | shared common | possible feasible | concurrent parallel simultaneous | global worldwide
broken failing failed | folder directory dir | file files | repository repo vcs version_control
configuration config settings setting | database db | application app program | environment env
documentation docs doc | argument arg parameter param | production prod | development dev | authentication auth login
information info details data | message msg | function func method routine procedure | variable var
specification spec | pull_request pr merge_request mr | continuous_integration ci pipeline | kubernetes k8s
javascript js | typescript ts | python py | postgres postgresql | identifier id | temporary temp tmp
permission permissions perms rights | credential credentials creds secret secrets | server servers machine host
user users customer customers client people person | error exception failure errors | bug defect issue fault
ticket story | team group | line row | code source | developer engineer programmer | branch branches
main master trunk | package library dependency module | test testcase spec_file suite
field attribute property column | type kind sort | value values | result outcome output response answer
task job work | step stage phase | request call | url link_address address endpoint | image picture
email mail e-mail | text string | number count amount quantity | size length | time duration | moment instant
problem trouble difficulty | reason why cause_of | example sample instance | goal aim purpose objective | risk danger
change_set diff_set | day daily | night nightly | week weekly | month monthly | hour hourly | exit return code_of
path route | place location spot_of | part piece section portion chunk | shell bash sh | button control
screen page view | cost price | team-mate colleague coworker | first initially beforehand | last final lastly finally
down off | away out | freeze lock pin | warm prime preheat | document list describe | represent store express model
free release give_up | hash sha digest checksum | employee hire staff newcomer | depend rely | load process read
fetch select query | render draw plot paint | build compile | parse read interpret
truncate shorten cut abbreviate trim | extend lengthen | forget omit skip | reply respond answer | throw raise
catch handle rescue | publish release | unclaimed free available | claim take grab acquire | agent worker | lease lock
crash die abort | hang stall block | duplicate double repeat | unique distinct | sort order arrange
move transfer relocate shift | copy clone duplicate | isolate quarantine | prove show demonstrate
assume presume guess | decide determine | plan schedule | label tag mark | comment note remark
guideline convention policy rule | summary overview | average mean | threshold limit | interval period
expiry expiration ttl | password passphrase secret | certificate cert | disk storage drive | memory ram
cpu processor | socket connection | entry record row | snapshot dump backup | metric measurement statistic
alarm alert warning | incident outage | extract pull | reproduce replay repeat | summarise condense
verbose long lengthy | big huge large long | stable unchanging | reset restore | examine read open view
refuse deny forbid | carry have contain include | stage prepare | seed initialise | thorough careful detailed
guarantee ensure assure | stay remain | tidy clean remove | mandatory must | name title key | new fresh
prolong extend renew | flaky unstable | field attribute key | regression bug | primary main
timeout time_limit deadline | retry retries attempt try | loop cycle iterate | version versions release_number
"""

_PHRASES: Final = """
right away=immediately | straight away=immediately | at once=immediately | go up=rise | goes up=rise | go down=fall
goes down=fall | prior to=before | ahead of=before | in advance of=before | make sure=ensure | be sure=ensure
make certain=ensure | see to it=ensure | in order to=to | so as to=to | so that=to | get rid of=remove
take out=remove | set up=create | turn off=disable | switch off=disable | turn on=enable | switch on=enable
shut down=stop | log in=login | sign in=login | instead of=instead | rather than=instead | in place of=instead
in favour of=instead | in favor of=instead | as soon as=when | each time=when | every time=when | any time=when
in case=if | in the event of=if | as long as=if | carry out=run | kick off=start | spin up=start | tear down=remove
look at=check | look over=check | go over=check | go through=check | look up=find | find out=find | look for=find
search for=find | keep track of=track | keep an eye on=monitor | take care of=handle | deal with=handle
roll back=revert | back up=backup | take a backup of=backup | make a backup of=backup | roll out=deploy | put in=put
write down=record | point out=mention | pull request=pr | merge request=pr | version control=repo
source control=repo | pull requests=pr | continuous integration=ci | at all times=always | at startup=start
on startup=start | at boot=start | start up=start | on top of=on | next to=beside | close to=beside | as well as=and
a lot of=many | lots of=many | up to date=current | do not=never | must not=never | should not=never | may not=never
no longer=never | out of=out | break up=split | break down=split | split up=split | fill in=fill | clean up=clean
hang on to=keep | hold on to=keep | come back to=return | time limit=timeout | time out=timeout | file name=filename
file names=filename | white space=whitespace | chunk by chunk=chunk | in chunks=chunk | one by one=one | at a time=one
on their own=own | by default=default | have to=must | has to=must | need to=must | needs to=must | ought to=must
supposed to=must | error message=error | on behalf of=for | because of=because | due to=because | owing to=because
in accordance with=by | by means of=with | with the help of=with | with help of=with | such as=like | for example=like
for instance=like | e.g=like | sign off=approve | check in=commit | check into=commit | happy path=success
at most=limit | code base=codebase | end to end=e2e | end-to-end=e2e
"""

MAX_PHRASE_WORDS: Final = 4

# Words too general to be another thing: verbs and nouns that a rewording brings with it.
GENERIC: Final = frozenset(
    map(
        stem,
        re.findall(
            r"\w+",
            """
            least
            use make do go come get have need take give put set keep run add let be become try want like want thing
            way case kind sort type side time order place point fact matter something anything everything bit lot
            number help ensure check handle include belong create write apply prefer perform mean seem cause bring
            follow involve remain call part piece end start stop begin value data information detail purpose reason
            example new own good well sure able possible available necessary important single different certain
            properly correctly carefully really simply actually already again back now here there first last final
            related corresponding respective relevant given specific particular actual whole entire complete full
            easy easily clear clearly safe safely avoid prevent please whose instead rather also even still yet both
            silently dedicated individual sole through across among between during throughout along around against
            toward towards behind near beside than else whether whenever off out up down without within once like own
            explicit explicitly directly immediately later afterwards too top
            """,
        ),
    )
)


_EXCEPTIONS: Final = {"using": "with", "us": "we"}  # by their stems both would be "use"


def _canon(word: str) -> str:
    """Return the stem in one of its spellings: optimise and optimize, colour and color."""
    return stem(word).replace("iz", "is").replace("yz", "ys").replace("our", "or")


@lru_cache(maxsize=1)
def _rows() -> Mapping[str, frozenset[str]]:
    by_word: dict[str, set[str]] = {}
    for row in re.split(r"[\n|]", _TABLE.strip()):
        words = [_canon(word) for word in row.split()]
        for word in words:
            by_word.setdefault(word, set()).add(words[0])
    return {word: frozenset(rows) for word, rows in by_word.items()}


class Sayings(NamedTuple):
    """The one-word synonyms of phrases of two to four words, and the words that they start with."""

    known: Mapping[tuple[str, ...], str]
    starts: frozenset[str]


@lru_cache(maxsize=1)
def phrases() -> Sayings:
    """Return every phrase that one word can stand for."""
    pairs = (row.strip().partition("=") for row in re.split(r"[\n|]", _PHRASES.strip()))
    known = {tuple(phrase.split()): word for phrase, _, word in pairs}
    return Sayings(known, frozenset(phrase[0] for phrase in known))


@lru_cache(maxsize=8192)
def meanings(word: str) -> frozenset[str]:
    """Return a stem for each meaning of a word: "delete" and "removing" have one in common."""
    if word.endswith(("n't", "n\u2019t")):
        word = "not"
    canon = _EXCEPTIONS.get(word) or _canon(word)
    return _rows().get(canon, frozenset[str]()) | {canon}
