"""What in a text is secret, and of which kind: by shape, by the name before it, or by the command around it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import filterfalse
from typing import NamedTuple

from .shapes import (
    ADDRESS,
    BEHIND,
    KINDS,
    OPTIONAL,
    TOKENS,
    WALLET,
    SecretKind,
    is_excluded,
    is_gibberish,
    is_key,
    is_password,
    is_random,
)

__all__ = [
    "ADDRESS",
    "VERSION",
    "FoundSecret",
    "find",
    "is_assigned",
    "is_name_of_secret",
    "is_plain_id",
    "kind_of_name",
    "may_be_coloured",
]


# ruff: noqa: E501, S105, SIM905  a row is a line, and names of secrets are none


_PASSWORD = (
    r"pass(?:word|wd|phrase|code|wort|wrd|)|passe|pwd|pw|kennwort|contrase(?:ñ|n|\\u00f1)a|senha|wachtwoord|lösenord|losenord|adgangskode|passord|has[łl]o|heslo"
    r"|parola?|[şs]ifre|salasana|jelsz[óo]|пароль?|密[码碼]|口令|パスワード|비밀번호|암호|psk|otp|totp|pin|κωδικός|סיסמה|كلمة المرور|mật khẩu"
)
WORDS = (
    "pass pwd pw secret token key salt cred auth otp pin psk pat sid dsn jwt sas cookie mnemonic seed phrase connection license"
    " kennwort contrase senha wachtwoord losenord adgangskode haslo heslo parol sifre salasana jelszo schl parola"
).split()
OTHER_WORDS = "lösenord Lösenord hasło Hasło şifre Şifre jelszó Jelszó парол Парол ПАРОЛ contraseña 密码 密碼 口令 パスワード 비밀번호 암호 κωδικός סיסמה المرور khẩu ключ токен 令牌 密钥 トークン キー schlüssel Schlüssel".split()
_TAIL = (
    r"(?:[_.-]?(?:base64|b64|hex|value|val|prod|production|dev|test|staging|live|old|new|plain|plaintext|text|str|string|enc|base|data|admin|root|user|db|v?\d{1,3}|s|en)"
    r"(?![A-Za-z]))?"
)
_END = re.compile(_TAIL, re.IGNORECASE)
_NAME = re.compile(
    rf"(?P<password>(?:{_PASSWORD})(?![a-zà-ž]))|(?P<key>secret|token|jeton|key|salt|cred(?:ential)?s?|auth|mnemonic|seed|phrase|pat|sid|sas|jwt|dsn"
    rf"|connection[_-]?string|schlüssel|schluessel|ключ|токен|令牌|密钥|トークン|キー)(?![a-z])",
    re.IGNORECASE,
)
_Q = r"(?:\\*[\"'`]|&quot;|&#3[49];|%22|[“”‘’«»])"
_VALUE = rf"(?:(?P<quote>{_Q}{{1,3}})(?P<quoted>(?:(?!(?P=quote))[^\n]){{4,1000}}?)(?P=quote)|(?P<bare>[^\s\"'`\\“”«»]{{4,4000}}))"
_STRONG = re.compile(
    rf"{_TAIL}(?:{_Q}|[\])}}*_ \t]|\s\|){{0,5}}"
    r"(?::[ \t]*[A-Za-z][\w\[\]|. ]{0,28}?(?=[ \t]*=))?"
    rf"[ \t]*(?:=>|:=|->|={{1,3}}|[:：＝]|%3[DdAa])[ \t]*[*]{{0,2}}[ \t]*(?:\|[ \t]*)?(?:!{{1,2}}[\w:-]+[ ]|\{{[ ]?{_Q}?value{_Q}?[ ]?[:=][ ]?|[bruf]{{1,2}}(?=[\"'])|@(?=[\"']))?{_VALUE}",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    rf"{_TAIL}{_Q}[\s,{{]{{1,40}}{_Q}?(?:value|default|content|body){_Q}?[ ]?[:=][ ]?{_VALUE}"
    rf"|{_TAIL}\s{{1,40}}value[ ]?:[ ]?{_VALUE.replace('quote', 'quote2').replace('bare', 'bare2').replace('quote2d', 'quoted2')}",
    re.IGNORECASE,
)
"""`name="DB_PASSWORD" value="…"`, and the same over two lines of YAML."""
_ARGUMENT = re.compile(
    rf"{_TAIL}(?P<close>{_Q})[ ]?,[ ]?(?P<quote>{_Q})(?P<quoted>(?:(?!(?P=quote))[^\n]){{4,400}}?)(?P=quote)",
    re.IGNORECASE,
)
_ELEMENT = re.compile(
    rf"{_TAIL}(?:{_Q})?(?:[ ][^<>\n]{{0,80}})?>[ \t]*(?:<!\[CDATA\[)?(?P<bare>[^<>\s\]]{{4,1000}})(?:\]\]>)?[ \t]*</",
    re.IGNORECASE,
)
_SPACED = re.compile(
    rf"{_TAIL}(?:[ ]\([^)\n]{{1,30}}\))?{_Q}?"
    r"(?:[ \t]+(?:is|was|ist|war|lautet|est|es|è|é|jest|är|er|to|set to|now|wäre|будет|as|=|:|-)(?:[ \t]*:)?[ \t]+|[ \t]*[:是为は为：]+[ \t]*|[ \t|*`]*[ \t|*`][ \t|*`]*)"
    rf"{_VALUE}",
    re.IGNORECASE,
)
_SAID = re.compile(
    rf"{_TAIL}[ ](?:for|of|to|on|in|für|von|pour|para|per|de|du)(?:[ ][\w.@'/-]{{1,24}}){{1,5}}?[ ]?(?:[ ](?:is|was|ist|lautet|est|es|è|=)|:)[ ]+{_VALUE}",
    re.IGNORECASE,
)
"""`the password for the database is …`"""
_COMMANDS = re.compile(
    r"(?:\b(?:ENV|ARG|setx|setenv|export|set|add|-gx|-x|login|PASSWORD|identified by)[ \t]+[\"']?[\w.:/-]{0,60}|(?<![\w-])(?:--?|/)[\w.:-]{0,40}?)$",
    re.IGNORECASE,
)
"""Before a name, what makes of the next word its value."""
_KEY_OF = tuple(
    """api access secret private auth encryption encrypt signing sign master account shared license licence app application deploy service admin root hmac cipher
    crypto preshared storage host subscription consumer server write ingest insert client user webhook decrypt decryption jwt token recovery backup rest project live prod
    function integration authentication aes maps publishing security seed restricted""".split()
)
"""What stands before `key` where that is a secret."""
_NO_KEY_OF = tuple(
    """public cache primary foreign sort partition routing session idempotency hot shortcut dedupe lookup group object storage composite natural row hash map dict query react
    next page cancel cancellation csrf xsrf sync continuation max min input output total num count registry event config state feature translation i18n column field""".split()
)
_BEFORE = 24
"""Letters before a name that tell of which sort it is."""
_WHOLE = re.compile(r"[\s\"'`]*(?:export\s+|set\s+|\$env:|[-+]\s*|\d+[→:\t]\s*|\w*\.env\w*:\d+:)?[\w.-]*$")
"""From the beginning of a line to a name: the rest of such a line is the value."""
_CUT = re.compile(r"[,;(){}<>\[\]|&]")
_PLAIN_QUOTE = re.compile(r"[“”‘’«»]|&quot;.*|&#3[49];.*|%22.*|%26.*")
_PHRASE = re.compile(r"(?:[a-z]{3,8}[ ,]+){11}[a-z]{3,8}(?:(?:[ ,]+[a-z]{3,8}){12})?(?![a-z ]*[a-z]{9})")


class Assigned(NamedTuple):
    name: str
    start: int
    end: int
    value: str


def assignments(text: str, lower: str, words: set[bytes]) -> Iterator[Assigned]:
    """What a text assigns to names of secrets, and is one; `words` are those of the text, in small letters."""
    for word in words:
        for offset in _names_of(word):
            spelled = word.decode()
            at = lower.find(spelled)
            while at >= 0:
                found = _assigned_at(text, at + offset)
                if found is not None:
                    yield found
                at = lower.find(spelled, at + len(spelled))
    for name in OTHER_WORDS if _has_foreign(text) else ():
        at = text.find(name)
        while at >= 0:
            found = _assigned_at(text, at)
            if found is not None:
                yield found
            at = text.find(name, at + len(name))


_FOREIGN = re.compile(
    "[" + "".join(sorted({letter for word in OTHER_WORDS for letter in word if not letter.isascii()})) + "]"
)
"""Letters of words that no ASCII word has: arrows and dashes alone are no reason to look for them."""
_FOREIGN_BYTES = frozenset(letter.encode()[:1] for word in OTHER_WORDS for letter in word if not letter.isascii())
"""What such letters begin with in UTF-8, and arrows, dashes and emoji do not; a byte is found ten times as fast."""


def _has_foreign(text: str) -> bool:
    if text.isascii():
        return False
    encoded = text.encode("utf-8", "surrogatepass")
    return any(byte in encoded for byte in _FOREIGN_BYTES) and _FOREIGN.search(text) is not None


_BORING: set[bytes] = set()
"""Words that are known to hold no name of a secret and to hint at none: nearly all, after the first texts."""
_MOST_BORING = 200_000


def _names_of(word: bytes) -> tuple[int, ...]:
    found = _names_in(word)
    if not found and len(_BORING) < _MOST_BORING and word not in _GATES:
        _BORING.add(word)
    return found


def _names_in(word: bytes) -> tuple[int, ...]:
    """Where in a word names of secrets begin; for most words nowhere."""
    if _SPOT.search(word) is None:
        return ()
    text = word.decode()
    return tuple(
        at
        for each in WORDS
        if (at := text.rfind(each)) >= 0
        and (match := _NAME.match(text, at))
        and len(text) - match.end() < _LONGEST_TAIL
    )


_SPOT = re.compile("|".join(WORDS).encode())
_LONGEST_TAIL = 12


def _assigned_at(text: str, at: int) -> Assigned | None:
    name = _NAME.match(text, at)
    if name is None:
        return None
    before = text[max(0, at - 64) : at]
    is_pass = name["password"] is not None
    word = name[0].lower()
    if not _is_name(word, before, is_capital=name[0].isupper()):
        return None
    if word in ("mnemonic", "seed", "phrase"):
        return _phrase(text, name.end(), before)
    full = before[len(before.rstrip("".join(_NAME_LETTERS))) :] + name[0] if before[-1:] in _NAME_LETTERS else name[0]
    for pattern in _forms(text, name.end()):
        match = pattern.match(text, name.end())
        if match is None:
            continue
        is_sure = pattern is not _SAID and (pattern is not _SPACED or _COMMANDS.search(before) is not None)
        found = _value(text, match, at, full, is_pass=is_pass, is_sure=is_sure)
        if found is not None:
            return found
    return None


_NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_SHORT_VALUE = frozenset(
    {
        "pass",
        "passe",
        "pw",
        "pin",
        "pat",
        "sid",
        "sas",
        "otp",
        "totp",
        "psk",
        "jwt",
        "dsn",
        "auth",
        "parol",
        "salt",
        "phrase",
        "seed",
        "cred",
        "creds",
        "key",
    }
)


def _is_name(word: str, before: str, *, is_capital: bool) -> bool:
    """Whether a word is the end of a name of a secret: `key` is only behind some others, `pin` only by itself."""
    last = before[-1:]
    if word in ("key", "キー", "schlüssel", "schluessel"):
        if _ends_with(before, _NO_KEY_OF, signs=1):
            return False
        return _ends_with(before, _KEY_OF, signs=2) or (is_capital and last == "_") or word != "key"
    if (
        word in _SHORT_VALUE
        and last.isalpha()
        and is_capital == last.isupper()
        and before[-4:].lower() not in ("user", "stor", "tore", "dmin", "pgdb", "data")
    ):
        return word in ("pass", "auth") and before[-6:].lower().endswith(
            ("user", "db", "store", "key", "admin", "smtp", "mail", "ssh", "http", "root", "become", "oauth")
        )
    if word == "token" and _ends_with(before, _NO_KEY_OF, signs=1):
        return False
    return not (word == "sid" and last != "_")


def _ends_with(before: str, words: tuple[str, ...], *, signs: int) -> bool:
    """Whether one of the words ends a text, but for so many signs; a pattern of them takes twenty times as long."""
    end = before[-_BEFORE:].removesuffix("\n").lower()
    while not end.endswith(words):
        if not signs or not end.endswith((" ", "_", ".", "-")):
            return False
        end, signs = end[:-1], signs - 1
    return True


def _forms(text: str, end: int) -> Iterator[re.Pattern[str]]:
    yield _STRONG
    if ">" in text[end : end + 90]:
        yield _ELEMENT
    following = text[end : end + 48]
    if "," in following[:12]:
        yield _ARGUMENT
    if "value" in following.lower() or "default" in following.lower():
        yield _BESIDE
    if following[:1] == " ":
        yield _SAID
    yield _SPACED


def _value(text: str, match: re.Match[str], at: int, name: str, *, is_pass: bool, is_sure: bool) -> Assigned | None:
    groups = match.groupdict()
    for group in ("quoted", "quoted2"):
        value = groups.get(group)
        if value and _is_secret(name, value, is_pass=is_pass, is_quoted=True, is_sure=is_sure):
            return Assigned(name, match.start(group), match.end(group), value)
    for group in ("bare", "bare2"):
        value = groups.get(group)
        if value is None:
            continue
        for candidate in _candidates(text, value, at, match.start(group)):
            if _is_secret(name, candidate, is_pass=is_pass, is_quoted=False, is_sure=is_sure):
                return Assigned(name, match.start(group), match.start(group) + len(candidate), candidate)
    return None


def _candidates(text: str, value: str, at: int, start: int) -> Iterator[str]:
    """All up to the end of a line that assigns nothing else, else up to what ends a value in code."""
    app = text[start : start + 19]
    if len(app) == 19 and app[4::5] == "   ":
        yield app
    value = _PLAIN_QUOTE.sub("", value)
    line = text[max(0, text.rfind("\n", 0, at) + 1) : at]
    end = start + len(value)
    is_last = end >= len(text) or text[end] == "\n" or text.startswith(("\\n", "\\r"), end)
    if (
        is_last
        and len(line) < 100
        and _WHOLE.fullmatch(line)
        and not value.endswith((",", ")", "}", "]", ";", ">", "|"))
    ):
        yield value
    cut = _CUT.search(value)
    yield value[: cut.start()].rstrip(".,;:") if cut is not None else value.rstrip(".,;")


def _phrase(text: str, end: int, before: str) -> Assigned | None:
    """The twelve or twenty-four words that give back a wallet."""
    match = _PHRASE.search(text, end, end + 260)
    if match is None or match.start() - end > 16 or len(set(match[0].split())) < 10:
        return None
    return Assigned(before[-12:] + "phrase", match.start(), match.end(), match[0])


_NO_TOKEN = re.compile(r"(?:public|csrf|xsrf|next|page|cancel|continuation|author|_id|sha)", re.IGNORECASE)


def _is_secret(name: str, value: str, *, is_pass: bool, is_quoted: bool, is_sure: bool) -> bool:
    if is_pass or name.lower().endswith("secret"):
        if is_sure:
            return is_password(value, is_quoted=is_quoted, least=6)
        return is_password(value, is_quoted=is_quoted, least=8) and _has_both(value)
    if not is_sure and (not _has_both(value) or ("/" in value and not is_gibberish(value))):
        return False
    return is_key(value, is_quoted=is_quoted, least=16) and not _NO_TOKEN.search(name)


def _has_both(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def is_assigned_to(name: str, value: str) -> bool:
    """Whether the whole value of a field is a secret by the field's name."""
    meant = _meant_by(name)
    return meant is not None and _is_secret(meant[0], value, is_pass=meant[1], is_quoted=True, is_sure=True)


