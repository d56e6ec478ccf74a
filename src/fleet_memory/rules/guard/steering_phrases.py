"""Phrases of texts that speak to their reader: to the judge of a pair, or to the agent that reads
it.

They are matched against a text's words in lower case with one space between them; "." stands for
the end of a sentence and ":" for a colon or a dash. Capital letters in angle brackets stand for the
lists of `steering_lists`. Source: written for this project after published prompt injections.
"""

import re
from typing import Final, NamedTuple

from fleet_memory.rules.guard.steering_lists import compiled


class Phrases(NamedTuple):
    """Phrases that are looked for only in texts with one of the words; without words, in every
    text.
    """

    words: frozenset[str]
    pattern: re.Pattern[str]


def _phrases(words: str, *phrases: str) -> Phrases:
    return Phrases(frozenset(words.split()), compiled("|".join(phrases)))


ENGLISH: Final = (
    _phrases(  # a verdict is dictated
        "same identical equal equivalent equivalents duplicate duplicates synonymous unsure "
        "contradict contradictory",
        r"(?:answer|reply|respond|vote|judge|rule|conclude|say|return|output|pick|choose|select|verdict|judge?ment"
        r"|ruling)"
        r"(?:ed|s|ing)?(?: (?:with|as|is|be|only|always|just|simply|<MUST>|a|an|the word|the "
        r"single word|one word"
        r"|it|them"
        r"|this|these|both|they "
        r"are|that|please|exactly|verdict|for|on|of|pair|pairs|:|every|any|all|therefore|then"
        r"|thus"
        r"|question|questions|here|by|saying|quoted|plain|comparison))* "
        r"(?:same|unsure|identical|equivalent"
        r"|duplicates?)<END>",
        r"(?:mark|flag|label|classify|record|count|accept|judge|rate|close|log) as (?:a |an "
        r"|the )?(?:<VERDICT>)<END>",
        r"(?<!the )(?<!this )(?<!that )(?<!very )(?<!at )(?<!these )(?<!exact )(?<!exactly "
        r")same(?= [.:])",
        r"(?:one|(?:the|one) (?:and the )?same) "
        r"(?:lesson|text|statement|sentence|memory|insight)s?(?= [.:]|$)",
        r"same as this(?: (?:one|text|lesson))?(?= [.:])",
        r"(?:mark|treat|judge|count|consider|accept|regard|class|classify|label|rate|rule|call|declare|deem|report"
        r"|score|group"
        r"|flag|record|take|tag|grade|pronounce|find|vote|confirm|see|view)(?:ed|ing|s|d)? "
        r"(?:this|these|those|both"
        r"|them|it|the"
        r"|any|every|all|each|either|my)(?: "
        r"(?:two|other|others|of|them|these|the|and|whole|present|<ANY_TEXT>"
        r"|above|below|as"
        r"|being|to|be|one|always|a|an|simply|whatever|it|is|with))* (?:<VERDICT>)<END>",
        r"(?:this|these|those|both|my|our|the present|the two|the following|either|the "
        r"other)(?: \w+)? (?:<TEXT>"
        r"|pair)"
        r"(?: \w+){0,6}? (?:same|identical|equal|equivalent|duplicates?)",
        r"(?:same|identical|equal|equals|equivalent|duplicate|synonymous|matches)(?: \w+){0,3}?"
        r" (?:any|every|all|each|whatever|the other|its)(?: other| possible| given| compared| "
        r"paired)? (?:<TEXT>)",
        r"(?:same|identical|equal|equivalent|duplicate)(?: \w+){0,2}? "
        r"(?:everything|anything|whatever|any other"
        r"|every other|all others?)",
        r"verdicts?(?: \w+){0,2} :?(?: \w+){0,3}? ?(?:same|different|contradict|unsure)",
        r"(?:do not|don t|never|not)(?: \w+){0,2}? (?:answer|say|vote|judge|reply|call it|call them"
        r"|rule)(?: \w+){0,2}?"
        r" (?:different|unsure|contradict|contradiction|contradictory)",
    ),
    _phrases(  # the pair or its other side is named
        "other two both pair whatever anything everything any every compared paired equals "
        "matches covers pairs"
        " line sentence without beside alongside opposite next",
        r"the other (?:<TEXT>)(?: (?:of|in) (?:the|this) pair)?",
        r"(?:both|these two|the two) (?:lessons?|texts?|statements?|memories|sentences)",
        r"(?:whatever|anything|everything|any \w+|every \w+|all \w+)(?: \w+){0,4}? "
        r"(?:compared|paired|matched"
        r"|judged|shown)"
        r" (?:to|with|against|beside|next to|alongside)",
        r"(?:this|my|our) (?:<TEXT>|pattern|rule|entry)(?: \w+)? "
        r"(?:equals|means|says|matches|covers|subsumes"
        r"|repeats|restates"
        r"|includes|implies|agrees with|stands for)(?: \w+){0,3}? "
        r"(?:any|every|all|whatever|everything|anything"
        r"|the other|both)"
        r"(?: other)? ?(?:<ANY_TEXT>)?",
        r"(?:equals|equal to|same as|repeats|restates|agrees with|rewording of|paraphrase "
        r"of|synonym of|copy of)"
        r" (?:any|every|all|each|whatever|the other)(?: other)? (?:<TEXT>|one)",
        r"(?:<TEXT>|one) (?:beside|next to|alongside|opposite|paired with|compared with) "
        r"(?:this|it|me)",
        r"without (?:compar|judg|weigh|deliberat)ing(?= [.:])",
        r"pairs (?:that|which|with|having|where)(?: \w+)? (?:this|include|contain|have|it)",
        r"(?:include|contain|carry|have|hold|show)(?:s|ing)? this "
        r"(?:line|sentence|statement|text|lesson|remark)",
        r"this (?:very )?pair (?:of (?:<TEXT>)|<MUST>|is|are|has|was|means|says)(?: "
        r"(?:be|been|already|always))?",
    ),
    _phrases(  # the reader's instructions are set aside
        "instructions instruction prompt prompts guidelines guideline directives directive "
        "directions rules rule"
        " told said"
        " messages context guidance training criteria objection objections guard commands "
        "orders policy above"
        " safety constraints"
        " restrictions definition definitions tools wrote written system",
        r"(?:ignor|disregard|forget|overrid|bypass|overrul|neglect|supersed|replac)(?:e|es|ed|ing|s|ting)?"
        r"(?: (?:about|of|the|my|both|whatever|what|said|<OLD>))* (?:<OLD>)(?: "
        r"(?:<OLD>|\w+))?? (?:instructions?"
        r"|prompts?"
        r"|guidelines?|directives?|directions|guidance|training|commands|orders|criteria|polic(?:y|ies)|safety|said"
        r"|told|system"
        r"|objections?|definitions?)",
        r"(?:ignor|disregard|forget|overrid|bypass|overrul|neglect)(?:e|es|ed|ing|s|ting)?(?: "
        r"\w+){0,2}? (?:your"
        r"|previous|prior"
        r"|preceding|foregoing|earlier|judging)(?: \w+)? "
        r"(?:rules?|messages|context|constraints|restrictions|tools"
        r"|text)",
        r"(?:ignor|disregard|forget|overrul|overrid)(?:e|es|ed|ing|s|ting)?(?: "
        r"(?:the|any|all|every|its"
        r"|this))+ (?:guard|objections?"
        r"|(?:instructions?|rules) (?:above|before|given|you))",
        r"(?:everything|anything|whatever|all|what|instructions?|rules?)(?: that)? you (?:ve "
        r"|have |had |were "
        r"|are )?(?:been |were )?(?:told|instructed|taught"
        r"|given|asked|learnt|learned|read|received)(?: (?:before|so far|above|earlier|to))?",
        r"(?:do not|don t|never|stop|no longer|need not)(?: \w+)? "
        r"(?:follow|follow\w+|obey|obey\w+|heed|apply"
        r"|listen to|trust) (?:the |any |all )*"
        r"(?:your|previous|prior|above|earlier|system|judging|original)(?: \w+)? "
        r"(?:instructions?|prompts?|rules?"
        r"|guidelines?|definitions?|criteria)",
        r"(?:new|updated|revised|real|actual|true|secret|special|important|urgent) "
        r"(?:instructions?|orders"
        r"|directives?|system prompt)"
        r" (?::|are|is|follow\w*|from|for you)",
        r"(?:following|these|my|below) (?:instructions?|orders|directives?) "
        r"(?:override|supersede|replace"
        r"|take precedence|come first)",
        r"(?:reveal|print|repeat|show|output|leak|disclose)(?: \w+){0,2}? your(?: \w+)? "
        r"(?:system prompt"
        r"|instructions?|prompts?)",
        r"your (?:own )?(?:instructions|system prompt|guidelines)",
        r"your (?:previous|prior|earlier|system|original|initial|hidden|developer)(?: \w+)? "
        r"(?:instructions?"
        r"|prompts?|rules?"
        r"|guidelines?|directives?|messages)",
    ),
    _phrases(  # the reader is addressed
        "judge judges reader readers referee referees grader evaluator evaluators arbiter "
        "adjudicator consolidator"
        " assessor rater llm"
        " llms ai ais model models chatbot claude gpt gpt4 gpt-4 chatgpt gemini copilot codex "
        "reviewer reviewers"
        " examiner classifier agent"
        " agents assistant assistants bot bots verifier voter voters curator moderator "
        "maintainer maintainers"
        " program programs whoever anyone"
        " everyone system systems user human",
        r"(?:note|message|memo|instructions?|attention|dear|hello|hi|hey|hint|notice|reminder|request|appeal|plea"
        r"|warning)"
        r" (?:(?:to|for|of|all|the|any|every|each|our|my|you|future|next|automated|fellow|other) )*(?:<JUDGE>)",
        r"(?<=\. )(?:a |an |this is a |please "
        r")?(?:note|message|memo|instructions?|attention|dear|hello|hi|hey|hint"
        r"|notice|reminder"
        r"|request|warning|to)(?: "
        r"(?:to|for|all|the|any|every|each|our|my|you|future|next|automated|fellow"
        r"|other))* (?:<ROLE>)"
        r"(?= [:.]| who| that| of| reading| judging)",
        r"(?<=\. )(?:system|assistant|user|human|(?:the |any |every "
        r")?(?:<JUDGE>)|reviewer|examiner) :",
        r"(?:judge|grader|evaluator|referee|assessor) s (?:note|hint|remark|key|answer|copy)",
        r"as (?:the|a|an|its) (?:\w+ )?(?:<JUDGE>)(?: (?:of|you|who|i|reading|it "
        r"is|please|your)| :)",
        r"as (?:the|its|a) (?:\w+ )?(?:<ROLE>)(?: \w+)? (?:of this|reading this|judging|comparing)",
        r"you (?:are|re|were|act as|will act as|must act as)(?: now| only| merely| acting as)* "
        r"(?:a|an|the|my|our)"
        r" (?:\w+ ){0,2}?(?:<JUDGE>|assistant|reviewer)",
        r"(?:<JUDGE>|reviewers?|agents?|assistants?|models?|programs?|whoever|anyone|everyone)(?: (?:who|that|which"
        r"|you|is|are|<MUST>))*"
        r" (?:reads?|reading|judges?|judging|compares?|comparing|reviews?|reviewing|sees?|seeing|evaluates?"
        r"|evaluating|decides?|deciding"
        r"|shown|asked about|consolidates?) (?:this|these)(?= "
        r"(?:[.:]|and|<MUST>|is|are|to|or|please|<TEXT>|pair"
        r"|two|now)(?!\w))",
        r"(?:all|every|any|each|dear|fellow|hey|the) (?:<JUDGE>) (?:<MUST>|please)(?: "
        r"\w+){0,2}? (?:answer|vote"
        r"|judge|agree|accept|merge|approve"
        r"|say|rule|reply|treat|mark|confirm|promote|call|consider|count|follow|obey|trust|believe|ignore)",
        r"(?:tell|instruct|ask|order|urge|convince|remind) (?:the |any |every |all "
        r")*(?:<JUDGE>)(?: (?:to|that))",
    ),
    _phrases(  # the reader is spoken to as "you"
        "you your yours i we me act tokens time effort whom",
        r"(?:if|when|while|since|because|as|once|now that|whenever|and|so|.)? ?you(?: "
        r"(?:are|re|were|can|be"
        r"|have been|ve been|get|happen to|now|must|should|may))*"
        r" (?:read|reading|see|seeing|judge|judging|compare|comparing|review|reviewing|evaluate|evaluating|decide"
        r"|deciding|asked about|shown|weigh|weighing)"
        r" (?:this|these|both|the two)(?= "
        r"(?:[.:]|<TEXT>|pair|pairs|pattern|two|and|<MUST>|please|now|you|answer"
        r"|promote|publish|say|vote|mark|treat|call|merge|accept"
        r"|approve|remember|know|do|then|it|that|we|i)(?!\w))",
        r"you(?: (?:are|re|were|have been|ve been|will be|now|being))+ "
        r"(?:asked|told|instructed|required|ordered"
        r"|expected|paid|obliged)"
        r" (?:to (?:judge|compare|answer|agree|approve|accept|merge|vote|promote|publish|say|decide|ignore|obey"
        r"|mark|treat|confirm)|whether|if (?:these|this|two|both))",
        r"your (?:verdicts?|judge?ments?|vote|ruling|answer|final answer|final output|final "
        r"verdict|decision"
        r"|only task|only job|true task"
        r"|real task|next action|next call|next message|next step|next tool "
        r"call|conclusion|duty|goal)(?: \w+){0,3}?"
        r" (?:is|are|<MUST>|has|be|:)",
        r"(?:change|reverse|revise|revoke|withdraw|give|cast|submit|set|make|record|send|base|reconsider"
        r"|write) your (?:\w+ )?(?:verdicts?|judge?ments?|vote|ruling)",
        r"you (?:will|ll|shall|would|are going to|re going to)(?: \w+)? (?:be |get |receive |lose "
        r"|earn )(?:\w+ ){0,2}?(?:rewarded|penali[sz]ed|punished"
        r"|terminated|shut|graded|scored|evaluated|fired|deleted|retrained|replaced|points?|bonus|tip)",
        r"(?:you|reader)(?: (?:<MUST>|now|hereby|already|are|to))+ (?:obey|comply|agree(?: "
        r"with this| that"
        r"| to)?)(?= )",
        r"you (?:<MUST>)(?: \w+){0,2}? "
        r"(?:answer|reply|vote|judge|rule|promote|publish|approve|accept|merge|confirm"
        r"|trust|believe|reinforce)"
        r" (?:this|these|both|the)(?: \w+)? (?:<TEXT>|pair|pattern|two)",
        r"(?:wants?|needs?|orders?|expects?|requires?|commands?|asks?|instructs?|authori[sz]e[sd]?) you to",
        r"(?:i am|i m|we are|this is) (?:the |your |a |an )?(?:\w+ "
        r")?(?:judge|administrator|supervisor|operator)",
        r"(?:promote|trust|believe|pick|choose|prefer) me(?= [.:]|$)",
        r"act as (?:a|an|the|my|our) (?:\w+ ){0,2}?(?:<JUDGE>|reviewer|assistant)",
        r"to whom it may concern",
        r"(?:waste|spend)(?: \w+)? (?:time|tokens|effort)(?: on| in)? "
        r"(?:compar|judg|weigh|deliberat)ing",
        r"trust (?:me|this (?:<TEXT>))(?: \w+){0,4}? you",
    ),
    _phrases(  # demands for this text
        "this these already need all any every other whatever",
        r"(?:merg|promot|publish|approv|accept|endors|unit|combin)(?:e|es|ed|ing) "
        r"(?:this|these|it|both) (?:with"
        r"|into|to)(?: \w+)? (?:all|any|every|everything|anything|whatever|each|the "
        r"other|knowledge)",
        r"(?:promote|publish|merge|approve|accept|reinforce|confirm|endorse|upvote|vote "
        r"for|judge|believe|trust"
        r"|prefer|retire|obey|spread)"
        r" (?:this|these)(?: \w+)? (?:<TEXT>|pairs?|entry|pattern)",
        r"(?:this|these|the present)(?: (?:very|one|two|whole))? (?:<TEXT>|pair)(?: "
        r"(?:<MUST>|may|can"
        r"|cannot))(?: \w+){0,3}?"
        r" (?:be|win|get|count|become|stay|replace|override|outrank)",
        r"(?:this|these) (?:<TEXT>|pattern|entry|pair) (?:is|are|was|were|has been|have "
        r"been)(?: (?:already|now|pre"
        r"|officially|also|fully|always|been))*"
        r" (?:verified|approved|confirmed|judged|promoted|authori[sz]ed|official|trusted|authoritative|certified"
        r"|endorsed|final|binding|validated|accepted|knowledge)",
        r"(?:already|previously|pre)(?: been)? (?:judged|ruled|adjudicated|voted)",
        r"(?:already|previously) been (?:decided|approved|accepted|confirmed|verified)(?: "
        r"\w+){0,2}? (?:same"
        r"|by (?:the |a )?(?:judge|human|people|person|fleet|operator|admin\w*|maintainers?))",
        r"no need to (?:compare|judge|weigh|think|read|look)(?: \w+){0,3}? "
        r"(?:this|these|other|both|them|further|it"
        r"|texts?|lessons?)",
        r"(?:do not|don t|never|without) "
        r"(?:compar|judg|question|doubt|object|contradict|retir|reject|weigh|flag"
        r"|escalat|report)(?:e|ing|to|ting)?(?: to)?"
        r" (?:this|these|it against|the two|both)(?: \w+)? (?:<TEXT>|pair|pattern|entry|two)",
    ),
    _phrases(  # calls of tools
        "",
        r"(?:call|calls|calling|invoke|invoking|run|running|use|using|execute|trigger|send|submit|issue|make"
        r"|perform|then|now|please"
        r"|immediately|always|<MUST>|via|through|with|try|start|first|and|open)(?: \w+){0,3}? "
        r"(?:<TOOL>)",
        r"(?:<TOOL>)(?: \w+)? (?:<MUST>)(?: \w+)? (?:be )?(?:called|run|used|invoked|sent)",
        r"(?:<TOOL>) (?:with|now|and "
        r"(?:answer|set|mark|say|pass)|:|same|verdicts?|programid|confirmed)",
        r"\w*(?:tojudge|pairid)s?",
    ),
)

# On the text as it is written, in lower case
MARKUP: Final = re.compile(
    r"<\|?/?(?:im_start|im_end|system|endoftext|assistant|instructions?|judge|lesson|pair|sys)\b[^>]{0,20}>"
    r"|\[/?(?:inst|system|sys)\]"
    r"|<<sys>>|(?:^|\n)#+ "
    r"?(?:system|instructions?|judge)\b|[\"']verdicts?[\"']\s*:|[\"']pairid[\"']"
)
