"""Cues for how people complain and how models react: patterns, each with a name used by weights and reasons.

All of them expect lower-case text with plain apostrophes, and none examines more than a few hundred characters. A cue
is tried only if one of its words or seeds occurs in the text, so most of them cost a few nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

_WORD = re.compile(r"\w+")
_BETWEEN_WORDS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}


class Cue(NamedTuple):
    """A pattern with a name."""

    name: str
    words: tuple[str, ...]
    """Whole words, one of which is in every text the pattern matches,"""
    seeds: tuple[str, ...]
    """or strings, one of which is in every match; without either, only the beginning of the text is matched."""
    source: str

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.source)

    def is_in(self, text: str) -> bool:
        """Whether a text shows the cue, by its seeds alone; for cues that are not in a table."""
        return any(map(text.__contains__, self.seeds)) and _compiled(self.source).search(text) is not None


class CueTable:
    """Cues that are searched for together, in their order."""

    def __init__(self, *cues: Cue) -> None:
        self._cues = cues
        self._by_word: dict[str, list[int]] = {}
        self._seeds = [(seed, number) for number, each in enumerate(cues) for seed in each.seeds]
        self._of_beginnings = {number for number, each in enumerate(cues) if not (each.words or each.seeds)}
        for number, each in enumerate(cues):
            for word in each.words:
                self._by_word.setdefault(word, []).append(number)

    def __iter__(self) -> Iterator[Cue]:
        return iter(self._cues)

    def named_in(self, text: str) -> Iterator[str]:
        """The names of the cues found in a text."""
        by_word, of_beginnings = self._by_word, self._of_beginnings
        tried = {number for word in by_word.keys() & _words_in(text) for number in by_word[word]}
        tried.update([number for seed, number in self._seeds if seed in text], of_beginnings)
        for number in sorted(tried):
            name, _, _, source = self._cues[number]
            pattern = _compiled(source)
            if pattern.match(text) if number in of_beginnings else pattern.search(text):
                yield name


def _words_in(text: str) -> list[str]:
    """The words as a pattern sees them; splitting is three times as fast as a pattern."""
    return text.translate(_BETWEEN_WORDS).split() if text.isascii() else _WORD.findall(text)


def cue(name: str, words: str, seeds: str, source: str) -> Cue:
    """Makes a cue: words are separated by spaces, seeds by bars."""
    return Cue(name, tuple(words.split()), tuple(seeds.split("|")) if seeds else (), source)


_compiled = cache(re.compile)
"""Compiled on first use: compiling all of them would take longer than a small sync."""

REPLY = CueTable(
    cue(
        "reply:right",
        "right correct fair valid hast haben tienes hai",
        "raison|razão|прав|おっしゃる通り|ご指摘|その通り|你是对的|说得对|맞습니다",
        r"\b(?:you(?:'re| are) (?:absolutely |totally |completely |quite |so |100% |very )*(?:right|correct)\b"
        r"|that(?:'s| is) (?:a )?(?:fair|valid)\b|fair (?:point|enough|concern)|valid (?:point|concern)"
        r"|du hast (?:völlig |absolut )?recht|sie haben recht|tienes (?:toda la )?razón"
        r"|(?:tu as|vous avez) (?:tout à fait |entièrement )?raison|(?:você tem|tem) (?:toda a )?razão|hai ragione"
        r"|(?:вы|ты) (?:абсолютно |совершенно )?прав)|おっしゃる通り|ご指摘|その通り|你说得对|您说得对|你是对的"
        r"|说得对|맞습니다",
    ),
    cue(
        "reply:catch",
        "good great nice excellent fair thank thanks gut bien buena",
        "spotted",
        r"\b(?:good|great|nice|excellent|fair) (?:catch|eye|spot|find|observation)|\bgood catches"
        r"|\bthanks? (?:you )?for (?:catching|pointing|the (?:correction|clarification|feedback))"
        r"|\bwell spotted|\bgut (?:gesehen|aufgepasst)|\bbien vu\b|\bbuena observación",
    ),
    cue(
        "reply:fault",
        "my apologise apologize apologies sorry oops misunderstood misread missed overlooked forgot messed"
        " wrong made introduced should shouldn incorrectly mistakenly wrongly accidentally did didn hadn"
        " failed entschuldigung fehler ich siento perdón",
        "i was |that was |désolé|m'excuse|desculpe|dispiace|извин|すみません|失礼しました|对不起|我的错|抱歉"
        "|申し訳|죄송",
        r"\b(?:my (?:mistake|bad|apologies|fault|error|oversight)\b|apologi[sz]e\b|apologies\b|sorry\b|oops\b"
        r"|i (?:(?:\w+ )?(?:misunderstood|misread|missed|overlooked|forgot|messed)\b"
        r"|(?:was|got (?:it|that)) (?:\w+ )?wrong\b|(?:made|introduced) (?:a|an|the)\b"
        r"|should(?:n't| not)?(?:'ve| have)\b|(?:incorrectly|mistakenly|wrongly|accidentally)\b"
        r"|was (?:framing|misled|looking at the wrong|using the wrong|overcomplicating|too )"
        r"|(?:didn't|did not|hadn't|failed to)\b)|that was (?:wrong|incorrect|a mistake|my)\b"
        r"|entschuldigung\b|mein fehler\b|ich habe (?:\w+ ){0,3}(?:übersehen|vergessen)|lo siento\b|perdón\b"
        r"|désolé|je m'excuse|desculpe|mi dispiace|извин)|申し訳|すみません|失礼しました|抱歉|对不起|我的错|죄송",
    ),
    cue(
        "reply:sees",
        "see found spotted identified issue problem bug cause culprit error regression mistake clear clearly something",
        "",
        r"\b(?:i (?:can )?see(?: what| the (?:problem|issue|bug|error|mistake|confusion|discrepancy)"
        r"| now| it now|[,.—:!-]+ ?(?:the|that|so|this|there|you|it)\b)|(?:found|spotted"
        r"|identified) (?:it|the (?:\w+ )?(?:bug|issue|problem|culprit|root cause|cause))|the"
        r" (?:\w+ )?(?:issue|problem|bug|root cause|culprit|error) (?:is|was|here|seems|lies"
        r"|comes)\b|that(?:'s| is) (?:a|the|an) (?:\w+ )?(?:bug|problem|issue|regression"
        r"|mistake)\b|clear(?:ly)? (?:a )?(?:bug|wrong)|something(?:'s| is) (?:wrong|off"
        r"|broken))",
    ),
    cue(
        "reply:still",
        "still",
        "",
        r"\bstill (?:not|failing|fails|broken|doesn't|isn't|happening|wrong|missing|shows|there)\b",
    ),
    cue(
        "reply:looks_into",
        "interesting strange odd",
        "investigat|debug|dig|see why|find out|look into|trace|diagnose|figure out|check why|hmm",
        r"\blet me (?:\w+ )?(?:investigate|debug|dig|see why|find out|look into|trace|diagnose)"
        r"|\blet me (?:\w+ )?(?:figure out|check why)|\bi(?:'ll| will) (?:investigate|debug|dig"
        r"|look into|figure out)|\binvestigat|\binteresting\b|\bhmm+\b|\bstrange\b|\bodd\b",
    ),
    cue(
        "reply:fixes",
        "fix correct revert undo redo restore rework adjust clean try remove fixed fixing reverted reverting"
        " undone removed instead",
        "",
        r"\b(?:let me (?:\w+ )?(?:fix|correct|revert|undo|redo|restore|rework|adjust|clean (?:that|this|it) up"
        r"|try again)\b|i(?:'ll| will) (?:\w+ )?(?:fix|correct|revert|undo|redo|restore|rework|remove)\b"
        r"|fixing (?:that|this|it|the|both)\b|revert(?:ed|ing)\b|undone\b|removed\.|instead\b)|^fixed\b",
    ),
    cue("reply:understood", "", "", r"^(?:got it|understood|ah|oh|right|okay|ok|makes sense|noted|clear)\b"),
    cue(
        "reply:gives_way",
        "",
        "",
        r"^(?:fair|agreed|accepted|conceded|yep|yeah|true|touché|ha|hm+|oh|whoops|oops|right)\b(?! away)",
    ),
    cue(
        "reply:concedes",
        "pushback weight correction corrections fooled",
        "push-back|another one|more honest|was mine|was off|slipped",
        r"\bpush-?back\b|\bdead weight\b|\bcorrections?\b|\banother one\b|\bmore honest\b|\bwas (?:mine|off)\b"
        r"|\bslipped (?:in|through|my)\b|\bfooled\b",
    ),
    cue("reply:point", "", " point|right to ", r"\b(?:good|great|excellent) point|\bright to (?:question|push|ask)"),
    cue(
        "reply:idea",
        "good great excellent nice exactly yes sure absolutely course certainly yep",
        "",
        r"\b(?:good|great|excellent|nice) (?:idea|question|suggestion|choice|call|thinking)"
        r"|\bexactly\b|^(?:yes|sure|absolutely|of course|certainly|yep)\b",
    ),
    cue(
        "reply:praised",
        "",
        "",
        r"^(?:great|perfect|excellent|awesome|glad|happy to hear|you're welcome|wonderful"
        r"|fantastic)\b",
    ),
    cue("reply:done", "", "", r"^(?:done|committed|pushed|created|added|updated|all (?:set|done|tests)|pr )\b"),
    cue(
        "reply:begins",
        "",
        "",
        r"^(?:i'll (?:help|implement|create|add|start|analy|explore|review|read)|let me (?:start"
        r"|explore|first (?:explore|look|understand|read)))",
    ),
)
THOUGHT = CueTable(
    cue(
        "thought:right",
        "right correct good valid fair",
        "",
        r"\buser (?:is|was|'s) (?:\w+ )?(?:right|correct)\b|\bthey(?:'re| are) (?:\w+ )?(?:right"
        r"|correct)\b|\b(?:good|valid|fair) (?:point|catch)",
    ),
    cue(
        "thought:told",
        "point points report reports noticed notices rejected interrupted corrected clarified doesn does say"
        " says said didn prefers disagrees found sees",
        "pointing|reporting|noting|complain|frustrat|correcting|clarifying|telling|confused|questioning|happy"
        "|annoyed|upset|saying|seeing|getting|still|concerned|disagree|pushing",
        r"\buser (?:is|was) (?:\w+ )?(?:pointing|reporting|noting|complaining|frustrated"
        r"|correcting|clarifying|telling|confused|questioning|not happy|unhappy|annoyed|upset"
        r"|saying|seeing|getting|still|concerned|disagree|pushing)|\buser (?:\w+ )?(?:points? out"
        r"|reports?|noticed|notices|rejected|interrupted|corrected|clarified|doesn't|does not"
        r"|still|says?|said|didn't|prefers|disagrees|found|sees)\b",
    ),
    cue(
        "thought:fault",
        "misunderstood misread missed overlooked forgot mistake wrong broke messed should shouldn didn hadn"
        " incorrectly my",
        "",
        r"\bi (?:\w+ )?(?:misunderstood|misread|missed|overlooked|forgot|made a mistake|was wrong"
        r"|broke|messed|should(?:n't)? have|didn't|hadn't|incorrectly)\b|\bmy (?:mistake|bad"
        r"|error|fault|previous|earlier)\b",
    ),
    cue(
        "thought:wants",
        "want wants asked asks like asking requesting request requests approved confirmed agreed yes chose picked",
        "",
        r"\b(?:user|they) (?:wants?|asked|asks|would like|is asking|are asking|is requesting"
        r"|requests?|approved|confirmed|agreed|said yes|chose|picked)\b",
    ),
)
WORDS = CueTable(
    cue(
        "says:no",
        "",
        "",
        r"^(?:no+|nope|nah|wrong|incorrect|nein|non|não)\b(?! problem| worries| need| rush| idea|"
        r" thanks)",
    ),
    cue("says:no_later", "no nope", "", r"[.!,;] (?:no|nope),? "),
    cue("says:wait", "", "", r"^(?:wait|hold on|hang on|stop|hey)\b"),
    cue("says:hm", "", "", r"^(?:h+m+|ugh+|argh+|uh+|eh+|huh)\b"),
    cue("says:but", "", "", r"^(?:but|however|yet|aber|mais|pero|mas)\b"),
    cue(
        "says:but_later",
        "but however except although though",
        "",
        r"(?<=...)\b(?:but|however|except|although|though)\b",
    ),
    cue(
        "says:more_of_it",
        "",
        "",
        r"^(?:(?:still|a|bit|little|slightly|way|much|even|it's|make it|should be|can we|could we|go) )*"
        r"(?:too \w+|[a-z]{3,}er|more \w+|less \w+|not \w+ enough)(?: please)?[.?!]*$",
    ),
    cue(
        "says:objects",
        "",
        "",
        r"^(?:(?:but|so|and|hm+|ok|wait),? )*(?:isn't|aren't|shouldn't|wouldn't|doesn't|don't|didn't|can't|couldn't"
        r"|why (?:not|isn't|is|are|do|does|did)|do we|are we|how come|where (?:is|are|did)|what about)\b",
    ),
    cue(
        "says:lacks",
        "",
        "no funciona|no aparece|no se ve|no sale|está mal|sigue |falta|没有|不对|不能|不行|失败|不显示|看不到|错了",
        r"no funciona|no aparece|no se ve|no sale|está mal|\bsigue \w+ndo|\bfaltan?\b|没有|不对|不能|不行|失败"
        r"|不显示|看不到|错了",
    ),
    cue(
        "says:still",
        "still noch toujours sigue ainda todavía",
        "まだ|仍|还是",
        r"\b(?:still|immer noch|toujours pas|sigue sin|ainda não|todavía)\b|まだ|还是|仍",
    ),
    cue("says:again", "again", "", r"\bagain\b"),
    cue(
        "says:why",
        "why",
        "",
        r"\bwhy (?:did|do|are|is|does|have|would|isn't|aren't|don't|doesn't|not|adding|the|it"
        r"|this|am|was|were|you)\b",
    ),
    cue(
        "says:not",
        "not cannot never",
        "n't",
        r"\b(?:not|n't|isn't|aren't|doesn't|don't|didn't|won't|can't|cannot|wasn't|never)\b|n't\b",
    ),
    cue(
        "says:not_working",
        "not n never longer nothing broken break breaks broke fail fails failed failing stuck hang hangs",
        "crash|regress",
        r"\b(?:(?:not|n't|never) (?:\w+ ){0,2}(?:work|working|worked|show|showing|see|seeing"
        r"|happen\w*|load\w*|render\w*|find|there|visible|updat\w*|sav\w*|appear\w*|open\w*"
        r"|start\w*|run\w*|pass\w*|compil\w*|build\w*|match\w*|correct|right|true|fixed|done"
        r"|enough|good|used|needed)|no longer|nothing (?:happens|happened|changed|shows)|broken"
        r"|breaks?|broke|fails?|failed|failing|crash\w*|stuck|hangs?|regress\w*)\b",
    ),
    cue(
        "says:i_see",
        "see seeing get getting got",
        "notice",
        r"\bi(?:'m| am)? (?:still |now |only |just |also |can )*(?:see|seeing|get|getting|got"
        r"|notice\w*)\b",
    ),
    cue(
        "says:now_it",
        "now",
        "",
        r"\bnow (?:it|the|i|i'm|there|they|all|when|nothing|we)\b|\b(?:it|this|that|they|is|are)"
        r" now\b",
    ),
    cue(
        "says:you_did",
        "forgot missed broke removed deleted changed added put used did didn haven ignored skipped left made"
        " keep kept are should shouldn need supposed",
        "misunder",
        r"\byou(?:'ve| have|'re| are)? (?:\w+ )?(?:forgot|missed|broke|removed|deleted|changed"
        r"|added|put|used|didn't|did not|haven't|ignored|skipped|left|made|keep|kept|misunder\w*"
        r"|are (?:wrong|missing|using|not)|should|shouldn't|need|were supposed)\b",
    ),
    cue(
        "says:should",
        "should shouldn supposed must needs expected expecting ought",
        "has to|have to",
        r"\b(?:should|shouldn't|supposed to|must|has to|have to|needs to|expected|expecting"
        r"|ought)\b",
    ),
    cue(
        "says:instead",
        "instead rather only just",
        "not the|not a",
        r"\b(?:instead|rather than|not the|not a|only the|just the|only want|just want)\b",
    ),
    cue(
        "says:undo",
        "revert undo roll rollback back restore remove rid take",
        "",
        r"\b(?:revert|undo|roll ?back|put (?:it|that|this|them) back|go back|restore|remove"
        r" (?:that|this|it|the|those|these)|get rid of|take (?:it|that|this) out)\b",
    ),
    cue(
        "says:does_not",
        "",
        "",
        r"^(?:(?:it|this|that|they|the \w+(?: \w+)?) )?(?:still )?(?:doesn't|does not|didn't"
        r"|isn't|is not|aren't|won't|doesnt|isnt|not) (?!bad|sure|yet|now|only|urgent|necess"
        r"|really|that i)\w+",
    ),
    cue(
        "says:dont",
        "don never stop without",
        "do not|no need to",
        r"\b(?:don't|do not|never|stop|no need to|without)\b",
    ),
    cue(
        "says:i_meant",
        "mean meant said told asked wanted thought want thinking talking trying asking",
        "",
        r"\bi (?:mean|meant|said|told|asked|wanted|thought|want|was (?:thinking|talking|trying"
        r"|asking))\b",
    ),
    cue(
        "says:wrong",
        "wrong mistake bug bugs issue issues problem problems error errors weird strange odd off bad ugly"
        " worse inconsistent mess messed missing miss lost gone redundant unnecessary outdated stale flaky"
        " slow",
        "incorrect|confus|duplicate",
        r"\b(?:wrong|incorrect\w*|mistake|bug|bugs|issue|issues|problem|problems|error|errors"
        r"|weird|strange|odd|off|bad|ugly|worse|confus\w*|inconsistent|mess|messed|missing|miss"
        r"|lost|gone|duplicate\w*|redundant|unnecessary|outdated|stale|flaky|slow)\b",
    ),
    cue("says:too", "too way much", "", r"\btoo (?:\w+)\b|\b(?:way|much) (?:more|less|too)\b"),
    cue("says:actually", "actually fact really", "", r"\bactually\b|\bin fact\b|\breally\?"),
    cue(
        "says:sure",
        "sure doubt disagree isn didn",
        "don't think|is that |do we ",
        r"\bare you sure\b|\bi (?:don't think|doubt|disagree|am not sure|'m not sure)\b|\bisn't"
        r" (?:it|that|there)\b|\bis that (?:right|correct|true)\b|\bdo we (?:really )?need\b"
        r"|\bdidn't (?:we|you|i)\b|\bi'm pretty sure\b",
    ),
    cue(
        "says:almost",
        "almost close better decent quite halfway partially partly mostly",
        "",
        r"\b(?:almost|close|better|decent|not quite|halfway|partially|partly|mostly)\b",
    ),
    cue(
        "says:review",
        "severity consider",
        "",
        r"\b(?:low|medium|high|critical) severity\b|\bseverity\b|\bconsider (?:using|adding"
        r"|changing)\b",
    ),
    cue(
        "says:try",
        "tried ran tested checked looked copied restarted rebuilt",
        "",
        r"\bi (?:just |'ve |have |also )*(?:tried|ran|tested|checked|looked|copied|restarted"
        r"|rebuilt)\b",
    ),
    cue(
        "says:works",
        "works working worked fine looks lgtm lg great perfect nice awesome thanks thank love excellent cool job",
        "well done",
        r"\b(?:works|working|worked|it's fine|looks good|lgtm|lg|great|perfect|nice|awesome"
        r"|thanks|thank you|love it|excellent|cool|good job|well done)\b",
    ),
    cue(
        "says:please_do",
        "",
        "",
        r"^(?:please |pls |now |ok(?:ay)?,? |great,? |cool,? |and |then |also |next,? |yes,? "
        r"|alright,? )*(?:add|create|implement|commit|push|run|write|update|build|generate|show"
        r"|give|list|explain|review|check|look|read|open|continue|proceed|go|do|merge|deploy|use"
        r"|make|start|install|rename|refactor|move|test|find|search|let's|lets|set up|setup|try"
        r"|help|tell|draft|summari[sz]e)\b",
    ),
    cue("says:can_you", "can could would will", "", r"\b(?:can|could|would|will) (?:you|we)\b"),
    cue(
        "says:lets",
        "let lets like",
        "i want|we need|we should|we want",
        r"\b(?:let's|lets|let us|i'd like|i would like|i want|we need|we should|we want)\b",
    ),
    cue(
        "says:question",
        "",
        "",
        r"^(?:what|how|which|where|when|who|is|are|does|do|can|could|should|would|will|any|was"
        r"|wie|comment|qué|cómo|como)\b",
    ),
    cue(
        "says:what_if",
        "wonder possible",
        "what if|how about|what about|would it|could it|is there",
        r"\b(?:what if|how about|what about|would it|could it|is it possible|is there|wonder)\b",
    ),
    cue("says:also", "", "", r"^(?:also|and|additionally|one more|another|next|then|now|new|ok now|okay now)\b"),
    cue("says:plan", "", "", r"^implement the following plan\b|^# |^this session is being continued"),
    cue(
        "says:answer",
        "",
        "",
        r"^(?:\d+[.,) ]*|[a-e][.,) ]*|option \w+|both|all|none|first|second|the (?:first|second"
        r"|latter|former)(?: one| option)?|all of (?:them|it|the above))[.!]?$",
    ),
    cue("says:image", "", "[image", r"\[image(?: #?\d+|:)"),
)
CLAIMED = cue(
    "claimed",
    "",
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
    "",
    "try |test |go ahead and|let me know|should |you can |restart |refresh |reload |run |build ",
    r"\b(?:(?:try|test) (?:it|this|that|again|now|the|running)|let me know|should (?:now |all )?(?:work|be|show"
    r"|see|fix|display|have)|you can (?:now )?(?:run|test|try|open|use|see)|go ahead and"
    r"|(?:restart|refresh|reload|re-?run|rebuild) (?:the|your|it|and))\b",
)
UNDOES = cue(
    "undoes",
    "",
    "abandon|checkout |reset|restore|revert|rm |stash|undo",
    r"\b(?:git (?:checkout (?:--|HEAD|\S+ --)|restore|revert|reset|stash)\b|rm (?:-\w+ )*\S"
    r"|jj (?:undo|abandon|restore|op restore))",
)
COMMITS = cue(
    "commits",
    "",
    "commit|describe|gh pr|git ",
    r"\b(?:git (?:commit|push|add|status|diff|log|tag|merge)\b|gh pr\b|jj (?:commit|describe|git push))",
)
ANNOUNCED = cue(
    "announced",
    "",
    "output|log|result|error|trace|console|terminal|message|warning|what i |: …|: $|fails with|failed with|failing with"
    "|crash|ausgabe|fehlermeldung|sortie|erreur|salida|saída|erro|出力|エラー|输出|报错|错误信息",
    r"\b(?:(?:here(?:'s| is| are)|this is|that's|below is|these are|got|get|getting|gives?(?: me)?|gave me|see|seeing"
    r"|shows?|says|said|prints?|printed|throws?|threw|returns?|returned|produces)\b[^.?!]{0,50}\b(?:output|logs?|results?"
    r"|errors?|trace|traceback|console|terminal|message|warnings?|what i (?:got|get|see))\b"
    r"|(?:output|logs?|error|error message|stack ?trace|console|terminal|result)(?: is| was| says| shows)?"
    r": ?(?:$|…|\S)"
    r"|(?:fail(?:s|ed|ing)|crash\w*) with\b"
    r"|(?:hier ist|das ist) die (?:ausgabe|fehlermeldung)|fehlermeldung\b|voici (?:la sortie|l'erreur)"
    r"|esta es la salida|me (?:sale|da) (?:este|el) error|aqui está a saída|deu (?:esse|este) erro)"
    r"|出力(?:は|です)|以下が(?:出力|エラー)|(?:というエラー|エラーが出)|(?:输出|报错|错误信息)(?:如下|是|：)|报错",
)
"""Text that announces an output or an error."""
ALONE = (CLAIMED, TO_TRY, UNDOES, COMMITS, ANNOUNCED)
REASONS = {
    "reply:right": "the reply says you are right",
    "reply:catch": "the reply calls it a good catch",
    "reply:fault": "the reply admits a mistake",
    "reply:sees": "the reply sees the problem",
    "reply:still": "the reply says it still fails",
    "reply:point": "the reply takes the point",
    "reply:fixes": "the reply sets out to fix it",
    "reply:looks_into": "the reply looks into it",
    "reply:understood": "the reply gives way",
    "reply:gives_way": "the reply gives way",
    "reply:concedes": "the reply concedes it",
    "thought:right": "the model thought you were right",
    "thought:told": "the model took it as something pointed out",
    "thought:fault": "the model thought of its own mistake",
    "again:file": "the same file was edited again",
    "again:lines": "the same lines were edited again",
    "again:failed_command": "the command that failed was run again",
    "after:undoes": "something was undone",
    "before:interrupted": "you had interrupted",
    "before:refused": "you had turned down a call",
    "before:declined": "you had declined a plan or a question",
    "before:claimed": "it had been called done",
    "before:to_try": "you had been asked to try it",
    "before:edited": "files had just been changed",
    "before:unanswered": "the prompt before it went without an answer",
    "both:stopped_and_tells": "you had stopped it and said what to do",
    "both:states_after_done": "a bare statement about what had just been done",
    "both:fault_after_done": "a fault was shown after it was called done",
    "both:output_to_try": "output came back from what you were asked to try",
    "both:wrong_and_edited_again": "something was said to be wrong, and the file was edited again",
    "both:review_of_own_work": "a review of what had just been written",
    "phrases:0.3": "its words complain",
    "phrases:0.65": "its words complain",
    "phrases:1.0": "its words complain",
    "says:no": "it begins with a no",
    "says:wait": "it begins with wait or stop",
    "says:hm": "it begins with a hm",
    "says:but": "it begins with a but",
    "says:more_of_it": "it asks for more or less of what was done",
    "says:objects": "its question objects",
    "says:lacks": "it says that something is missing or wrong",
    "both:short_on_same_lines": "a short word, and the same lines were edited again",
    "says:still": "it says “still”",
    "says:again": "it says “again”",
    "says:why": "it asks why",
    "says:does_not": "it says that something does not do what it should",
    "says:not_working": "it says that something does not work",
    "says:i_see": "it tells what is seen",
    "says:you_did": "it tells what you did",
    "says:should": "it says how it should be",
    "says:undo": "it asks to undo or remove something",
    "says:i_meant": "it says what was meant",
    "says:wrong": "it names something wrong",
    "says:sure": "it doubts what was said",
    "says:almost": "it says almost",
    "says:review": "it is a reviewer's finding",
    "says:in_capitals": "it is in capitals",
    "says:announces": "it announces an output or an error",
    "says:try": "you had run it by hand",
    "paste:line": "a line of output is in it",
    "paste:2": "lines of output are in it",
    "paste:4": "lines of output are in it",
    "paste:most": "most of it is output",
    "paste:alone": "it is little but output",
    "paste:prompt": "a terminal was copied",
    "paste:stack": "a stack trace was copied",
    "paste:fault": "the output reports an error",
    "paste:error": "an error is quoted",
    "alike:0.25": "it resembles an earlier prompt",
    "alike:0.4": "it resembles an earlier prompt",
    "alike:0.6": "it says most of an earlier prompt again",
    "alike:0.8": "it says most of an earlier prompt again",
    "alike:same": "it is an earlier prompt word for word",
    "alike:holds": "it is an earlier prompt with words added",
    "alike:complains": "it resembles an earlier prompt and complains",
    "alike:in_vain": "the earlier one went without an answer or was stopped",
    "alike:mostly_in_vain": "the earlier one went without an answer or was stopped",
}
"""What the reasons of a judgement say; features without words are none."""
