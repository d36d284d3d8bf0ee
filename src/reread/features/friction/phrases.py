"""Phrases with which people say that something is not right, each with the words that make it worth trying."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from reread import lazy


class Sign(NamedTuple):
    """A phrase and its weight, which is negative if it speaks against a correction."""

    weight: float
    words: tuple[str, ...]
    source: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled on first use: compiling all of them would take longer than a small sync."""
        return _compiled(self.source)


_compiled = cache(re.compile)


def sign(weight: float, words: str, pattern: str) -> Sign:
    return Sign(weight, tuple(words.split()), pattern)


_OPENING = r"^(?:(?:ok(?:ay)?|so|well|hm+|hey|oh|ah|and|yeah|yes|ugh|man|sorry|please)[,.!… ]+)*"
_CLAUSE = (
    r"(?:^|[.,;:!?…(] ?|\b(?:and|but|because|since|hm+|again|apparently|now|one|man|bruh|so|see|think|like"
    r"|believe|guess"
    r"|seems|mean|as) )"
)
"""Precedes a `you` that begins a clause: `the cases you missed` blames nobody."""
_WORKS_NOT = (
    r"(?:work|exist|seem|look|compile|build|run|match|find|show|belong|do|help|make|see|fit|load|start|open"
    r"|respond|appear|get|have|handle"
    r"|include|update|change|close|pass|apply|aligned|right|correct|true|how|what|it|sorted|centered|visible|enough)"
)

