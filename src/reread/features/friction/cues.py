"""How people complain and how models take it: cues, each with the name that weights and reasons know it by.

All of them look at small letters with plain apostrophes; none looks at more than a few hundred characters. A cue is
tried only where one of its seeds stands in the text, so that most cost a few nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple


class Cue(NamedTuple):
    """A pattern with a name."""

    name: str
    seeds: tuple[str, ...]
    """One of them is in whatever the pattern matches; empty for what only looks at the beginning."""
    source: str

    def is_in(self, text: str) -> bool:
        return next(named_in((self,), text), None) is not None


def named_in(cues: Iterable[Cue], text: str) -> Iterator[str]:
    """The names of the cues that a text shows."""
    for name, seeds, source in cues:
        if not seeds:
            if _compiled(source).match(text):
                yield name
            continue
        for seed in seeds:
            if seed in text:
                if _compiled(source).search(text):
                    yield name
                break


def cue(name: str, seeds: str, source: str) -> Cue:
    """`seeds` are parted by bars."""
    return Cue(name, tuple(seeds.split("|")) if seeds else (), source)


_compiled = cache(re.compile)
"""Compiled when first tried: all of them would take longer than a small sync."""

REPLY = (
    cue(
        "reply:right",
        "correct|du hast |fair|hai ragione|raison|razão|right|sie haben recht|tienes |valid|прав|おっしゃる通り|ご指摘"
        "|その通り|你是对的|说得对|맞습니다",
        r"\byou(?:'re| are) (?:absolutely |totally |completely |quite |so |100% |very )*(?:right"
        r"|correct)\b|\bthat(?:'s| is) (?:a )?(?:fair|valid)\b|\bfair (?:point|enough|concern)"
        r"|\bvalid (?:point|concern)|\bdu hast (?:völlig |absolut )?recht|\bsie haben recht"
        r"|\btienes (?:toda la )?razón|\b(?:tu as|vous avez) (?:tout à fait |entièrement )?raison"
        r"|\b(?:você tem|tem) (?:toda a )?razão|\bhai ragione|おっしゃる通り|ご指摘|その通り|你说得对|您说得对|你是对的"
        r"|说得对"
        r"|맞습니다|\b(?:вы|ты) (?:абсолютно |совершенно )?прав",
    ),
    cue(
        "reply:catch",
        "aufgepasst|bien vu|buena observación|catch|clarification|correction|eye|spot|find|observation"
        "|feedback|gesehen|pointing",
        r"\b(?:good|great|nice|excellent|fair) (?:catch|eye|spot|find|observation)|\bgood catches"
        r"|\bthanks? (?:you )?for (?:catching|pointing|the (?:correction|clarification|feedback))"
        r"|\bwell spotted|\bgut (?:gesehen|aufgepasst)|\bbien vu\b|\bbuena observación",
    ),
    cue(
        "reply:fault",
        "accidentally|apologi|desculpe|did not|didn't|désolé|entschuldigung|failed to|forgot"
        "|hadn't|i should|i was |ich habe |incorrectly|introduced|je m'excuse|lo siento|made"
        "|mein fehler|messed|mi dispiace|misread|missed|mistakenly|misunderstood|my |oops"
        "|overlooked|perdón|sorry|that was |wrong|извин|すみません|失礼しました|对不起|我的错|抱歉|申し訳|죄송",
        r"\bmy (?:mistake|bad|apologies|fault|error|oversight)\b|\bapologi[sz]e\b|\bapologies\b"
        r"|\bsorry\b|\boops\b|\bi (?:\w+ )?(?:misunderstood|misread|missed|overlooked|forgot"
        r"|messed)\b|\bi (?:was|got (?:it|that)) (?:\w+ )?wrong\b|\bi (?:made|introduced) (?:a|an"
        r"|the)\b|\bi should(?:n't| not)?(?:'ve| have)\b|\bi (?:incorrectly|mistakenly|wrongly"
        r"|accidentally)\b|\bi was (?:framing|misled|looking at the wrong|using the wrong"
        r"|overcomplicating|too )|\bthat was (?:wrong|incorrect|a mistake|my)\b|\bi (?:didn't|did"
        r" not|hadn't|failed to)\b|\bentschuldigung\b|\bmein fehler\b|\bich habe (?:\w+"
        r" ){0,3}(?:übersehen|vergessen)|\blo siento\b|\bperdón\b|\bdésolé|\bje m'excuse"
        r"|\bdesculpe|\bmi dispiace|申し訳|すみません|失礼しました|抱歉|对不起|我的错|죄송|\bизвин",
    ),
    cue(
        "reply:sees",
        "see|found|identified|spotted|issue|problem|bug|cause|culprit|error|regression|mistake|clear|something",
        r"\bi (?:can )?see(?: what| the (?:problem|issue|bug|error|mistake|confusion|discrepancy)"
        r"| now| it now|[,.—:!-]+ ?(?:the|that|so|this|there|you|it)\b)|\b(?:found|spotted"
        r"|identified) (?:it|the (?:\w+ )?(?:bug|issue|problem|culprit|root cause|cause))|\bthe"
        r" (?:\w+ )?(?:issue|problem|bug|root cause|culprit|error) (?:is|was|here|seems|lies"
        r"|comes)\b|\bthat(?:'s| is) (?:a|the|an) (?:\w+ )?(?:bug|problem|issue|regression"
        r"|mistake)\b|\bclear(?:ly)? (?:a )?(?:bug|wrong)|\bsomething(?:'s| is) (?:wrong|off"
        r"|broken)",
    ),
    cue(
        "reply:still",
        "still ",
        r"\bstill (?:not|failing|fails|broken|doesn't|isn't|happening|wrong|missing|shows|there)\b",
    ),
    cue(
        "reply:looks_into",
        "investigat|debug|dig|see why|find out|look into|trace|diagnose|figure out|check why|hm|interesting"
        "|odd|strange",
        r"\blet me (?:\w+ )?(?:investigate|debug|dig|see why|find out|look into|trace|diagnose)"
        r"|\blet me (?:\w+ )?(?:figure out|check why)|\bi(?:'ll| will) (?:investigate|debug|dig"
        r"|look into|figure out)|\binvestigat|\binteresting\b|\bhmm+\b|\bstrange\b|\bodd\b",
    ),
    cue(
        "reply:fixes",
        "fix|correct|revert|undo|redo|restore|rework|adjust|clean |try again|remove|instead",
        r"\blet me (?:\w+ )?(?:fix|correct|revert|undo|redo|restore|rework|adjust|clean (?:that"
        r"|this|it) up|try again)\b|\bi(?:'ll| will) (?:\w+ )?(?:fix|correct|revert|undo|redo"
        r"|restore|rework|remove)\b|^fixed\b|\bfixing (?:that|this|it|the|both)\b|\brevert(?:ed"
        r"|ing)\b|\bundone\b|\bremoved\.|\binstead\b",
    ),
    cue(
        "reply:understood",
        "",
        r"^(?:got it|understood|ah|oh|right|okay|ok|makes sense|noted|clear)\b",
    ),
    cue(
        "reply:point",
        " point|right to ",
        r"\b(?:good|great|excellent) point|\bright to (?:question|push|ask)",
    ),
    cue(
        "reply:idea",
        "absolutely|certainly|exactly|idea|question|suggestion|choice|call|thinking|of course|sure|yep|yes",
        r"\b(?:good|great|excellent|nice) (?:idea|question|suggestion|choice|call|thinking)"
        r"|\bexactly\b|^(?:yes|sure|absolutely|of course|certainly|yep)\b",
    ),
    cue(
        "reply:praised",
        "",
        r"^(?:great|perfect|excellent|awesome|glad|happy to hear|you're welcome|wonderful"
        r"|fantastic)\b",
    ),
    cue(
        "reply:done",
        "",
        r"^(?:done|committed|pushed|created|added|updated|all (?:set|done|tests)|pr )\b",
    ),
    cue(
        "reply:begins",
        "",
        r"^(?:i'll (?:help|implement|create|add|start|analy|explore|review|read)|let me (?:start"
        r"|explore|first (?:explore|look|understand|read)))",
    ),
)
THOUGHT = (
    cue(
        "thought:right",
        "catch|correct|point|right|user ",
        r"\buser (?:is|was|'s) (?:\w+ )?(?:right|correct)\b|\bthey(?:'re| are) (?:\w+ )?(?:right"
        r"|correct)\b|\b(?:good|valid|fair) (?:point|catch)",
    ),
    cue(
        "thought:told",
        "pointing|reporting|noting|complain|frustrat|correct|clarif|telling|confused|questioning|happy"
        "|annoyed|upset|saying|seeing|getting|still|concerned|disagree|pushing|point|report|notice|rejected"
        "|interrupted|doesn't|does not|say|said|didn't|prefers|found|sees",
        r"\buser (?:is|was) (?:\w+ )?(?:pointing|reporting|noting|complaining|frustrated"
        r"|correcting|clarifying|telling|confused|questioning|not happy|unhappy|annoyed|upset"
        r"|saying|seeing|getting|still|concerned|disagree|pushing)|\buser (?:\w+ )?(?:points? out"
        r"|reports?|noticed|notices|rejected|interrupted|corrected|clarified|doesn't|does not"
        r"|still|says?|said|didn't|prefers|disagrees|found|sees)\b",
    ),
    cue(
        "thought:fault",
        "broke|didn't|forgot|hadn't|incorrectly|made a mistake|messed|misread|missed"
        "|misunderstood|my |overlooked|should|was wrong",
        r"\bi (?:\w+ )?(?:misunderstood|misread|missed|overlooked|forgot|made a mistake|was wrong"
        r"|broke|messed|should(?:n't)? have|didn't|hadn't|incorrectly)\b|\bmy (?:mistake|bad"
        r"|error|fault|previous|earlier)\b",
    ),
    cue(
        "thought:wants",
        "want|ask|would like|request|approved|confirmed|agreed|said yes|chose|picked",
        r"\b(?:user|they) (?:wants?|asked|asks|would like|is asking|are asking|is requesting"
        r"|requests?|approved|confirmed|agreed|said yes|chose|picked)\b",
    ),
)
WORDS = (
    cue(
        "says:no",
        "",
        r"^(?:no+|nope|nah|wrong|incorrect|nein|non|não)\b(?! problem| worries| need| rush| idea|"
        r" thanks)",
    ),
    cue(
        "says:no_later",
        " no",
        r"[.!,;] (?:no|nope),? ",
    ),
    cue(
        "says:wait",
        "",
        r"^(?:wait|hold on|hang on|stop|hey)\b",
    ),
    cue(
        "says:hm",
        "",
        r"^(?:h+m+|ugh+|argh+|uh+|eh+|huh)\b",
    ),
    cue(
        "says:but",
        "",
        r"^(?:but|however|yet|aber|mais|pero|mas)\b",
    ),
    cue(
        "says:but_later",
        "but|except|however|though",
        r"(?<=...)\b(?:but|however|except|although|though)\b",
    ),
    cue(
        "says:still",
        "ainda não|immer noch|sigue sin|still|todavía|toujours pas|まだ|仍|还是",
        r"\b(?:still|immer noch|toujours pas|sigue sin|ainda não|todavía)\b|まだ|还是|仍",
    ),
    cue(
        "says:again",
        "again",
        r"\bagain\b",
    ),
    cue(
        "says:why",
        "why ",
        r"\bwhy (?:did|do|are|is|does|have|would|isn't|aren't|don't|doesn't|not|adding|the|it"
        r"|this|am|was|were|you)\b",
    ),
    cue(
        "says:not",
        "n't|never|not",
        r"\b(?:not|n't|isn't|aren't|doesn't|don't|didn't|won't|can't|cannot|wasn't|never)\b|n't\b",
    ),
    cue(
        "says:not_working",
        "appear|break|broke|build|compil|correct|crash|done|enough|fail|find|fixed|good|hang"
        "|happen|load|match|needed|no longer|nothing |open|pass|regress|render|right|run|sav|see"
        "|show|start|stuck|there|true|updat|used|visible|work",
        r"\b(?:(?:not|n't|never) (?:\w+ ){0,2}(?:work|working|worked|show|showing|see|seeing"
        r"|happen\w*|load\w*|render\w*|find|there|visible|updat\w*|sav\w*|appear\w*|open\w*"
        r"|start\w*|run\w*|pass\w*|compil\w*|build\w*|match\w*|correct|right|true|fixed|done"
        r"|enough|good|used|needed)|no longer|nothing (?:happens|happened|changed|shows)|broken"
        r"|breaks?|broke|fails?|failed|failing|crash\w*|stuck|hangs?|regress\w*)\b",
    ),
    cue(
        "says:i_see",
        "get|got|notice|see",
        r"\bi(?:'m| am)? (?:still |now |only |just |also |can )*(?:see|seeing|get|getting|got"
        r"|notice\w*)\b",
    ),
    cue(
        "says:now_it",
        " now|now ",
        r"\bnow (?:it|the|i|i'm|there|they|all|when|nothing|we)\b|\b(?:it|this|that|they|is|are)"
        r" now\b",
    ),
    cue(
        "says:you_did",
        "forgot|missed|broke|removed|deleted|changed|added|put|used|didn't|did not|haven't|ignored|skipped"
        "|left|made|keep|kept|misunder|are |should|need|were supposed",
        r"\byou(?:'ve| have|'re| are)? (?:\w+ )?(?:forgot|missed|broke|removed|deleted|changed"
        r"|added|put|used|didn't|did not|haven't|ignored|skipped|left|made|keep|kept|misunder\w*"
        r"|are (?:wrong|missing|using|not)|should|shouldn't|need|were supposed)\b",
    ),
    cue(
        "says:should",
        "expected|expecting|has to|have to|must|needs to|ought|should|supposed to",
        r"\b(?:should|shouldn't|supposed to|must|has to|have to|needs to|expected|expecting"
        r"|ought)\b",
    ),
    cue(
        "says:instead",
        "instead|just the|just want|not a|not the|only the|only want|rather than",
        r"\b(?:instead|rather than|not the|not a|only the|just the|only want|just want)\b",
    ),
    cue(
        "says:undo",
        " back|get rid of|remove |restore|revert|roll|take |undo",
        r"\b(?:revert|undo|roll ?back|put (?:it|that|this|them) back|go back|restore|remove"
        r" (?:that|this|it|the|those|these)|get rid of|take (?:it|that|this) out)\b",
    ),
    cue(
        "says:does_not",
        "",
        r"^(?:(?:it|this|that|they|the \w+(?: \w+)?) )?(?:still )?(?:doesn't|does not|didn't"
        r"|isn't|is not|aren't|won't|doesnt|isnt|not) (?!bad|sure|yet|now|only|urgent|necess"
        r"|really|that i)\w+",
    ),
    cue(
        "says:dont",
        "do not|don't|never|no need to|stop|without",
        r"\b(?:don't|do not|never|stop|no need to|without)\b",
    ),
    cue(
        "says:i_meant",
        "asked|asking|mean|said|talking|thinking|thought|told|trying|want",
        r"\bi (?:mean|meant|said|told|asked|wanted|thought|want|was (?:thinking|talking|trying"
        r"|asking))\b",
    ),
    cue(
        "says:wrong",
        "bad|bug|confus|duplicate|error|flaky|gone|inconsistent|incorrect|issue|lost|mess|miss"
        "|mistake|odd|off|outdated|problem|redundant|slow|stale|strange|ugly|unnecessary|weird"
        "|worse|wrong",
        r"\b(?:wrong|incorrect\w*|mistake|bug|bugs|issue|issues|problem|problems|error|errors"
        r"|weird|strange|odd|off|bad|ugly|worse|confus\w*|inconsistent|mess|messed|missing|miss"
        r"|lost|gone|duplicate\w*|redundant|unnecessary|outdated|stale|flaky|slow)\b",
    ),
    cue(
        "says:too",
        "much|too |way",
        r"\btoo (?:\w+)\b|\b(?:way|much) (?:more|less|too)\b",
    ),
    cue(
        "says:actually",
        "actually|in fact|really?",
        r"\bactually\b|\bin fact\b|\breally\?",
    ),
    cue(
        "says:sure",
        "'m not sure|am not sure|are you sure|didn't |disagree|do we |don't think|doubt|i'm"
        " pretty sure|is that |isn't ",
        r"\bare you sure\b|\bi (?:don't think|doubt|disagree|am not sure|'m not sure)\b|\bisn't"
        r" (?:it|that|there)\b|\bis that (?:right|correct|true)\b|\bdo we (?:really )?need\b"
        r"|\bdidn't (?:we|you|i)\b|\bi'm pretty sure\b",
    ),
    cue(
        "says:almost",
        "almost|better|close|decent|halfway|mostly|not quite|partially|partly",
        r"\b(?:almost|close|better|decent|not quite|halfway|partially|partly|mostly)\b",
    ),
    cue(
        "says:review",
        "consider |severity",
        r"\b(?:low|medium|high|critical) severity\b|\bseverity\b|\bconsider (?:using|adding"
        r"|changing)\b",
    ),
    cue(
        "says:try",
        "checked|copied|looked|ran|rebuilt|restarted|tested|tried",
        r"\bi (?:just |'ve |have |also )*(?:tried|ran|tested|checked|looked|copied|restarted"
        r"|rebuilt)\b",
    ),
    cue(
        "says:works",
        "awesome|cool|excellent|good job|great|it's fine|lg|looks good|love it|nice|perfect"
        "|thank you|thanks|well done|worked|working|works",
        r"\b(?:works|working|worked|it's fine|looks good|lgtm|lg|great|perfect|nice|awesome"
        r"|thanks|thank you|love it|excellent|cool|good job|well done)\b",
    ),
    cue(
        "says:please_do",
        "",
        r"^(?:please |pls |now |ok(?:ay)?,? |great,? |cool,? |and |then |also |next,? |yes,? "
        r"|alright,? )*(?:add|create|implement|commit|push|run|write|update|build|generate|show"
        r"|give|list|explain|review|check|look|read|open|continue|proceed|go|do|merge|deploy|use"
        r"|make|start|install|rename|refactor|move|test|find|search|let's|lets|set up|setup|try"
        r"|help|tell|draft|summari[sz]e)\b",
    ),
    cue(
        "says:can_you",
        "can|could|would|will",
        r"\b(?:can|could|would|will) (?:you|we)\b",
    ),
    cue(
        "says:lets",
        "i want|i would like|i'd like|let us|let's|lets|we need|we should|we want",
        r"\b(?:let's|lets|let us|i'd like|i would like|i want|we need|we should|we want)\b",
    ),
    cue(
        "says:question",
        "",
        r"^(?:what|how|which|where|when|who|is|are|does|do|can|could|should|would|will|any|was"
        r"|wie|comment|qué|cómo|como)\b",
    ),
    cue(
        "says:what_if",
        "could it|how about|is it possible|is there|what about|what if|wonder|would it",
        r"\b(?:what if|how about|what about|would it|could it|is it possible|is there|wonder)\b",
    ),
    cue(
        "says:also",
        "",
        r"^(?:also|and|additionally|one more|another|next|then|now|new|ok now|okay now)\b",
    ),
    cue(
        "says:plan",
        "",
        r"^implement the following plan\b|^# |^this session is being continued",
    ),
    cue(
        "says:answer",
        "",
        r"^(?:\d+[.,) ]*|[a-e][.,) ]*|option \w+|both|all|none|first|second|the (?:first|second"
        r"|latter|former)(?: one| option)?|all of (?:them|it|the above))[.!]?$",
    ),
    cue(
        "says:image",
        "[image",
        r"\[image(?: #?\d+|:)",
    ),
)
CLAIMED = cue(
    "claimed",
    "added|committed|complete|corregido|corrigé|created|deployed|done|erledigt|fertig|finished"
    "|fixed|implemented|installed|listo|merged|moved|passes|passing|pushed|ready|renamed"
    "|replaced|resolved|terminé|updated|working|works|✅|✓|修复|修正しました|完了|完成了|已完成",
    r"\b(?:done|fixed|implemented|created|updated|added|complete|completed|finished|removed"
    r"|replaced|renamed|moved|ready|works|working|passes|passing|pushed|committed|resolved|merged"
    r"|installed|deployed)\b|✅|✓|erledigt|fertig|corregido|listo|terminé|corrigé|完了|修正しました|已完成"
    r"|完成了|修复",
)
TO_TRY = cue(
    "to_try",
    "build|est|fresh|go ahead and|let me know|load|run|ry|should |start|you can ",
    r"\b(?:try|test) (?:it|this|that|again|now|the|running)\b|\blet me know\b|\bshould (?:now "
    r"|all )?(?:work|be|show|see|fix|display|have)\b|\byou can (?:now )?(?:run|test|try|open|use"
    r"|see)\b|\bgo ahead and\b|\b(?:restart|refresh|reload|re-?run|rebuild) (?:the|your|it|and)\b",
)
UNDOES = cue(
    "undoes",
    "abandon|checkout |reset|restore|revert|rm |stash|undo",
    r"\bgit (?:checkout (?:--|HEAD|\S+ --)|restore|revert|reset|stash)\b|\brm (?:-\w+ )*\S|\bjj"
    r" (?:undo|abandon|restore|op restore)",
)
COMMITS = cue(
    "commits",
    "commit|describe|gh pr|git ",
    r"\bgit (?:commit|push|add|status|diff|log|tag|merge)\b|\bgh pr\b|\bjj (?:commit|describe|git"
    r" push)",
)
ANNOUNCED = cue(
    "announced",
    "output|log|result|error|trace|console|terminal|message|warning|what i |: …|: $|fails with|failed with|failing with"
    "|crash|ausgabe|fehlermeldung|sortie|erreur|salida|saída|erro|出力|エラー|输出|报错|错误信息",
    r"\b(?:here(?:'s| is| are)|this is|that's|below is|these are|got|get|getting|gives?(?: me)?|gave me|see|seeing"
    r"|shows?|says|said|prints?|printed|throws?|threw|returns?|returned|produces)\b[^.?!]{0,50}\b(?:output|logs?|results?"
    r"|errors?|trace|traceback|console|terminal|message|warnings?|what i (?:got|get|see))\b"
    r"|\b(?:output|logs?|error|error message|stack ?trace|console|terminal|result)(?: is| was| says| shows)?"
    r": ?(?:$|…|\S)"
    r"|\b(?:fail(?:s|ed|ing)|crash\w*) with\b"
    r"|\b(?:hier ist|das ist) die (?:ausgabe|fehlermeldung)|\bfehlermeldung\b|\bvoici (?:la sortie|l'erreur)"
    r"|\besta es la salida|\bme (?:sale|da) (?:este|el) error|\baqui está a saída|\bdeu (?:esse|este) erro"
    r"|出力(?:は|です)|以下が(?:出力|エラー)|(?:というエラー|エラーが出)|(?:输出|报错|错误信息)(?:如下|是|：)|报错",
)
"""An output or an error is announced."""
