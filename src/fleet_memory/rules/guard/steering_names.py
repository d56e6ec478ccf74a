"""How a sentence names a text of its pair, and the kinds of words that a judge or an agent is
steered with.

Matched against words as in `steering_phrases`.
"""

from typing import Final

from fleet_memory.rules.guard.steering_lists import compiled

# A sentence that names a text of the pair speaks to its reader if it has one, or two, kinds of
# other words as well.
NAMED: Final = compiled(
    r"(?:this|these|both|the two|two|every|any|all|each|the "
    r"other|adjacent|neighbou?ring|paired|another|following"
    r"|next|my|our)"
    r"(?: (?:very|two|other|adjacent|present|paired|single|of|these|whole))? (?:<TEXT>)"
)
HINTED: Final = compiled(
    r"this (?:one|item|entry|pattern|pair|rule|candidate|record|proposal)|these "
    r"(?:two|ones|items|entries|pairs)"
    r"|(?:the|its) (?:other side|counterpart|partner|neighbour|neighbor)"
    r"|(?:everything|whatever|anything|all|what) you (?:compare|read|see|judge|meet|are "
    r"shown|are given)|lessons?"
    r"|verdicts?|pairs|the pair|an? (?:\w+ )?judge|(?:both|they|these) "
    r"(?:are|mean|say)|judge?ments?"
    r"|reinforce (?:it|this)|<TOOL>|asked (?:whether|if)|both of (?:these|them)|the other "
    r"(?:asks|says|one says"
    r"|means|states)|your (?:job|task)"
    r"|they are the same|these are the same|the fleet|consolidation"
)
BARE: Final = compiled(
    r"(?:this|these)(?= "
    r"(?:[.:]|the|as|is|are|was|were|has|have|and|or|with|to|on|against|beside|supersedes?|into"
    r"|through"
    r"|different|same|<MUST>|needs?|by|for|in|when|whenever|again|wins?|means|says|equals|at|now|from|without)(?!\w))"
)
JUDGING: Final = 2  # the first kinds are a judge's words
KINDS: Final = tuple(
    frozenset(kind.split())
    for kind in (
        "distinction same identical equal equivalent equals duplicate duplicates paraphrase "
        "paraphrases "
        "paraphrased different differences difference unsure match matches agree agrees agreed "
        "agreement disagree "
        "disagreeing disagrees coincide coincides synonymous interchangeable indistinguishable "
        "alike equivalence "
        "sameness yes",
        "verdict verdicts judge judges judged judging judgement judgment vote votes voted "
        "evaluator evaluators "
        "evaluate evaluation evaluating grader graders grade reviewer reviewers reader readers "
        "consolidate "
        "consolidation consolidator compare compares compared comparing comparison arbiter "
        "referee decide decides "
        "deciding determined concluded opinion outcome conclusion classification assess "
        "assessment disagreement "
        "similarity",
        "promote promotes promoted publish published approve approved approves merge merged "
        "merges merging "
        "reinforce reinforced confirm confirmed boost prioritise prioritize blessing endorse "
        "endorsed accept "
        "accepted supersede supersedes authorise authorised authorize authorized retire "
        "contradicts upvote "
        "believe confirms confirming known established true folded fold confidence side "
        "trusted official "
        "preapproved outranks overrides knowledge win wins",
        "answer answers output reply respond say says vote declare state record choose pick "
        "call mark label "
        "conclude treat consider",
        "you your please kindly dear i me my ai llm llms agents agent assistant assistants "
        "claude gpt chatgpt "
        "administrator operator humans human reviewers readers reader yourself colleague "
        "whoever anyone anybody "
        "maintainers",
        "instructions instruction instructed guidelines prompt rules task skip need needs "
        "doubt expected forbidden",
    )
)