ENGLISH = (
    sign(1.0, "no nope nah noo nooo", _OPENING + r"(?:no+|nope|nah)\b(?! one| more| other| longer| matter)"),
    sign(0.9, "wrong incorrect", _OPENING + r"(?:the |a )?(?:wrong|incorrect)\b"),
    sign(0.9, "not", _OPENING + r"not (?!yet|sure|only|now|urgent|really necessary)"),
    sign(0.5, "but however", _OPENING + r"(?:but|however)\b"),
    sign(0.5, "wait hold hang", r"^(?:wait|hold on|hang on)\b"),
    sign(0.6, "stop", _OPENING + r"stop\b"),
    sign(0.4, "hm hmm hmmm ugh argh", r"^(?:h+m+|ugh+|argh+)\b"),
    sign(0.7, "bruh wtf dude", r"\b(?:bruh|wtf|dude)\b"),
    sign(0.3, "actually", _OPENING + r"actually\b"),
    sign(0.7, "unfortunately sadly", r"\b(?:unfortunately|sadly)\b"),
    sign(
        1.0,
        "wrong incorrect broken not isn't",
        r"\b(?:that'?s|it'?s|this is|that is|this isn't|that isn't|it isn't) (?:\w+ )?(?:wrong|incorrect|broken"
        r"|not (?:right|correct|it|what|how|true|working|good|the)|(?<=isn't )(?:right|correct|it|what|how|true"
        r"|working))\b",
    ),
    sign(
        1.0, "not isn't wasn't", r"\b(?:not|isn't|wasn't) (?:at all )?(?:what|how|where|the one) (?:i|we|our|my|you)\b"
    ),
    sign(1.0, "can't cannot", r"\b(?:can't|cannot|can not) be (?:right|correct|true)\b"),
    sign(0.9, "said told", r"\bi (?:\w+ )?(?:said|told you)\b(?! thank)"),
    sign(0.9, "meant mean", r"\bi (?:actually |of course )?meant?\b(?! (?:to say )?(?:it|well))"),
    sign(
        0.8,
        "asked wanted want need needed",
        _CLAUSE + r"i (?:specifically |explicitly |only |just )?(?:asked|wanted)\b|\bi only (?:need|want|asked)",
    ),
    sign(
        1.0,
        "didn't did never don't",
        r"\b(?:i|we|nobody) (?:(?:really |actually )?(?:didn't|did not|never) (?:ask|want|say|mean|tell)"
        r"|(?:really )?don't want (?:sleeps|any|that|this|it|you|to have|the))|\b(?:nobody|no one) asked",
    ),
    sign(0.7, "thought", r"\bi thought (?:we|you|that|it|this|the)\b"),
    sign(
        1.0,
        "forgot forgotten missed broke broken misunderstood misread ignored overlooked didn't did haven't "
        "hadn't should shouldn't supposed keep kept",
        _CLAUSE + r"you(?:'ve| have)? (?:\w+ )?(?:forgot(?:ten)?|missed|broke|broken|misunderstood|misread|ignored"
        r"|overlooked|didn't|did not|haven't|hadn't|should have|shouldn't have|were supposed|keep|kept)\b",
    ),
    sign(
        0.75,
        "used put placed changed touched added removed deleted translated logged applied skipped dropped "
        "renamed replaced attached committed pushed wrote made left moved overwrote duplicated hardcoded mixed "
        "swapped assumed invented created",
        r"(?:^|[.,;:!?…(] ?|\b(?:and|but|because|since|hm+|again|apparently|now|one|man|bruh|so) )you(?:'ve"
        r"| have)? (?:also |just |only |still |even |again |now )?(?:used|put|placed|changed|touched|added"
        r"|removed|deleted|translated|logged|applied|skipped|dropped|renamed|replaced|attached|committed|pushed"
        r"|wrote|made|left|moved|overwrote|duplicated|hardcoded|hard-coded|mixed|swapped|assumed|invented"
        r"|created)\b",
    ),
    sign(
        0.9,
        "why",
        r"\bwhy (?:on earth |the hell )?(?:did|do|are|have|would) you\b|\bwhy is \w+ (?:still |even )?in there"
        r"|\bthen why\b",
    ),
    sign(1.0, "did", r"\bwhat are you doing\b|\bi (?:meant|said)\b|\bdid you (?:even|really|actually|not)\b"),
    sign(0.8, "sure", r"\bare you sure\b"),
    sign(
        0.9,
        "revert undo rollback restore roll",
        r"\b(?:revert|undo|rollback|roll back|roll (?:it|that|this) back)\b(?! button| command| stack| history"
        r"| function)",
    ),
    sign(
        0.8,
        "back",
        r"\b(?:put|bring|change|turn|switch|set|move) (?:\w+ ){1,3}back\b|\b(?:let's "
        r"|please )?go(?:ing)? back to the (?:previous|old|earlier|first)",
    ),
    sign(0.8, "out", r"\btake (?:it|that|this|them) out\b"),
    sign(
        0.9,
        "still",
        r"\bstill (?:\w+ )?(?:not|doesn't|don't|does|fails?|failing|broken|happens?|happening|same|see|seeing"
        r"|get|getting|have|has|takes?|wrong|shows?|showing|first|there|crash\w*|isn't|aren't|missing|no|hangs?"
        r"|red|complains|says|returns?|points|uses|using)\b",
    ),
    sign(
        0.8,
        "doesn't don't didn't isn't aren't won't can't cannot does do",
        r"\b(?:it|this|that|they|these|which|the \w+(?: \w+)?|code|button|page|test|tests) (?:\w+ )?(?:doesn't"
        r"|don't|didn't|isn't|aren't|won't|can't|cannot|does not|do not) (?:\w+ )?" + _WORKS_NOT + r"\b",
    ),
    sign(
        0.9,
        "doesn't didn't don't does",
        r"\b(?:doesn't|does not|didn't|don't|won't) (?:seem to )?(?:work|do anything|belong|help|compile|build"
        r"|match|exist)\b",
    ),
    sign(
        0.9,
        "fails fail failed breaks break broke broken crashes crash throws hangs",
        r"\b(?:it|this|that|they|which|these|now|tests?|build|page|app) (?:now |just |still |also )?(?:fails?"
        r"|failed|breaks?|broke|crash(?:es|ed)?|throws|hangs|is broken|are broken)\b",
    ),
    sign(0.7, "missing", r"\bmissing\b"),
    sign(
        0.8,
        "nothing effect",
        r"\b(?:does|did|do) nothing\b|\bnothing (?:happens|happened|is|was|gets|shows|changed)\b|\bno effect\b",
    ),
    sign(0.8, "same", r"\bsame (?:thing|error|problem|issue|result|as before)\b"),
    sign(
        0.55,
        "should must has have need needs",
        r"(?<!\bwe )(?<!\bi )\b(?:should|must|has to|have to|needs? to) (?:be|have|not|include|use|return|go"
        r"|come|stay|only|just|work|hit|respect|contain|still)\b",
    ),
    sign(0.4, "should", r"(?<!\bwe )(?<!\bi )\bshould (?:have been|include|not)\b"),
    sign(0.75, "shouldn't supposed mustn't", r"\b(?:shouldn't|mustn't|supposed to)\b"),
    sign(0.5, "has", r"\bit has to\b"),
    sign(0.6, "not", r"[,;(] ?not (?:\w+)"),
    sign(0.35, "not", r"\bnot (?:by|in|at|as|on|from|the|a|an|for|with) "),
    sign(0.7, "wrong incorrect incorrectly wrongly", r"\b(?:wrong|incorrect|incorrectly|wrongly)\b"),
    sign(0.4, "wrong", r"\b(?:the|in the|points the|used the) wrong\b"),
    sign(
        0.6,
        "too",
        r"\b(?:way |much |far )?too (?:slow|fast|long|short|big|small|large|many|much|few|early|late|dark|light"
        r"|bright|wide|narrow|complicated|complex|verbose|strict|loud|tight)\b",
    ),
    sign(0.3, "way far much", r"\b(?:way|far|much) too\b"),
    sign(1.0, "circles keep", r"\b(?:round|around|in) (?:in )?circles\b|\byou keep\b"),
    sign(0.9, "alone", r"\bleave (?:that|it|this|them|\w+) alone\b"),
    sign(0.7, "don't", r"\bdon't (?:touch|use|change|update|modify|do that|remove|delete|mock|push|commit|rename)\b"),
    sign(1.0, "stop", r"\bstop (?:doing|adding|\w+ing)\b"),
    sign(0.6, "there", r"\bthere (?:is|are|was|were|'s) (?:no|already|still)\b|\bthere already (?:is|was)\b"),
    sign(0.7, "doubt", r"\bi doubt\b"),
    sign(0.8, "before previous", r"\b(?:better|fine|right|good) before\b|\bprevious version\b"),
    sign(0.55, "again", r"\b(?:read|look|check|try)\b.{0,40}\bagain\b"),
    sign(0.7, "oops mistake clear", r"\boops\b|\bmy mistake\b|\bi made a mistake\b|\bwasn't clear\b"),
    sign(0.4, "bad fault", r"\bmy (?:bad|fault)\b"),
    sign(
        0.5,
        "now",
        r"^(?:but )?now (?:it'?s|it|the|we|nobody|everything|everyone|all|there) .{0,60}\b(?:always|never|no|not"
        r"|all|as well|two|every|only|too|empty|broken|gone|enabled|disabled)\b",
    ),
    sign(
        0.5,
        "every all",
        r"\b(?:for|to) (?:every|all)\b.{0,30}\bnow\b|\b(?:says?|shows?|returns?|colou?rs?|counts?|includes?"
        r"|changes?) .{0,25}\b(?:for every|all of them|every time|for all)\b",
    ),
    sign(0.5, "always never", r"\bwe (?:always|never)\b|\balways (?:show|ask|use|run|check)\b"),
    sign(
        0.45,
        "use don't can't cannot keep document voice guideline guidelines rule rules convention style",
        r"\bwe (?:use|don't|do not|can't|cannot|keep|document)\b|\bour (?:voice|guidelines?|rules?|convention"
        r"|style)\b",
    ),
    sign(
        0.5,
        "guidelines described agreed discussed stick",
        r"\b(?:per|as per|according to|as described|as agreed|as discussed|stick to)\b",
    ),
    sign(
        0.5,
        "only",
        r"\bonly (?:the|those|these|on|in|for|when|if|\w+s) ?\w* ?(?:please|should|nobody|that|i|\.)|^only \d+\?",
    ),
    sign(0.4, "instead", r"\binstead\b(?! of)"),
    sign(0.5, "doesn't does didn't don't", r"\b(?:it|this|that|they) (?:doesn't|does not|didn't|don't)\b"),
    sign(0.55, "aren't isn't", r"\b(?:the|these|those|your) (?:\w+ ){0,3}(?:aren't|isn't|are not|is not)\b"),
    sign(0.7, "see", r"\bi (?:don't|do not|can't|cannot|still) see\b"),
    sign(0.5, "tried", r"\bi (?:just )?tried\b"),
    sign(0.95, "confused", r"\bconfused\b"),
    sign(0.4, "able", r"\bi was able to\b"),
    sign(0.7, "before", r"\bbefore you (?:go|do|start|commit|push|change|continue)\b"),
    sign(
        0.5,
        "half none some",
        r"\b(?:half|none|some|most) of (?:them|these|the|it|those) .{0,25}\b(?:missing|wrong|real|gone|bugs?"
        r"|broken|not)\b",
    ),
    sign(0.6, "again", r"^(?:and )?again\b"),
    sign(0.4, "even", r"\beven (?:existing|the|though|when|if)\b"),
    sign(0.5, "dead unrelated deprecated", r"\b(?:is|are) (?:dead code|unrelated|deprecated)\b"),
    sign(0.5, "duplicate two twice", r"\bnow (?:we|there|i) (?:have|are) two\b|\btwice\b"),
    sign(
        0.7,
        "unreadable ugly useless terrible horrible unusable worse",
        r"\b(?:unreadable|ugly|useless|terrible|horrible|unusable|worse)\b",
    ),
    sign(0.5, "used already", r"\balready (?:uses?|exists?|was|is|had|have)\b"),
    sign(
        0.6,
        "breaks overlap overlaps stays",
        r"\b(?:breaks|overlaps?|stays (?:grey|gray|red|empty|disabled|the same))\b",
    ),
    sign(0.7, "don't", r"\bi (?:really |actually )?don't want (?!to\b)"),
    sign(0.7, "much many big", r"\bto (?:much|many|big)\b"),
    sign(
        0.7,
        "feasible possible needed necessary useful ideal enough helpful",
        r"(?:it|that|this|they)(?:'s|'re| is| are) not (?:really )?(?:feasible|possible|needed|necessary|useful"
        r"|ideal|enough"
        r"|helpful)\b",
    ),
    sign(0.8, "like", r"\bi (?:really )?don't (?:really )?like (?:it|this|that|how|the)\b"),
    sign(
        0.7,
        "not isn't aren't wasn't",
        r"\b(?:it|this|that|they|which)(?:(?:'s|'re| is| are| was| were) not|"
        r" isn't| aren't| wasn't) (?:being |getting )?(?!need|expect)\w+(?:ed|ing)\b",
    ),
    sign(0.4, "just only", r"\b(?:are|is|'s|'re) (?:just|only) \w+ing\b"),
    sign(0.7, "again", r"\b(?:remove|drop|delete) .{0,40}\bagain\b"),
    sign(0.7, "seeing getting get", r"\bi(?:'m| am)? (?:now |still )?(?:seeing|getting|get) (?!back|that\b|it\b)"),
    sign(0.4, "uh uhh uhm um", r"^(?:uh+m?|um+)\b"),
    sign(0.9, "doing", r"\bwhat are you doing\b"),
)