@lru_cache(maxsize=20_000)
def _meant_by(name: str) -> tuple[str, bool] | None:
    """The name without what is added to it, and whether it means a password; None: no secret."""
    lower = name.lower()
    for word in WORDS if name.isascii() else [*WORDS, *OTHER_WORDS]:
        at = lower.rfind(word)
        match = _NAME.match(name, at) if at >= 0 else None
        if match is None or not _END.fullmatch(name, match.end()):
            continue
        if _is_name(match[0].lower(), name[:at], is_capital=match[0].isupper()):
            return name[: match.end()], match["password"] is not None
    return None


# ruff: noqa: E501, SIM905  a row is a line


Row = tuple[str, str, str]

_V = r"[\"']?(?P<s>(?<=\")[^\"\n]{4,200}(?=\")|(?<=')[^'\n]{4,200}(?=')|(?<![\"'])[^\s\"'`|;]{4,200})"
"""A word of a command line, in quotes or not."""
_REST = r"\b[^\n|;&]{0,200}?"

PASSWORDS: tuple[Row, ...] = (
    (
        "password of a database",
        "mysql mysqldump mysqladmin mysqlimport mysqlsh mariadb mycli xtrabackup",
        rf"\b(?:mysql\w*|mariadb[\w-]*|mycli|xtrabackup){_REST}\s-p(?![ ]){_V}",
    ),
    (
        "password of a database",
        "mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat",
        rf"\bmongo\w*{_REST}\s-p[ ]?{_V}",
    ),
    ("password of a database", "sqlcmd bcp isql tsql", rf"\b(?:sqlcmd|bcp|isql|tsql|osql){_REST}\s-P[ ]?{_V}"),
    (
        "password of a database",
        "redis valkey keydb",
        rf"\b(?:redis-\w+|valkey-cli|keydb-cli){_REST}\s(?:-a|--pass)[ ]{_V}",
    ),
    (
        "password of a database",
        "sqlplus expdp impdp rman",
        rf"\b(?:sqlplus|expdp|impdp|rman)\s(?:-\S+\s)*[\"']?\w+/{_V.replace(chr(34) + 's', 's')}(?=@)",
    ),
    (
        "password of a database",
        "clickhouse cqlsh influx",
        rf"\b(?:clickhouse-client|cqlsh|influx){_REST}\s-?-p(?:assword)?[ =]{_V}",
    ),
    ("password of a command", "sshpass", rf"\bsshpass\s+(?:-v\s+)?-p[ ]?{_V}"),
    (
        "password of a command",
        "plink pscp psftp putty winscp kitty",
        rf"\b(?:plink|pscp|psftp|putty|winscp|kitty)(?:\.exe|\.com)?{_REST}\s-(?:pw|password)[ =]{_V}",
    ),
    (
        "password of a command",
        "login",
        rf"\b(?:docker|podman|nerdctl|buildah|skopeo|helm|az|oc|oras|crane|cf|heroku|argocd|ibmcloud|twine|vault|bw|cargo|doctl|snyk|railway|flyctl|supabase){_REST}login\b[^\n|;&]{{0,200}}?\s-(?:p|t)[ ]{_V}",
    ),
    (
        "token of a command",
        "login auth authtoken",
        r"\b(?:cargo|vault|snyk|infisical|wrangler|ngrok|doctl|modal|wandb|huggingface-cli|hf)\s+(?:login|auth|authtoken)(?:\s+(?:init|set))?(?:\s+-t)?\s+(?P<s>[\w.=-]{16,})(?!\S)",
    ),
    ("token of a command", "authtoken", r"\b(?:add-)?authtoken\s+(?P<s>[\w.=-]{16,})(?!\S)"),
    ("password of a command", "twine", rf"\btwine{_REST}\s-p[ ]{_V}"),
    ("password of a command", "az", rf"\baz\s+login{_REST}\s-p[ ]{_V}"),
    ("password of an archive", "zip unzip", rf"\b(?:un)?zip{_REST}\s-P[ ]?{_V}"),
    ("password of an archive", "7z 7za 7zr 7zz rar unrar", rf"\b(?:7z[arz]?|7zip|(?:un)?rar){_REST}\s-h?p(?![ ]){_V}"),
    (
        "password of a command",
        "ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd",
        rf"\bldap\w+{_REST}\s-(?:w|s)[ ]?{_V}",
    ),
    ("password of a command", "ipmitool", rf"\bipmitool{_REST}\s-P[ ]?{_V}"),
    ("password of a command", "snmpwalk snmpget snmpbulkwalk snmpset", rf"\bsnmp\w+{_REST}\s-(?:A|X)[ ]?{_V}"),
    (
        "password of a command",
        "smbclient rpcclient winexe smbget",
        rf"\b(?:smbclient|rpcclient|net|winexe|smbget){_REST}(?:-U|--user)[ =]?[\"']?[^\s%\"']+%(?P<s>[^\s\"']{{4,}})",
    ),
    ("password of a command", "net", r"\bnet use\s+\S+\s+\S+\s+(?P<s>[^\s/*]\S{3,})\s+/user"),
    ("password of a command", "net", r"\bnet user\s+\S+\s+(?P<s>[^\s/*]\S{5,})(?=\s+/add|\s*$)"),
    (
        "password of a command",
        "rp|/rp pass|/pass password|/password pwd|/pwd",
        rf"\s/(?:rp|pass|password|pwd)[ :=]{_V}",
    ),
    ("password of a command", "lftp", rf"\blftp{_REST}\s-u[ ][\"']?[^\s,]+,(?P<s>[^\s\"']{{4,}})"),
    (
        "password of a command",
        "curl wget xh httpie",
        r"\b(?:curl|http|https|xh|wget|httpie)\b[^\n|]{0,400}?\s(?:-u|-a|--user|--auth|--proxy-user|-U)[ =]?[\"']?[^\s:\"']{1,100}:(?P<s>[^\s\"'$<{\[]{4,})",
    ),
    (
        "password of a command",
        "pass|pass:",
        r"(?<![\w.])-?-?pass(?:in|out|word|wd)?[ =:]+[\"']?pass:(?P<s>[^\s\"']{4,})|\bpass:(?P<s2>[^\s\"',;)]{6,})",
    ),
    ("password of a command", "openssl", rf"\bopenssl\s+(?:enc|aes|des|camellia)\S*{_REST}\s-(?:k|K)[ ]{_V}"),
    (
        "password of a command",
        "htpasswd",
        r"\bhtpasswd\s+(?:-\w*[bB5dsi]\w*\s+)+(?:\S+\s+){1,2}[\"']?(?P<s>[^\s\"']{5,})[\"']?(?=\s|$)",
    ),
    ("password of a command", "chpasswd", r"[\"'\s][\w.-]+:(?P<s>[^\s\"':]{5,})[\"']?\s*\|\s*(?:sudo\s+)?chpasswd"),
    (
        "password of a command",
        "sudo",
        r"\becho\s+(?:-n\s+)?[\"']?(?P<s>[^\s\"'|$]{5,})[\"']?\s*\|\s*sudo\s+(?:-\w+\s+)*-\w*S",
    ),
    (
        "password of a command",
        "<<<",
        r"(?:sudo\s+-\w*S|--with-token|--password-stdin|--stdin|passwd)\b[^\n|;&]{0,60}<<<\s*[\"']?(?P<s>[^\s\"'$]{5,})",
    ),
    (
        "password of a command",
        "stdin|-stdin gh|--with-token",
        r"\b(?:echo|printf)\s+(?:-n\s+|[\"']%s[\"']\s+)?[\"']?(?P<s>[^\s\"'|$]{6,})[\"']?\s*\|[^\n|]{0,120}(?:--password-stdin|--with-token|--stdin|-stdin)",
    ),
    (
        "password of a command",
        "secret secrets",
        r"\bsecrets?[ :](?:set|put|create)\b[^\n|;&]{0,120}?(?:--body|-b|--value|--secret-string|-v)[ =][\"']?(?P<s>[^\s\"'$]{6,})",
    ),
    (
        "password of a command",
        "secret secrets",
        r"\b(?:echo|printf)\s+(?:-n\s+)?[\"']?(?P<s>[^\s\"'|$]{6,})[\"']?\s*\|[^\n|]{0,40}\bsecrets?\s(?:put|set|create|versions add)\b",
    ),
    ("password of a command", "rabbitmqctl", r"\b(?:add_user|change_password)\s+\S+\s+[\"']?(?P<s>[^\s\"']{5,})"),
    ("password of a command", "mc", r"\bmc\s+(?:alias set|config host add)\s+\S+\s+\S+\s+\S+\s+(?P<s>\S{8,})"),
    ("password of a command", "wpa", r"\bwpa_passphrase\s+(?:\"[^\"]*\"|\S+)\s+[\"']?(?P<s>[^\s\"']{8,63})"),
    (
        "password of a command",
        "nuget choco",
        rf"\b(?:nuget|dotnet nuget|choco){_REST}\s(?:-k|-ApiKey|--api-key|-Password)[ =]{_V}",
    ),
    (
        "password of a command",
        "securestring",
        r"ConvertTo-SecureString\s+(?:-String\s+)?[\"'](?P<s>[^\"'\n$]{5,})[\"']",
    ),
    (
        "password of a command",
        "networkcredential pscredential getconnection usernamepassword usernamepasswordcredentials basicauth basic|basic_auth auth|auth=( httpbasicauth",
        r"(?:NetworkCredential|PSCredential|getConnection|UsernamePassword\w*|[Bb]asic_?[Aa]uth|auth=)\s*\((?:[^()\n]{0,160}?,)?\s*[\"'][^\"'\n]{0,60}[\"']\s*,\s*[\"'](?P<s>[^\"'\n]{5,})[\"']",
    ),
    (
        "password of a user",
        "identified",
        r"\bIDENTIFIED\s+(?:WITH\s+\S+\s+)?(?:BY|AS)\s+(?:PASSWORD\s+)?\\*[\"'](?P<s>[^\"'\n\\]{4,})",
    ),
    ("password of a user", "password", r"\bPASSWORD\s*\(?\s*\\*'(?P<s>[^'\n\\]{5,})\\*'"),
    (
        "password of .netrc",
        "password",
        r"\b(?:login|user|account)\s+\S+\s+password\s+(?P<s>[^\s\"'<$\[:=]{4,})(?=\s|\Z|\\n)",
    ),
    (
        "password of a user",
        "credentials creds credential admin|admin/ root|root/",
        r"(?:\bcred\w*\b[^\n/]{0,24}?\b[\w.@-]{2,40}|\b(?:admin|root|user|test))[ ]?/[ ]?(?P<s>(?=[^\s/]*\d)(?=[^\s/]*[A-Za-z])[^\s/,;)\"'`.]{8,40})(?=[\s,.;)\"'`]|$)(?!\.\w)",
    ),
    ("password of redis", "requirepass masterauth", r"\b(?:requirepass|masterauth)\s+[\"']?(?P<s>[^\s\"':=]{5,})"),
    ("password of Wi-Fi", "wifi", r"\bwifi\b[^\n]{0,80}\bpassword\s+[\"']?(?P<s>[^\s\"']{8,63})"),
)

