"""The same in other languages: fewer phrases, the ones that are said most."""

from __future__ import annotations

import re

from .phrases import sign

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
        0.9,
        "mal incorrecto incorrecta equivocado equivocada",
        r"\bestá(?:n)? mal\b|\b(?:incorrect|equivocad)[oa]s?\b",
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
        0.9,
        "ainda continua continuam",
        r"\bainda não\b|\bcontinuam? (?:sem|com|a dar|igual|falhando|desativad|errad)",
    ),
    sign(0.9, "funciona funcionam", r"\bnão funcionam?\b"),
    sign(
        0.9,
        "desfaça desfaz desfazer reverta volte",
        r"\b(?:desfaça|desfaz|desfazer|reverta|volte (?:à|para|atrás))\b",
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
ANY_WITHOUT_SPACES = re.compile("|".join(each.source for each in WITHOUT_SPACES))
"""One look for most prompts, which have none of them."""
BENIGN_WITHOUT_SPACES = re.compile(
    r"問題(?:ない|ありません|なし)|大丈夫|没(?:有)?问题|不错|没关系|不客气|可以了|不用(?:了|谢)|かまいません"
)
QUESTION_WITHOUT_SPACES = re.compile(r"(?:ですか|ますか|でしょうか|吗|呢)[？?。]?$")

OTHERS = (*GERMAN, *FRENCH, *SPANISH, *PORTUGUESE)