BENIGN = lazy.pattern(
    r"\b(?:no (?:problem|worries|need|rush|idea|further|more|complaints?|notes?|thanks?|thank you|longer|doubt"
    r"|way|hurry|changes|questions?|big deal"
    r"|objections?|reason|matter what|code|tests? exist|requirement|other)|not (?:bad|sure|a problem|yet|only"
    r"|urgent|necessar(?:y|ily)|that i know|now|today)"
    r"|nothing (?:is wrong|wrong|else|fancy|crazy|exploded|more|to add)|never ?mind|isn't (?:a|any) problem"
    r"|don't worry|why not|don't (?:forget|stop|need|bother|think|know)|do not forget"
    r"|whether or not|or not|if not|no, (?:i'll|thanks|thank)|can't wait|couldn't be better|didn't know"
    r"|no one else|is there no|did(?:n't)? (?:that|it|this) (?:break|fail)"
    r"|keine? (?:problem|sorge|ahnung|eile|weiteren?)|nicht (?:schlecht|nötig|schlimm)|nein,? danke"
    r"|pas (?:mal|de souci|de problème|grave|besoin|mauvais)|non,? merci|rien d'autre|no (?:hay problema"
    r"|pasa nada|te preocupes|hace falta)|sin problema"
    r"|não (?:tem problema|precisa|se preocupe|faz mal)|sem problema|nada mal)\b"
)
"""Negations with a positive meaning; removed before phrases are searched for."""