KEYS: tuple[Row, ...] = (
    (
        "key of a kubeconfig",
        "client|client-key-data",
        r"client-key-data\\*[\"']?\s*:\s*\\*[\"']?(?P<s>[A-Za-z0-9+/]{32,}={0,2})",
    ),
    (
        "key of a file",
        "pem|.pem p12|.p12 pfx|.pfx jks|.jks tls|tls.key key|.key:",
        r"[\w-]+\.(?:key|pem|p12|pfx|jks)\\*[\"']?:[ ]+\\*[\"']?(?P<s>[A-Za-z0-9+/]{40,}={0,2})",
    ),
    ("docker registry password", "auths auth", r"\bauth\\*[\"']\s*:\s*\\*[\"'](?P<s>[A-Za-z0-9+/]{12,}={0,2})\\*[\"']"),
    ("key of a tunnel", "privatekey presharedkey", r"\b(?:Private|Preshared)Key\s*=\s*(?P<s>[A-Za-z0-9+/]{42,43}=)"),
    ("TOTP secret", "otpauth", r"otpauth://\S*?[?&]secret=(?P<s>[A-Za-z2-7]{8,}=*)"),
    (
        "TOTP secret",
        "otp totp 2fa mfa authenticator",
        r"(?i:otp|2fa|mfa|authenticator)[^\n]{0,40}?[\s:=\"'`](?P<s>[A-Z2-7]{16,64}|[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,7}|[a-z2-7]{4}(?: [a-z2-7]{4}){3,7})(?![A-Za-z0-9])",
    ),
    (
        "key in an address",
        "code|code= sig|sig= signature|signature= key|key=",
        r"[?&;](?:amp;)?[\w.-]{0,30}?(?:key|sig|signature|code)=(?P<s>[^\s&\"'`<>#\\|)]{16,})",
    ),
    (
        "key of Azure",
        "accountkey accesskey sharedaccesskey accesssignature sharedaccesssignature primarykey",
        r"(?:Account|SharedAccess|Access|Primary|Secondary)(?:Key|Signature)=(?P<s>[A-Za-z0-9+/%=&]{20,})",
    ),
    (
        "authorization",
        "authorization",
        r"(?:authorization|auth)\\*[\"']?\s*[:=]\s*\\*[\"']?[\w-]{2,16}[ ]+(?P<s>[^\s\"'`\\<>{}$\[]{16,})",
    ),
    ("session of a cookie", "cookie cookies", r"cookie\w*\s*=\s*[\"'`]\s*[\w.-]{2,40}=(?P<s>[^\s\"'`;]{16,})"),
    (
        "secret of a hash",
        "apr1|$apr1$ 1|$1$ ssha|{ssha} sha|{sha}",
        r"(?P<s>\$(?:apr1|1)\$[./A-Za-z0-9]{2,16}\$[./A-Za-z0-9]{22}|\{S?SHA\}[A-Za-z0-9+/=]{28,})",
    ),
    ("key of Laravel", "base64|base64:", r"(?:KEY|SECRET)\w*=(?P<s>base64:[A-Za-z0-9+/]{32,}={0,2})"),
    ("key of Django", "insecure|django-insecure", r"(?P<s>django-insecure-[^\s\"'\\]{20,})"),
    ("Dynatrace token", "dt0c01 dt0s01 dt0s02 dt0s16 dt0c02", r"(?P<s>dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{40,})"),
    ("Dropbox token", "sl|sl.", r"(?<![\w.-])(?P<s>sl\.(?:u\.)?[\w-]{60,})"),
    ("Mapbox token", "sk|sk.eyj", r"(?P<s>sk\.eyJ[\w-]{20,}\.[\w-]{16,})"),
    ("eBay token", "^", r"(?P<s>v\^1\.1#i\^1#[\w#^+/=]{30,})"),
    ("Facebook token", "facebook fb", r"(?<![\w|])(?P<s>\d{13,17}\|[\w-]{27})(?![\w|-])"),
    ("LaunchDarkly key", "sdk mob", r"(?<![\w-])(?P<s>(?:sdk|mob|api)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"),
    ("key of Azure OpenAI", "apim", r"Ocp-Apim-Subscription-Key\W+(?P<s>[0-9A-Za-z]{32,})"),
)


