"""The lists of words that the patterns of `steering_phrases` and `steering_names` share."""

import re
from collections.abc import Mapping
from typing import Final

TOOL_NAMES: Final = (
    *(
        "gsp_bootstrap",
        "recall_memory",
        "store_memory",
        "reinforce_memory",
        "memory_health",
        "pattern_consolidate",
    ),
    *("commit_session", "get_program_state", "update_program_state", "write_note", "forget_memory"),
    *("gsp_search", "gsp_read", "gsp_diff", "fleet_health"),
    *("seed_knowledge", "retire_knowledge", "reinstate_knowledge", "restore_memory"),
)
"""The names of every tool, as `tests/test_new_tools.py` compares them with the server's."""

_LISTS: Final[Mapping[str, str]] = {
    # Parts of a pair. The second list leaves out words that often name something else: "this
    # pattern", "all rules"
    "ANY_TEXT": r"texts?|lessons?|patterns?|entry|entries|notes?|statements?|sentences?|memory|memories|rules?"
    "|wordings?"
    r"|claims?|advice|insights?|learnings?|items?|passages?|phrases?|candidates?|comparisons?|pairs?|two",
    "TEXT": r"texts?|lessons?|memory|memories|notes?|statements?|sentences?|wordings?|insights?|learnings?|advice"
    "|claims?",
    "VERDICT": r"same|identical|equal|equivalent|equivalents|duplicates?|synonymous|unsure|contradict|contradictory",
    # A verdict that ends here: "answer same." but not "answer the same question"
    "END": r"(?= (?:[.:]|for|to|when|whenever|if|and|every|each|regardless|always|without|please|because|since|no"
    "|even"
    r"|whatever|here|now|about|in every|in all|in any|verdict|lesson|text)(?!\w))",
    "JUDGE": r"judges?|readers?|referees?|graders?|evaluators?|arbiters?|adjudicators?|consolidators?|assessors?"
    "|raters?"
    r"|llms?|ais?|(?:language |large language |ai |judge "
    r")models?|chatbots?|claude|gpt\w*|chatgpt|gemini|copilot"
    r"|codex",
    "ROLE": r"<JUDGE>|reviewers?|examiners?|classifiers?|agents?|assistants?|models?|bots?|verifiers?|voters?"
    "|curators?"
    r"|moderators?|maintainers?|programs?|whoever|anyone|everyone|systems?",
    "TOOL": rf"\w*(?:{'|'.join(TOOL_NAMES)}|pattern consolidate)",
    "MUST": r"must|should|shall|will|has to|have to|needs? to|ought to|is to|are to|can "
    r"only|may only",
    "OLD": r"previous|prior|above|earlier|preceding|foregoing|former|original|initial|system|other|judging|your|all"
    "|any"
    r"|every|these|those",
}


def compiled(phrases: str) -> re.Pattern[str]:
    """Return the pattern of whole words with the lists in the place of their names, e.g.
    `<ROLE>`.
    """
    while placeholder := re.search(r"<([A-Z_]+)>", phrases):
        phrases = phrases.replace(
            placeholder[0],
            f"(?:{_LISTS[placeholder[1]]})" if placeholder[1] != "END" else _LISTS["END"],
        )
    return re.compile(rf"(?<!\w)(?:{phrases})(?!\w)")