PRAISE = lazy.pattern(
    r"^(?:(?:ah|oh|wow|haha|lol|yes|yep|yeah|that'?s|looks?|this is|it is|very|really|much|so|sehr|très|muy"
    r"|muito|all|there we)[ ,!]+)*"
    r"(?:thanks?|thank you|thx|ty|cheers|great|perfect|nice(?:ly)?|good|lovely|cool|awesome|excellent|amazing"
    r"|brilliant|works?|working|fine|better|beautiful|sweet|sick"
    r"|exactly|correct|agreed|right|true|lg(?:tm)?|ok(?:ay)? (?:good|great|cool|thanks|that|commit)|done"
    r"|ship it|makes sense|go|sounds|more like it"
    r"|danke|super|prima|genau|gut|perfekt|passt|klasse|toll|merci|parfait|bien|génial|gracias|perfecto|genial"
    r"|vale|obrigad[oa]|ótimo|perfeito|bom|boa)\b"
)
QUESTION = lazy.pattern(
    r"^(?:(?:and|so|ok(?:ay)?|hm+|but|also|great|thanks|cool|one question|quick question|wait)[,.: ]+)*"
    r"(?:what|how|which|where|when|who|is|are|was|were|can|could|does|do|did|don't|doesn't|should|shouldn't"
    r"|would|will|may|isn't|aren't|why not|any"
    r"|was|wie|welche\w*|wo|wann|wer|ist|sind|kann|kannst|könntest|est-ce|qu'est|comment|quel\w*|où|qué|cómo"
    r"|cuál|dónde|puedes|o que|como|qual|pode)\b"
)
BY_OTHERS = lazy.pattern(
    r"\b(?:someone|somebody|users?|customers?|people|colleagues?|reviewers?|copilot|they|he|she)(?: \w+)? "
    r"(?:reported|said|says|complained|thinks|mentioned|claims?|wrote)\b"
)
"""What somebody else found wrong is news, not a correction."""
REPROACH = lazy.pattern(
    r"\bwhat are you doing\b|\bi (?:meant|said)\b|\bdid you (?:even|really|actually|not)"
    r"|\bwhy (?:on earth )?(?:did|do|are|have) you"
    r"|\bare you sure"
    r"|\bthen why|\bundo\b|\brevert\b"
)
OWN_SLIP = lazy.pattern(
    r"\boops\b|\bmy (?:mistake|bad|fault)\b|\bi made a mistake\b|\bwasn't clear\b|\bmein fehler\b|\bmi error\b"
    r"|\bma faute\b"
)
ACKNOWLEDGED = lazy.pattern(
    r"^(?:(?:i'll do|i will do|let me|ok(?:ay)?|yes|yep|y|yeah|sure|fine|go(?: ahead| on)?|continue|proceed"
    r"|do it|resume|carry on"
    r"|keep going|lg|lgtm|weiter|ja|continue|oui|sí|si|sim|vas-y|sigue|はい|続けて|继续|好的?)\b[,.! ]*)+"
)