def is_word_of_command(value: str) -> bool:
    """What stands where a password is told: anything but a reference, a placeholder or another option."""
    return (
        not value.startswith("-")
        and not is_excluded(value, 4)
        and value.lower() not in _COMMAND_WORDS
        and not re.fullmatch(r"\d{1,5}", value)
    )


_COMMAND_WORDS = frozenset(
    "password pass secret token root admin stdin prompt ask user mysql postgres login file true false".split()
)


def is_key_of_command(value: str) -> bool:
    """What stands where a key is told."""
    return is_key(value, is_quoted=True, least=12) or (is_random(value) and is_password(value, is_quoted=True))


SHORTEST = 6
"""Letters of a text that may hold a secret."""
LONGEST = 4_000_000
"""Characters looked at in one piece; longer texts are looked at in several, which overlap."""
OVERLAP = 8_000
VERSION = 3
"""Grows with what is found: what an older version found is looked for again."""

_RUN = 16
"""Letters of the shortest run that may be a token."""
_LETTERS = bytes(
    97 if chr(byte).isascii() and (chr(byte).isalnum() or chr(byte) in "_-") else 32 for byte in range(256)
)
"""Every byte as `a`, where it may be a letter of a token, or as a space."""
_LONG = b"a" * _RUN
_ESCAPED = re.compile(r"[nrt]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|033|e")
_COLOUR = re.compile(
    r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033|\\e|\^\[|␛)\[[0-9;:?]*[A-Za-z]|\x9b[0-9;:?]*[A-Za-z]|\[(?:\d{1,3};){0,4}\d{1,3}m"
)
_MAY_BE_COLOUR = (
    "\x1b",
    "\x9b",
    "001b[",
    "001B[",
    "x1b[",
    "x1B[",
    "033[",
    "\\e[",
    "^[[",
    "␛",
    "[0m",
    "[1m",
    "[31m",
    "[32m",
    "[33m",
)
_OTHERS: tuple[SecretKind, ...] = (
    *KINDS,
    *(SecretKind(name, tuple(hints.split()), re.compile(pattern), is_key_of_command) for name, hints, pattern in KEYS),
    *(
        SecretKind(name, tuple(hints.split()), re.compile(pattern), is_word_of_command)
        for name, hints, pattern in PASSWORDS
    ),
)
_WORDS = bytes(byte if chr(byte).isascii() and chr(byte).isalnum() else 32 for byte in range(256))
"""Every byte as it is, where it is of a word, or as a space."""
_SHORT = 96
"""Letters of a text that is remembered: names of fields, of tools and of models are told over and over."""


class FoundSecret(NamedTuple):
    kind: str
    start: int
    end: int
    value: str


def find(text: str, *, addresses: bool = False) -> list[FoundSecret]:
    """The secrets of a text in their order; none overlaps another."""
    if len(text) <= _SHORT:
        return list(_find_short(text, addresses)) if len(text) >= SHORTEST else []
    if len(text) <= LONGEST:
        return _without_overlaps(_in_colours(text, addresses=addresses))
    everything: list[FoundSecret] = []
    for start in range(0, len(text), LONGEST - OVERLAP):
        piece = _in_colours(text[start : start + LONGEST], addresses=addresses)
        everything += [each._replace(start=each.start + start, end=each.end + start) for each in piece]
    return _without_overlaps(everything)


@lru_cache(maxsize=16_384)
def _find_short(text: str, addresses: bool) -> tuple[FoundSecret, ...]:
    return tuple(_without_overlaps(_in_colours(text, addresses=addresses)))


def is_plain_id(text: str) -> bool:
    """An id or a time as every line has several, in which nothing is ever found."""
    return len(text) <= _LONGEST_ID and _PLAIN_ID.fullmatch(text) is not None


_LONGEST_ID = 64
_PLAIN_ID = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z|(?:toolu|msg|req)_[A-Za-z0-9]+",
    re.ASCII,
)


def may_be_coloured(text: str) -> bool:
    """Whether a text may have to be looked at without its colours."""
    plain = text.encode("latin-1", "replace").translate(_DIGITS)
    return (
        b"\x1b" in plain
        or b"\x9b" in plain
        or b"[0m" in plain
        or b"[00m" in plain
        or b"0b[" in plain
        or b"000[" in plain
        or (b"^" in plain and b"^[[" in plain)
        or (b"\\" in plain and b"\\e[" in plain)
        or (not text.isascii() and "␛" in text)
    ) and any(each in text for each in _MAY_BE_COLOUR)


_DIGITS = bytes(48 if chr(byte) in "0123456789" else 98 if byte == 66 else byte for byte in range(256))
"""Every digit as 0 and B as b: half as many marks, and a byte is read faster than a letter."""


def _in_colours(text: str, *, addresses: bool) -> list[FoundSecret]:
    """Looks at a text without its colours, and tells the places in the text as it is."""
    if not may_be_coloured(text):
        return _found(text, addresses=addresses)
    starts, skipped, parts, position, total = [0], [0], [], 0, 0
    for match in _COLOUR.finditer(text):
        parts.append(text[position : match.start()])
        total += match.end() - match.start()
        starts.append(match.end() - total)
        skipped.append(total)
        position = match.end()
    if not parts:
        return _found(text, addresses=addresses)
    clean = "".join([*parts, text[position:]])

    def place(at: int, *, is_end: bool) -> int:
        before = bisect_left(starts, at, 1) - 1 if is_end else bisect_right(starts, at) - 1
        return at + skipped[before]

    return [
        each._replace(start=place(each.start, is_end=False), end=place(each.end, is_end=True))
        for each in _found(clean, addresses=addresses)
    ]


def _found(text: str, *, addresses: bool) -> list[FoundSecret]:
    narrow = text.encode("latin-1", "replace")  # one byte for each letter, whatever it is
    found = list(_tokens(text, narrow))
    if len(text) <= _SHORT and _ONE_RUN.fullmatch(text):
        return found
    small = narrow.lower()
    words = set(filterfalse(_BORING.__contains__, small.translate(_WORDS).split()))
    lower = small.decode("latin-1")
    for number in _kinds_of(words, lower):
        found += _of_kind(text, lower, _OTHERS[number], words)
    if addresses:
        found += _of_kind(text, lower, OPTIONAL[0], words)
    found += [
        FoundSecret(kind_of_name(each.name), each.start, each.end, each.value)
        for each in assignments(text, lower, words)
    ]
    return found


_ONE_RUN = re.compile(r"[\w-]*", re.ASCII)


def _by_gate() -> dict[str, tuple[int, ...]]:
    table: dict[str, tuple[int, ...]] = {}
    for number, kind in enumerate(_OTHERS):
        for hint in kind.hints:
            gate = hint.partition("|")[0]
            table[gate] = (*table.get(gate, ()), number)
    return table


_BY_WORD = {gate.encode(): numbers for gate, numbers in _by_gate().items() if gate.isalnum()}
_BY_SIGN = {gate: numbers for gate, numbers in _by_gate().items() if not gate.isalnum()}
_GATES = frozenset(_BY_WORD)


def _kinds_of(words: set[bytes], lower: str) -> list[int]:
    """The kinds that may be in a text, in the order of their table."""
    numbers = {number for word in _GATES & words for number in _BY_WORD[word]}
    for sign, kinds in _BY_SIGN.items():
        if sign in lower:
            numbers.update(kinds)
    return sorted(numbers)


def _by_beginning() -> dict[str, tuple[SecretKind, ...]]:
    table: dict[str, tuple[SecretKind, ...]] = {}
    for kind in TOKENS:
        for beginning in kind.hints:
            table[beginning] = (*table.get(beginning, ()), kind)
    return table


_BEGINNINGS = _by_beginning()
_LOOKING_ON = frozenset(beginning.encode() for beginning in _BEGINNINGS)


def _tokens(text: str, narrow: bytes) -> Iterator[FoundSecret]:
    """Runs of letters that are tokens by their beginning."""
    letters = narrow.translate(_LETTERS)
    at = letters.find(_LONG)
    while at >= 0:
        end = letters.find(b" ", at + _RUN)
        end = len(letters) if end < 0 else end
        start = letters.rfind(b" ", 0, at) + 1
        run = narrow[start - 1 : end + 1]
        if run not in _BORING_RUNS:
            found = list(_token_at(text, start, end))
            if found:
                yield from found
            elif start and end < len(narrow) and _is_boring(run):
                _BORING_RUNS.add(run)
        at = letters.find(_LONG, end)


_BORING_RUNS: set[bytes] = set()
"""Runs that are no tokens, each with the sign before and behind it: names of functions and folders, ids."""


def _is_boring(run: bytes) -> bool:
    """Whether a run that is no token is none wherever it stands: what looks further back or on has no say in it."""
    if len(_BORING_RUNS) >= _MOST_BORING or len(run) > _LONGEST_BORING:
        return False
    before, behind = run[:1], run[-1:]
    if before in b"\\%:?" or run[1:2] == b"0" or not behind.isascii() or behind == b"?":
        return False
    return behind not in b".+/=" or (run[1:4].lower() not in _LOOKING_ON and run[1:2] not in b"MNO")


_LONGEST_BORING = 80


def _token_at(text: str, start: int, end: int) -> Iterator[FoundSecret]:
    before = text[start - 1] if start else ""
    if before == "\\":
        escaped = _ESCAPED.match(text, start)
        start = escaped.end() if escaped is not None else start
    elif before == "%":
        start += 2
    beginning = text[start : start + 3].lower()
    kinds = _BEGINNINGS.get(beginning, ())
    if beginning[:2] == "sk" and beginning[2:].isalnum():
        kinds = _BEGINNINGS["sk"]
    first = text[start : start + 1]
    if first.isdigit() or first in "abcdefMNO":
        kinds = (*kinds, *_BEGINNINGS["#"])
    if end - start >= 28 and first.islower():
        kinds = (*kinds, *_BEGINNINGS["*"])
    for kind in kinds:
        match = kind.pattern.match(text, start)
        if match is not None and (kind.is_one is None or kind.is_one(match[0])):
            yield FoundSecret(kind.name, match.start(), match.end(), match[0])
            return
    yield from _behind(text, start, end, before)


def _behind(text: str, start: int, end: int, before: str) -> Iterator[FoundSecret]:
    for sign, kind, back in BEHIND:
        if sign == before:
            for match in kind.pattern.finditer(text, max(0, start - back - 1), end):
                if kind.is_one is None or kind.is_one(match[0]):
                    yield FoundSecret(kind.name, match.start(), match.end(), match[0])
    if end - start == _WALLET and text.startswith("0x", start) and WALLET.search(text[max(0, start - 40) : start]):
        yield FoundSecret("private key of a wallet", start, end, text[start:end])


_WALLET = 66
"""Letters of such a key: 0x and 32 bytes."""


def _of_kind(text: str, lower: str, kind: SecretKind, words: set[bytes]) -> Iterator[FoundSecret]:
    groups = _groups_of(kind.pattern)
    for match in _matches(text, lower, kind, words):
        for group in groups:
            value = match[group]
            if value and (kind.is_one is None or kind.is_one(value)):
                yield FoundSecret(kind.name, match.start(group), match.end(group), value)


@cache
def _groups_of(pattern: re.Pattern[str]) -> tuple[str | int, ...]:
    return tuple(group for group in ("s", "s2") if group in pattern.groupindex) or (0,)


def _matches(text: str, lower: str, kind: SecretKind, words: set[bytes]) -> Iterator[re.Match[str]]:
    if kind.reach is None:
        yield from kind.pattern.finditer(text)
    else:
        for start, end in _regions(lower, _places_of(kind.hints, words), kind.reach):
            yield from kind.pattern.finditer(text, start, end)


def _places_of(hints: tuple[str, ...], words: set[bytes]) -> list[str]:
    """What a kind is looked for around: the places of those hints whose word is in the text."""
    return list(dict.fromkeys(place for word, place in _hinted(hints) if word is None or word in words))


@cache
def _hinted(hints: tuple[str, ...]) -> tuple[tuple[bytes | None, str], ...]:
    """Hints as the word that a text must have, None for a sign, and the place to look around."""
    parts = [hint.partition("|") for hint in hints]
    return tuple((word.encode() if word.isalnum() else None, place or word) for word, _, place in parts)


def _regions(lower: str, places: list[str], reach: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Where a kind may be: around its hints, in the same line."""
    before, after = reach
    for place in places:
        if place[0] == "$" and "$" not in lower:  # one sign is found ten times as fast
            continue
        start = end = -1
        at = lower.find(place)
        while at >= 0:
            first = max(lower.rfind("\n", max(0, at - before), at) + 1, at - before, 0)
            last = lower.find("\n", at, at + after)
            last = min(at + after, len(lower)) if last < 0 else last
            if first > end >= 0:
                yield start, end
            start, end = (start, last) if 0 <= first <= end else (first, last)
            at = lower.find(place, at + len(place))
        if end >= 0:
            yield start, end


def _without_overlaps(found: list[FoundSecret]) -> list[FoundSecret]:
    """Where two claim the same letters, the kind that comes first in the tables has them."""
    taken: list[FoundSecret] = []  # by their places
    for each in found:
        at = bisect_left(taken, each.start, key=lambda other: other.start)
        is_free_before = at == 0 or taken[at - 1].end <= each.start
        if is_free_before and (at == len(taken) or each.end <= taken[at].start):
            taken.insert(at, each)
    return taken


def kind_of_name(name: str) -> str:
    lower = name.lower()
    for word, kind in (("phrase", "recovery phrase"), ("token", "token"), ("key", "key"), ("secret", "secret")):
        if word in lower and "pass" not in lower:
            return kind
    return (
        "secret" if any(word in lower for word in ("auth", "cred", "salt", "dsn", "connection", "sid")) else "password"
    )


def is_assigned(name: object, value: object) -> bool:
    """Whether a field of a structure is a secret by its name."""
    return (
        isinstance(name, str) and isinstance(value, str) and len(name) <= _LONGEST_NAME and is_assigned_to(name, value)
    )


def is_name_of_secret(name: str) -> bool:
    """Whether what has this name may be a secret for that alone."""
    return len(name) <= _LONGEST_NAME and _meant_by(name) is not None


_LONGEST_NAME = 80
