"""Secrets recognised by their own shape."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from .secret_values import entropy, is_jumbled, is_key, is_random

# ruff: noqa: E501, SIM905  a row is a line


EMAIL = "e-mail address"
USER = "user"
ADDRESS = "IP address"


class SecretKind(NamedTuple):
    name: str
    hints: tuple[str, ...]
    """Words or single signs that a text must have for the pattern to be tried. A hint may also be a word, a stroke and
    the string around which the pattern is then searched."""
    pattern: re.Pattern[str]
    """The secret is its group `s` (or `s2`), or the whole match."""
    is_one: Callable[[str], bool] | None = None
    """Decides whether a match is a secret after all."""
    reach: tuple[int, int] | None = (600, 2000)
    """How far before and after a hint the pattern is searched, within the line; None for the whole text."""
    needed: str = ""
    """A lower-case string without which the pattern never matches: searching for it takes a tenth of the time."""


def _kind(
    name: str,
    hints: str,
    pattern: str,
    is_one: Callable[[str], bool] | None = None,
    flags: int = 0,
    reach: tuple[int, int] | None = (600, 2000),
    needed: str = "",
) -> SecretKind:
    return SecretKind(name, tuple(hints.split()), re.compile(pattern, flags), is_one, reach, needed)


_L, _R = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))", r"(?![A-Za-z0-9_-])"
"""Where a token begins and ends: inside a longer word it is something else. The `n` of an escaped line break does not
belong to a word: texts contain JSON in JSON strings. Runs (below) begin there anyway."""
_BASE64 = re.compile(r"[A-Za-z0-9+/=]{16,}")
_EXAMPLES = re.compile(
    r"(?:^|[@.])(?:example|test|invalid|localhost|domain|email|company|foo|bar)\.(?:com|org|net|io|test|invalid)$",
    re.IGNORECASE,
)
_FILES = frozenset(
    """c cc cfg conf cpp css csv gif go h html ico ini java jpeg jpg js json jsx lock log md mjs pdf php png py rb rs
    scss sh sql svg svelte swift toml ts tsx txt vue webp xml yaml yml zip service timer target mount socket""".split()
)
"""Endings that no e-mail address has: `logo@2x.png`, `getty@tty1.service`."""
_NOBODY = frozenset({"git", "noreply", "no-reply", "donotreply", "hg", "svn"})
GENERIC_NAMES = frozenset(
    """user users username name you me runner ubuntu debian node app vscode codespace shared public default guest admin
    root claude home test linuxbrew circleci vagrant pi ec2-user jovyan project projects workspace docker all
    dev developer build builder deploy deployer jenkins gitlab-runner git ansible postgres mysql redis nginx nobody
    coder worker server service system daemon data local agent student python ruby kali bin wheel""".split()
)
"""Names that do not identify a person."""


def is_key_body(text: str) -> bool:
    return sum(map(len, _BASE64.findall(text))) >= 40


def is_email(text: str) -> bool:
    local, _, domain = text.lower().rpartition("@")
    return not (local in _NOBODY or domain.rpartition(".")[2] in _FILES or _EXAMPLES.search(domain))


def is_personal(name: str) -> bool:
    return name.lower() not in GENERIC_NAMES and not name.startswith(("$", "<", "{", "*", ".", "%", "[", "-"))


def _is_mixed(text: str) -> bool:
    """Whether it has digits and letters: text with only one of them is a name or a number."""
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def _has_long_value(cookies: str) -> bool:
    return any(len(each.partition("=")[2]) >= 10 for each in cookies.split(";"))


def _is_public(address: str) -> bool:
    """Whether it is no address of a private network or of documentation, and no version number of four parts."""
    parts = [int(part) for part in address.split(".")]
    local = parts[0] in (0, 10, 127, 255) or parts[:2] in ([192, 168], [169, 254]) or parts[:3] in _DOCUMENTED
    return all(part < 256 for part in parts) and not local and not (parts[0] == 172 and 16 <= parts[1] < 32)


_DOCUMENTED = ([192, 0, 2], [198, 51, 100], [203, 0, 113])

_SERVICE = r"[a-z][a-z0-9]{1,11}(?:[_-](?:[a-z]{2,8}|v?\d{1,2}))*[_-](?P<body>[A-Za-z0-9]{24,})"
_IDS = frozenset(
    """toolu srvtoolu mcptoolu msg req call resp run thread asst chatcmpl cmpl file step cus sub pi evt price prod in ch pm seti src session sess agent bash job task task-id
    container conv org user usr proj project batch msgbatch wf trace span node item fc_id ws acct team card txn pk gen compl chatcmpl-tool chunk commit sha rev build img
    vol net pod deploy dpl prj inst i vpc subnet sg ami snap eni arn key-id kid sha1 sha256 sha512 md5 index main app vendor chunk-vendors webpack css module modules
    reread pytest tmp temp test id uuid hash digest ref blob tree""".split()
)
"""How ids of things begin: those of Claude, of other services, and of builds."""


def is_service_token(text: str) -> bool:
    """Whether it is a short service name followed by much randomness: a token of a service without a row here."""
    start = re.split(r"[_-]", text, maxsplit=1)[0]
    body = re.split(r"[_-]", text)[-1]
    rest = text[len(start) + 1 :]
    if len(body) < 24 and start not in _IDS and len(start) <= 8:
        return len(rest) >= 40 and _is_dense(rest)
    if start in _IDS or len(text) - len(body) > 24:
        return False
    if re.fullmatch(r"[0-9a-f]+", body):
        return len(body) in (32, 40, 48, 64) and any(map(str.isdigit, body)) and _SECRETIVE.search(text) is not None
    has_all = all(any(map(test, body)) for test in (str.isdigit, str.islower, str.isupper))
    return has_all and is_random(body) and entropy(body) >= 3.8


def _is_dense(text: str) -> bool:
    """Whether it is random from end to end, even with hyphens in it."""
    parts = [part for part in re.split(r"[_-]", text) if part]
    has_all = all(any(map(test, text)) for test in (str.isdigit, str.islower, str.isupper))
    return has_all and len(text) / len(parts) >= 7 and is_random(text) and entropy(text) >= 4.2


_SECRETIVE = re.compile(
    r"^(?:[a-z0-9]+[_-])*?(?:live|prod|test|secret|sk|pk|key|api|tok|token|pat|pt|fc|pul|sgp|e2b|key|priv|auth|sdk|v1|rw|oauth)[_-]"
)

TOKENS: tuple[SecretKind, ...] = (
    _kind("Nostr key", "nse", r"nsec1[0-9a-z]{58}" + _R),
    _kind("private key of a wallet", "xpr ypr zpr tpr", r"[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,112}" + _R),
    _kind("age key", "age", r"AGE-SECRET-KEY-1[0-9A-Za-z]{40,}"),
    _kind("JSON web token", "eyj", r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{6,}"),
    _kind("Anthropic key", "sk-", r"sk-ant-[a-z0-9]+-[\w-]{20,}"),
    _kind("OpenRouter key", "sk-", r"sk-or-v1-[0-9a-f]{32,}"),
    _kind("OpenAI key", "sk-", r"sk-(?:(?:proj|svcacct|admin|None|org|user|service)-[\w-]{20,}|[A-Za-z0-9]{32,})" + _R),
    _kind("key", "sk-", r"sk-[a-z0-9]{2,12}-[\w-]{24,}" + _R, _is_mixed),
    _kind("AWS access key", "aki asi abi acc aid aro", r"(?:AKIA|ASIA|ABIA|ACCA|AIDA|AROA)[A-Z0-9]{16}" + _R),
    _kind("AWS Bedrock key", "abs", r"ABSK[A-Za-z0-9+/]{60,}={0,2}"),
    _kind("AWS session token", "fwo iqo", r"(?:FwoGZXIvYXdz|IQoJb3JpZ2lu)[A-Za-z0-9+/]{60,}={0,2}"),
    _kind("Google API key", "aiz", r"AIza[\w-]{35}" + _R),
    _kind("Google OAuth secret", "goc", r"GOCSPX-[\w-]{24,}"),
    _kind("GitHub token", "ghp gho ghu ghs ghr", r"gh[pousr]_[A-Za-z0-9]{30,}" + _R),
    _kind("GitHub token", "git", r"github_pat_\w{22,}"),
    _kind(
        "GitLab token",
        "glp gld glr glc gls glf gla gli glo glw",
        r"gl(?:pat|dt|rt|rtr|cbt|ptt|soat|ft|agent|imt|oas|ffct|wt)-[\w.-]{20,}",
    ),
    _kind("Bitbucket token", "atb", r"ATBB[A-Za-z0-9]{24,}" + _R),
    _kind("Atlassian token", "ata atc", r"AT(?:ATT3|CTT3|OATT3)[\w=-]{50,}"),
    _kind("Slack token", "xox", r"xox[abceoprs]-[A-Za-z0-9-]{10,}", _is_mixed),
    _kind("Slack token", "xox", r"xoxe\.xox[bp]-[A-Za-z0-9-]{10,}", _is_mixed),
    _kind("Slack app token", "xap", r"xapp-\d-[A-Za-z0-9-]{20,}"),
    _kind("Stripe key", "sk_ rk_", r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,}" + _R),
    _kind("key", "sk_", r"sk_(?:[a-z]{2,12}_)?(?:[0-9a-f]{40,}|[A-Za-z0-9]{32,})" + _R, _is_mixed),
    _kind("Stripe webhook secret", "whs", r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    _kind("Square token", "sq0 eaa", r"(?:sq0[a-z]{3}-[\w-]{22,}|EAAA[\w-]{60})" + _R),
    _kind("Facebook token", "eaa", r"EAA[A-Za-z0-9]{60,}" + _R, _is_mixed),
    _kind("Twilio key", "sk", r"SK[0-9a-f]{32}" + _R),
    _kind("Mailgun key", "key", r"key-[0-9a-f]{32}" + _R),
    _kind("Resend key", "re_", r"re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}" + _R, _is_mixed),
    _kind("Brevo key", "xke xsm", r"x(?:keysib|smtpsib)-[0-9a-f]{40,}-\w{10,}"),
    _kind("npm token", "npm", r"npm_[A-Za-z0-9]{30,}" + _R, _is_mixed),
    _kind("PyPI token", "pyp", r"pypi-AgE[\w-]{40,}"),
    _kind("RubyGems key", "rub", r"rubygems_[0-9a-f]{40,}"),
    _kind("crates.io token", "cio", r"cio[A-Za-z0-9]{32}" + _R, _is_mixed),
    _kind("NuGet key", "oy2", r"oy2[a-z0-9]{43}" + _R),
    _kind("Docker token", "dck", r"dckr_(?:pat|oat)_[\w-]{20,}"),
    _kind("DigitalOcean token", "dop doo dor", r"do[opr]_v1_[0-9a-f]{40,}"),
    _kind("Heroku key", "hrk", r"HRKU-[\w-]{30,}"),
    _kind("Netlify token", "nfp nfc nfo nfu", r"nf[pcou]_[A-Za-z0-9]{30,}" + _R),
    _kind("Fly.io token", "fm1 fm2 fo1", r"(?:fm[12][ar]?_[A-Za-z0-9+/]{40,}={0,2}|fo1_[\w-]{40,})"),
    _kind("Hugging Face token", "hf_ api", r"(?:hf_|api_org_)[A-Za-z0-9]{30,}" + _R),
    _kind("Replicate token", "r8_", r"r8_[A-Za-z0-9]{30,}" + _R),
    _kind("Groq key", "gsk", r"gsk_[A-Za-z0-9]{40,}" + _R),
    _kind("xAI key", "xai", r"xai-[A-Za-z0-9]{60,}" + _R),
    _kind("Perplexity key", "ppl", r"pplx-[A-Za-z0-9]{40,}" + _R),
    _kind("NVIDIA key", "nva", r"nvapi-[\w-]{50,}"),
    _kind("LangSmith key", "lsv ls_", r"ls(?:v2_(?:pt|sk)|__)_?[0-9a-f]{32}(?:_[0-9a-f]{10})?" + _R),
    _kind("Databricks token", "dap", r"dapi[0-9a-f]{32}(?:-\d)?" + _R),
    _kind("Linear key", "lin", r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}" + _R),
    _kind("Notion token", "sec ntn", r"(?:secret|ntn)_[A-Za-z0-9]{40,}" + _R, _is_mixed),
    _kind("Shopify token", "shp", r"shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}" + _R),
    _kind("New Relic key", "nra nri nrj nrr nrb", r"NR(?:AK|II|AL|RA|JS|BR|SP)-?[\w-]{19,}" + _R, _is_mixed),
    _kind("Sentry token", "snt", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    _kind("Grafana token", "gls glc eyj", r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{32,}={0,2})"),
    _kind("Figma token", "fig", r"fig[dou]r?_[\w-]{30,}"),
    _kind("Airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}" + _R),
    _kind("Postman key", "pma", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _kind("Supabase key", "sbp sb_", r"(?:sbp_[0-9a-f]{40}|sb_secret_[\w-]{20,})"),
    _kind("PlanetScale token", "psc", r"pscale_(?:tkn|pw|oauth)_[\w.-]{32,}"),
    _kind("Tailscale key", "tsk", r"tskey-[a-z]+-[A-Za-z0-9]{8,}-[A-Za-z0-9]{20,}"),
    _kind(
        "1Password key",
        "a3- ops",
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}|ops_eyJ[\w+/-]{100,}={0,2}",
    ),
    _kind("Buildkite token", "bku bkt", r"bk(?:ua|tk|aj|ct|pat)_[0-9a-f]{40}"),
    _kind("CircleCI token", "cci", r"CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}"),
    _kind("Mailchimp key", "#", r"[0-9a-f]{32}-us\d{1,2}" + _R),
    _kind("Discord token", "#", r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}" + _R, _is_mixed),
    _kind("Firebase key", "apa", r"APA91b[\w-]{100,}"),
    _kind("Alibaba key", "lta", r"LTAI[A-Za-z0-9]{12,26}" + _R, _is_mixed),
    _kind("Tencent key", "aki", r"AKID[A-Za-z0-9]{32,}" + _R, _is_mixed),
    _kind("Sourcegraph token", "sgp", r"sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}" + _R),
    _kind("token", "*", r"[a-z][a-z0-9]{1,7}(?:[_-]v\d)?[_-][\w-]{40,}" + _R, is_service_token),
    _kind("token", "*", _SERVICE + _R, is_service_token),
)
"""Tokens by the three letters they begin with; `#` is for those that begin with a digit or one of `abcdefMNO`, `*` for
all others that begin with a small letter."""
BEHIND: tuple[tuple[str, SecretKind, int], ...] = (
    (":", _kind("Telegram token", "", r"\d{6,12}:[A-Za-z][\w-]{31,36}" + _R, _is_mixed), 12),
    (".", _kind("Cloudflare key", "", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"), 3),
    ("/", _kind("Google refresh token", "", r"1//0[\w-]{30,}"), 3),
)
"""Tokens that begin before their long run: the sign before it, the kind, and how far back it may begin."""
WALLET = re.compile(
    r"(?:priv|secret|key|_pk\b|mnemonic|new [\w.]*Wallet(?=\())[\w\\\"'` ]{0,12}[=:,(\s][\s\\\"'`=:]{0,6}$",
    re.IGNORECASE,
)
"""What must precede 0x and 64 digits, which could also be a hash."""

_LONGEST_KEY = 20_000
_KEY_LINES = (
    r"(?:(?:\\+[nr]|[\s>|+,\"'-]|\d{1,5}[→:\t|])*(?:[A-Za-z0-9+/]{16,}={0,2}(?![\w-])|(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): [^\n\\]{1,80}))+"
    r"(?:(?:\\+n|\r?\n)[ \t>+]*[A-Za-z0-9+/]{1,64}={0,2}(?![^\s\\\"']))?"
)
"""The lines of a key without its end, and no more: what follows may be a whole page."""
_NAME_IN_PATH = r"(?P<s>[A-Za-z0-9_.\u00c0-\uffff][\w.\u00c0-\uffff]{0,40})(?![\w.]*[(=])"

KINDS: tuple[SecretKind, ...] = (
    _kind(
        "private key",
        "begin|-----begin",
        r"-----BEGIN (?P<what>[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----"
        rf"(?:(?P<s>(?:(?!-----BEGIN).){{0,{_LONGEST_KEY}}}?)-----END (?P=what)-----|(?P<s2>{_KEY_LINES}))",
        is_key_body,
        re.DOTALL,
        None,
    ),
    _kind(
        "PuTTY key",
        "putty|putty-user-key-file",
        r"Private-Lines: \d+\s+(?P<s>.*?)(?=\n\S*Private-MAC|\Z)",
        is_key_body,
        re.DOTALL,
        None,
    ),
    _kind(
        "key of a JSON web key",
        "kty",
        r"\{(?=[^{}]*\bkty\b)[^{}]*?\b(?:d|k)\\*[\"']\s*:\s*\\*[\"'](?P<s>[\w-]{20,}={0,2})",
        reach=None,
    ),
    _kind(
        "key of Vault",
        "unseal recovery",
        r"(?:unseal|recovery)_keys_(?:b64|hex)\\*[\"']?\s*[:=]\s*\[(?P<s>[^\]]{20,2000})\]",
        reach=None,
        needed="_keys_",
    ),
    _kind(
        "generated password",
        "random",
        r"random_password\b(?:(?!random_password).){0,1500}?\bresult\\*[\"']?\s*[:=]\s*\\*[\"](?P<s>[^\"\n]{6,200}?)\\*[\"]",
        None,
        re.DOTALL,
        None,
        needed="random_password",
    ),
    _kind(
        "generated password",
        "openssl pwgen apg genkey makepasswd urandom urlsafe lpass",
        r"\b(?:openssl rand|pwgen|apg|makepasswd|wg genkey|token_urlsafe|/dev/u?random|lpass show)\b[^\n]*\r?\n(?P<s>[^\s\"'`]{12,200})[ \t]*(?=\r?\n|\Z)",
        lambda text: is_key(text, is_quoted=False, least=12) or is_jumbled(text),
        reach=None,
    ),
    _kind("Google OAuth token", "ya29", _L + r"ya29\.[\w-]{20,}"),
    _kind("Google key id", "private|private_key_id", r"private_key_id\\*\"\s*:\s*\\*\"(?P<s>[0-9a-f]{40})"),
    _kind("Azure storage key", "accountkey", r"AccountKey=(?P<s>[A-Za-z0-9+/]{40,}={0,2})", None, re.IGNORECASE),
    _kind("Azure access signature", "sig|sig=", r"[?&;](?:amp;)?sig=(?P<s>[A-Za-z0-9%+/]{30,}(?:%3D|=)*)"),
    _kind("Azure client secret", "~", r"(?<![\w.~-])[\w.~]{3}\dQ~[\w.~-]{31,34}", needed="q~"),
    _kind(
        "Azure service bus key",
        "sharedaccesskey",
        r"SharedAccessKey=(?P<s>[A-Za-z0-9+/]{20,}={0,2})",
        None,
        re.IGNORECASE,
    ),
    _kind(
        "Slack webhook",
        "slack|hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<s>[A-Za-z0-9]+/[A-Za-z0-9]+/[A-Za-z0-9]{10,})",
    ),
    _kind(
        "Discord webhook",
        "discord discordapp",
        r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/(?P<s>\d{10,}/[\w-]{30,})",
    ),
    _kind("Teams webhook", "office|webhook.office.com", r"webhook\.office\.com/webhookb2/(?P<s>[\w@/-]{36,})"),
    _kind("PayPal token", "$", r"access_token\$(?:production|sandbox)\$\w{10,}\$[0-9a-f]{32}", needed="access_token$"),
    _kind("SendGrid key", "sg|sg.", _L + r"SG\.[\w-]{16,}\.[\w-]{30,}"),
    _kind("npm token", "authtoken", r"_authToken\s*[=:\s]\s*[\"']?(?P<s>[^\s\"'$\[]{8,})"),
    _kind(
        "npm password", "auth|_auth password|_password", r"_(?:auth|password)\s*=\s*[\"']?(?P<s>[A-Za-z0-9+/=]{12,})"
    ),
    _kind("Vault token", "hvs hvb hvr", _L + r"hv[sbr]\.[\w-]{24,}"),
    _kind("Terraform token", "atlasv1", _L + r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
    _kind("Doppler token", "dp|dp.", _L + r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]+\.)?[A-Za-z0-9]{40,}"),
    _kind(
        "password hash",
        "2a|$2a$ 2b|$2b$ 2y|$2y$ 2x|$2x$ 5|$5$ 6|$6$ y|$y$ apr1|$apr1$ argon2id|$argon2 argon2i|$argon2 argon2d|$argon2",
        r"\$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{53}|(?:5|6|y|apr1)\$"
        r"(?:rounds=\d+\$|j\w+\$)?[./A-Za-z0-9]{2,32}\$[./A-Za-z0-9]{22,}|argon2\w*\$v=\d+\$[\w=,]+\$[\w+/]+\$[\w+/]+)",
    ),
    _kind(
        "authorization",
        "authorization",
        r"authorization\\*[\"']?\s*[:=]\s*\\*[\"'f]{0,2}(?:Bearer|Basic|Token|Digest|ApiKey|AWS4-HMAC-SHA256)?[ ]+"
        r"(?P<s>[^\s\"'`\\<>{}$\[]{8,})",
        _is_mixed,
        re.IGNORECASE,
    ),
    _kind("authorization", "bearer 20bearer", r"\bBearer(?:[ ]+|:[ ]?|%20)(?P<s>[A-Za-z0-9_~+/.=-]{16,})", _is_mixed),
    _kind(
        "cookie",
        "cookie|cookie:",
        r"(?<![\w-])(?:Set-)?Cookie:[ \t]*(?P<s>[\w.%$!-]+=[^\s\"'\\;]+(?:;[ ]?[\w.%$!-]+(?:=[^\n\"'\\;]*)?)*)",
        _has_long_value,
        re.IGNORECASE,
    ),
    _kind(
        "password in an address",
        "://",
        r"[a-z][a-z0-9+.-]{1,20}://[^\s:/@\"'<>\\]{0,100}:(?P<s>[^\s/@\"'<>{}$\[\]\\]{3,200})@[\w.\[-]",
        lambda text: text.lower() not in ("password", "pass", "pwd", "secret", "xxx", "***", "****"),
        re.IGNORECASE,
        (24, 330),
        needed="@",
    ),
    _kind(
        "token in an address",
        "://",
        r"https?://(?P<s>[A-Za-z0-9_-]{20,})@[\w.-]+",
        _is_mixed,
        reach=(8, 300),
        needed="@",
    ),
    _kind(
        "password of .netrc",
        "machine",
        r"machine(?<=\bmachine)\s+\S+\s+login\s+\S+\s+password\s+(?P<s>[^\s\"'<$\[]{3,})",
        reach=None,
    ),
    _kind(
        "password of .pgpass",
        "5432|:5432: 3306|:3306: 6432|:6432: 5433|:5433: 1433|:1433:",
        r"^(?:\s*\d+[→\t ]\s*)?[A-Za-z0-9.*-]+:(?:\d{2,5}|\*):[\w*-]+:[\w*-]+:(?P<s>[^\s:\"',;(){}]{6,})$",
        _is_mixed,
        re.MULTILINE,
    ),
    _kind(
        "connection password",
        "password|password pwd|pwd",
        r";\s*(?:Password|Pwd)\s*=\s*(?P<s>[^;\s\"'{}$<\[]{4,})",
        None,
        re.IGNORECASE,
    ),
    _kind(
        EMAIL,
        "@",
        r"(?<![\w.+%:/@-])[A-Za-z0-9][\w.+%-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?\.){1,4}[A-Za-z]{2,18}(?![\w@(-])",
        is_email,
        reach=(65, 100),
    ),
    _kind(
        USER,
        "rw|rw- xr|r-x rwx|rwx drwx|rwx rwxr|rwx drwxr|rwx rwxrwx|rwx drwxrwx|rwx rwxrwxr|rwx drwxrwxr|rwx rwxrwxrwx|rwx drwxrwxrwx|rwx lrwxrwxrwx|rwx",
        r"[-dlbcsp](?:[r-][w-][xsStT-]){3}[@+.]?\s+\d+\s+(?P<s>[A-Za-z][\w.-]{1,31})\s+[\w.-]+\s+\d",
        is_personal,
    ),
    _kind(
        USER, "@", r"(?<![\w.@/-])(?P<s>[a-z_][\w-]{1,31})@[\w-]+:[~/]\S{0,200}[$#](?!\S)", is_personal, reach=(34, 300)
    ),
    # One row per place: the text around a place is cut at its reach, and so would be another name in it.
    _kind(USER, "home|/home/", "/home/" + _NAME_IN_PATH, is_personal, reach=(4, 60)),
    _kind(USER, "users|/users/", "/Users/" + _NAME_IN_PATH, is_personal, reach=(4, 60)),
    _kind(USER, "users|\\users\\", r"[A-Za-z]:\\{1,4}Users\\{1,4}" + _NAME_IN_PATH, is_personal, reach=(4, 60)),
    _kind(USER, "home|-home-", r"(?<![\w-])-home-" + _NAME_IN_PATH, is_personal, reach=(4, 60)),
    _kind(USER, "users|-users-", r"(?<![\w-])-Users-" + _NAME_IN_PATH, is_personal, reach=(4, 60)),
)
"""In the order in which they are tried: where two claim the same letters, the first gets them."""

OPTIONAL = (_kind(ADDRESS, ".", r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.-])", _is_public),)
"""Found only on request: numbers of four parts are versions as often as addresses."""