GERMAN = (
    sign(1.0, "nein nee nö", r"^(?:nein|nee|nö)\b"),
    sign(0.9, "falsch falsche falschen falscher", r"\bfalsch\w*\b"),
    sign(1.0, "stimmt passt", r"\b(?:stimmt|passt) (?:\w+ ){0,3}(?:nicht|noch nicht)\b"),
    sign(
        0.9,
        "nicht",
        r"\b(?:das|so) (?:war|ist|wollte ich|hatte ich) (?:\w+ ){0,2}nicht\b|\b(?:funktioniert|geht|klappt|läuft"
        r"|kompiliert|findet) (?:\w+ ){0,2}nicht\b",
    ),
    sign(0.9, "immer weiterhin", r"\b(?:immer noch|weiterhin|noch immer)\b"),
    sign(1.0, "vergessen übersehen missverstanden", r"\b(?:vergessen|übersehen|missverstanden|falsch verstanden)\b"),
    sign(
        1.0,
        "gesagt wollte meinte gemeint gebeten",
        r"\bich (?:habe? |hatte )?(?:doch |dir |schon )*(?:gesagt|gebeten)|\bich (?:wollte|meinte)\b"
        r"|\bdas wollte ich\b|\bnicht gemeint\b",
    ),
    sign(0.8, "fehlt fehlen", r"\b(?:fehlt|fehlen)\b"),
    sign(0.9, "rückgängig zurück", r"\brückgängig\b|\b(?:mach|nimm|setz)\w* (?:\w+ ){0,3}zurück\b"),
    sign(0.8, "leider", r"\bleider\b"),
    sign(0.9, "warum wieso", r"\b(?:warum|wieso) (?:hast|machst|hat) du\b"),
    sign(0.6, "nicht", r", nicht \w+"),
    sign(0.8, "mehr", r"\b(?:nichts|gar nichts|nicht) mehr\b"),
    sign(0.6, "sondern", r"\bsondern\b"),
    sign(0.5, "soll sollte sollen", r"\b(?:soll|sollte|sollen|sollten) (?:\w+ ){0,3}(?:bleiben|sein|nicht)\b"),
    sign(0.6, "nur", r"\bnur (?:die|der|das|den|auf|in)\b"),
)

FRENCH = (
    sign(1.0, "non", r"^non\b(?! merci)"),
    sign(1.0, "pas c'est", r"\bce n'est pas (?:\w+ ){0,2}(?:ça|ce que|bon|correct|juste|cela)"),
    sign(
        0.9,
        "faux fausse incorrect mauvais mauvaise erroné",
        r"\b(?:faux|fausse|incorrecte?|erronée?)\b|\ble mauvais|\bla mauvaise",
    ),
    sign(1.0, "oublié oubliée manqué", r"\b(?:tu as|t'as|vous avez) (?:\w+ )?(?:oublié|manqué|cassé|ignoré|supprimé)"),
    sign(
        1.0,
        "dit demandé voulais",
        r"\bje (?:t'|vous )?(?:ai|avais|l'ai) (?:\w+ )?(?:dit|demandé)|\bje voulais\b|\bj'ai (?:dit|demandé)\b"
        r"|\bje t'avais\b",
    ),
    sign(
        0.9,
        "toujours encore",
        r"\b(?:toujours pas|marche toujours|encore (?:faux|cassé)|ne (?:\w+ )?(?:marche|fonctionne) (?:toujours "
        r"|plus )?pas)\b",
    ),
    sign(0.9, "marche fonctionne", r"\bne (?:marche|fonctionne)nt? (?:\w+ )?(?:pas|plus)\b"),
    sign(0.9, "n'as", r"\btu n'as pas\b"),
    sign(0.9, "annule reviens rétablis remets", r"\b(?:annule|reviens|rétablis|remets)\b"),
    sign(0.8, "manque manquent malheureusement", r"\b(?:il manque|manquent?|malheureusement)\b"),
    sign(0.8, "pourquoi", r"\bpourquoi (?:as-tu|tu as|est-ce que tu)\b"),
    sign(0.6, "pas", r", pas \w+"),
    sign(0.5, "devrait doit fallait", r"\b(?:devrait|doit|il fallait)\b"),
)

SPANISH = (
    sign(1.0, "no", r"^no[,.] "),
    sign(
        0.9, "mal incorrecto incorrecta equivocado equivocada", r"\bestá(?:n)? mal\b|\b(?:incorrect|equivocad)[oa]s?\b"
    ),
    sign(1.0, "eso esto", r"\b(?:eso|esto|así) no (?:es|era)\b|\bno es (?:lo que|eso|así|correcto)\b"),
    sign(1.0, "olvidaste olvidado faltó", r"\b(?:te )?olvidaste\b|\bhas olvidado\b|\bte faltó\b"),
    sign(
        1.0,
        "dije pedí quería",
        r"\b(?:te|ya te|le) (?:dije|pedí|había dicho)\b|\blo que (?:te )?pedí\b|\bquería (?:decir|que)\b",
    ),
    sign(0.9, "sigue siguen todavía aún", r"\b(?:sigue|siguen) (?:sin|fallando|igual|mal)\b|\b(?:todavía|aún) no\b"),
    sign(0.9, "funciona funcionan", r"\bno funcionan?\b"),
    sign(
        0.8,
        "falta faltan desafortunadamente lamentablemente",
        r"\b(?:falta|faltan|desafortunadamente|lamentablemente)\b",
    ),
    sign(0.9, "deshaz revierte vuelve", r"\b(?:deshaz|deshacer|revierte|vuelve a (?:poner|la versión))\b"),
    sign(0.8, "qué", r"\bpor qué (?:has|lo has|hiciste|borraste|cambiaste)\b"),
    sign(0.5, "debe debería", r"\b(?:debe|debería) (?:ser|estar|tener|haber)\b"),
    sign(0.6, "no", r", no \w+"),
)

PORTUGUESE = (
    sign(0.9, "não", r"^não\b"),
    sign(0.9, "errado errada incorreto", r"\best[áa] errad[oa]\b|\berrad[oa]\b|\bincorret[oa]\b"),
    sign(1.0, "não", r"\bnão (?:é|era|foi) (?:isso|o que|assim|bem)\b"),
    sign(1.0, "esqueceu esqueceste faltou", r"\b(?:esqueceu|esqueceste|faltou)\b"),
    sign(
        1.0,
        "disse pedi queria",
        r"\beu (?:te |já |lhe )?(?:disse|pedi)\b|\bjá (?:te )?disse\b|\bqueria (?:dizer|que)\b",
    ),
    sign(
        0.9, "ainda continua continuam", r"\bainda não\b|\bcontinuam? (?:sem|com|a dar|igual|falhando|desativad|errad)"
    ),
    sign(0.9, "funciona funcionam", r"\bnão funcionam?\b"),
    sign(
        0.9, "desfaça desfaz desfazer reverta volte", r"\b(?:desfaça|desfaz|desfazer|reverta|volte (?:à|para|atrás))\b"
    ),
    sign(0.8, "falta faltam infelizmente", r"\b(?:falta|faltam|infelizmente)\b"),
    sign(0.5, "deveria deve", r"\b(?:deveria|deve) (?:ser|estar|ter)\b"),
    sign(0.8, "ninguém", r"\bagora ninguém\b"),
)

WITHOUT_SPACES = (
    sign(1.0, "", r"^(?:いや|いえ|違|ちが)|違い?ます|違う|そうじゃな|そうではな|じゃなくて|ではなく"),
    sign(0.9, "", r"間違(?:って|い|え)|おかしい(?!ところはない)|正しくな|ダメです|だめです"),
    sign(0.9, "", r"元に戻|取り消|やり直"),
    sign(
        0.9,
        "",
        r"まだ(?:.{0,12})(?:ない|ません|まま|エラー|同じ)|直って(?:い)?(?:ない|ません)|動か(?:ない|ません)|動きません|消えて",
    ),
    sign(0.8, "", r"忘れ(?:て|た|ています)|抜けて(?:い)?(?:ます|る)|足りな"),
    sign(0.8, "", r"しないで(?!も)|なぜ.{0,15}(?:した|変え|消し)|と(?:言|い)った(?:はず|のに|でしょ)|頼んでいな"),
    sign(1.0, "", r"^(?:不对|不是|错|不行|不要)|不对|错了|有错|弄错|搞错|不是(?:这样|这个|我)"),
    sign(0.9, "", r"还是(?:不|没|一样|报错)|仍然|依然|不行|没有(?:反应|效果|变化)|不起作用|不工作|没反应"),
    sign(0.9, "", r"(?:忘了|忘记|漏了|漏掉|遗漏|缺少|少了)"),
    sign(0.9, "", r"我(?:说|要|指|想要?)的(?:是|不是)|我(?:说过|没让|没有让)|谁让你|为什么(?:要|把|你)"),
    sign(0.9, "", r"撤销|回滚|恢复(?:原|成|到|回)|改回"),
    sign(0.5, "", r"不要(?:改|动|删|用)|应该是|而不是|，不是"),
)
ANY_WITHOUT_SPACES = lazy.pattern("|".join(each.source for each in WITHOUT_SPACES))
"""One search that rules out most prompts: they contain none of these."""
BENIGN_WITHOUT_SPACES = lazy.pattern(
    r"問題(?:ない|ありません|なし)|大丈夫|没(?:有)?问题|不错|没关系|不客气|可以了|不用(?:了|谢)|かまいません"
)
QUESTION_WITHOUT_SPACES = lazy.pattern(r"(?:ですか|ますか|でしょうか|吗|呢)[？?。]?$")

OTHERS = (*GERMAN, *FRENCH, *SPANISH, *PORTUGUESE)
