"""Secrets that their own shape gives away: one row each.

The shapes are those that the services document or that their keys are seen to have. A hint is a part of it in small
letters: a text without any of a row's hints is not held against its pattern, which makes the search ten times faster.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

EMAIL = "e-mail address"
USER = "user"
ADDRESS = "IP address"


class Kind(NamedTuple):
    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    """The secret is its group `s`, or all of it."""
    is_one: Callable[[str], bool] | None = None
    """Says of a match whether it is a secret after all."""


def _kind(name: str, hints: str, pattern: str, is_one: Callable[[str], bool] | None = None, flags: int = 0) -> Kind:
    return Kind(name, tuple(hints.split()), re.compile(pattern, flags), is_one)


_L, _R = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))", r"(?![A-Za-z0-9_-])"
"""Where a token begins and ends: inside a longer word it is something else. The `n` of an escaped line break is no part
of one: texts hold JSON in strings of JSON."""
_BASE64 = re.compile(r"[A-Za-z0-9+/=]{16,}")
_EXAMPLES = re.compile(
    r"(?:^|[@.])(?:example|test|invalid|localhost|domain|email|company|foo|bar)\.(?:com|org|net|io|test|invalid)$",
    re.IGNORECASE,
)
_FILES = frozenset(
    """c cc cfg conf cpp css csv gif go h html ico ini java jpeg jpg js json jsx lock log md mjs pdf php png py rb rs
    scss sh sql svg svelte swift toml ts tsx txt vue webp xml yaml yml zip service timer target mount socket""".split()  # noqa: SIM905
)
"""Endings that no address has: `logo@2x.png`, `getty@tty1.service`."""
_NOBODY = frozenset({"git", "noreply", "no-reply", "donotreply", "hg", "svn"})
GENERIC_NAMES = frozenset(
    """user users username name you me runner ubuntu debian node app vscode codespace shared public default guest admin
    root claude home test linuxbrew circleci vagrant pi ec2-user jovyan project projects workspace docker all
    dev developer build builder deploy deployer jenkins gitlab-runner git ansible postgres mysql redis nginx nobody
    coder worker server service system daemon data local agent student python ruby kali bin wheel""".split()  # noqa: SIM905
)
"""Names that say nothing of a person."""


def is_key_body(text: str) -> bool:
    return sum(map(len, _BASE64.findall(text))) >= 40


def is_email(text: str) -> bool:
    local, _, domain = text.lower().rpartition("@")
    return not (local in _NOBODY or domain.rpartition(".")[2] in _FILES or _EXAMPLES.search(domain))


def is_personal(name: str) -> bool:
    return name.lower() not in GENERIC_NAMES and not name.startswith(("$", "<", "{", "*", ".", "%", "[", "-"))


def _is_mixed(text: str) -> bool:
    """Digits and letters: what is made of one of them only is a name or a number."""
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def _has_long_value(cookies: str) -> bool:
    return any(len(each.partition("=")[2]) >= 10 for each in cookies.split(";"))


def _is_public(address: str) -> bool:
    """No address of a private network or of documentation, and no version of four parts."""
    parts = [int(part) for part in address.split(".")]
    local = parts[0] in (0, 10, 127, 255) or parts[:2] in ([192, 168], [169, 254]) or parts[:3] in _DOCUMENTED
    return all(part < 256 for part in parts) and not local and not (parts[0] == 172 and 16 <= parts[1] < 32)


_DOCUMENTED = ([192, 0, 2], [198, 51, 100], [203, 0, 113])

KINDS: tuple[Kind, ...] = (
    _kind(
        "private key",
        "-----begin",
        r"-----BEGIN (?P<what>[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----(?P<s>.*?)(?:-----END (?P=what)-----|\Z)",
        is_key_body,
        re.DOTALL,
    ),
    _kind(
        "PuTTY key",
        "putty-user-key-file",
        r"Private-Lines: \d+\s+(?P<s>.*?)(?=\n\S*Private-MAC|\Z)",
        is_key_body,
        re.DOTALL,
    ),
    _kind("age key", "age-secret-key-1", r"AGE-SECRET-KEY-1[0-9A-Za-z]{40,}"),
    _kind("JSON web token", "eyj", _L + r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{6,}"),
    _kind("Anthropic key", "sk-ant-", _L + r"sk-ant-[a-z0-9]+-[\w-]{20,}"),
    _kind("OpenRouter key", "sk-or-", _L + r"sk-or-v1-[0-9a-f]{32,}"),
    _kind("OpenAI key", "sk-", _L + r"sk-(?:(?:proj|svcacct|admin|None)-[\w-]{20,}|[A-Za-z0-9]{32,})" + _R),
    _kind("AWS access key", "akia asia abia acca", _L + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}" + _R),
    _kind("AWS Bedrock key", "absk", _L + r"ABSK[A-Za-z0-9+/]{60,}={0,2}"),
    _kind("Google API key", "aiza", _L + r"AIza[\w-]{35}" + _R),
    _kind("Google OAuth secret", "gocspx-", r"GOCSPX-[\w-]{24,}"),
    _kind("Google OAuth token", "ya29.", _L + r"ya29\.[\w-]{20,}"),
    _kind("Google refresh token", "1//0", r"(?<![\w/])1//0[\w-]{30,}"),
    _kind("Google key id", "private_key_id", r"private_key_id\\*\"\s*:\s*\\*\"(?P<s>[0-9a-f]{40})"),
    _kind("Azure storage key", "accountkey=", r"AccountKey=(?P<s>[A-Za-z0-9+/]{40,}={0,2})", None, re.IGNORECASE),
    _kind("Azure access signature", "sig=", r"[?&;](?:amp;)?sig=(?P<s>[A-Za-z0-9%+/]{30,}(?:%3D|=)*)"),
    _kind("Azure client secret", "q~", r"(?<![\w.~-])[\w.~]{3}\dQ~[\w.~-]{31,34}"),
    _kind(
        "Azure service bus key",
        "sharedaccesskey=",
        r"SharedAccessKey=(?P<s>[A-Za-z0-9+/]{20,}={0,2})",
        None,
        re.IGNORECASE,
    ),
    _kind("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", _L + r"gh[pousr]_[A-Za-z0-9]{30,}" + _R),
    _kind("GitHub token", "github_pat_", _L + r"github_pat_\w{22,}"),
    _kind(
        "GitLab token",
        "glpat- gldt- glrt- glcbt- glptt- glsoat- glft-",
        _L + r"gl(?:pat|dt|rt|cbt|ptt|soat|ft)-[\w.-]{20,}",
    ),
    _kind("Bitbucket token", "atbb", _L + r"ATBB[A-Za-z0-9]{24,}" + _R),
    _kind("Atlassian token", "atatt3", _L + r"ATATT3[\w=-]{50,}"),
    _kind("Slack token", "xox", _L + r"xox[abceoprs]-[A-Za-z0-9-]{10,}", _is_mixed),
    _kind("Slack app token", "xapp-", _L + r"xapp-\d-[A-Za-z0-9-]{20,}"),
    _kind(
        "Slack webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<s>[A-Za-z0-9]+/[A-Za-z0-9]+/[A-Za-z0-9]{10,})",
    ),
    _kind("Discord token", ".", _L + r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}" + _R, _is_mixed),
    _kind("Discord webhook", "discord", r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/(?P<s>\d{10,}/[\w-]{30,})"),
    _kind("Telegram token", ":aa", r"(?<![\w:])\d{8,10}:AA[\w-]{32,35}" + _R),
    _kind("Teams webhook", "webhook.office.com", r"webhook\.office\.com/webhookb2/(?P<s>[\w@/-]{36,})"),
    _kind("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_", _L + r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}" + _R),
    _kind("Stripe webhook secret", "whsec_", _L + r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    _kind("Square token", "sq0 eaaa", _L + r"(?:sq0[a-z]{3}-[\w-]{22,}|EAAA[\w-]{60})" + _R),
    _kind("PayPal token", "access_token$", r"access_token\$(?:production|sandbox)\$\w{10,}\$[0-9a-f]{32}"),
    _kind("Twilio key", "sk", _L + r"SK[0-9a-f]{32}" + _R),
    _kind("SendGrid key", "sg.", _L + r"SG\.[\w-]{16,}\.[\w-]{30,}"),
    _kind("Mailgun key", "key-", _L + r"key-[0-9a-f]{32}" + _R),
    _kind("Mailchimp key", "-us", _L + r"[0-9a-f]{32}-us\d{1,2}" + _R),
    _kind("Resend key", "re_", _L + r"re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}" + _R, _is_mixed),
    _kind("npm token", "npm_", _L + r"npm_[A-Za-z0-9]{30,}" + _R, _is_mixed),
    _kind("npm token", "_authtoken", r"_authToken\s*=\s*(?P<s>[^\s\"'$\[]{8,})"),
    _kind("PyPI token", "pypi-", _L + r"pypi-AgE[\w-]{40,}"),
    _kind("RubyGems key", "rubygems_", _L + r"rubygems_[0-9a-f]{40,}"),
    _kind("crates.io token", "cio", _L + r"cio[A-Za-z0-9]{32}" + _R, _is_mixed),
    _kind("Docker token", "dckr_", _L + r"dckr_(?:pat|oat)_[\w-]{20,}"),
    _kind("DigitalOcean token", "_v1_", _L + r"do[opr]_v1_[0-9a-f]{40,}"),
    _kind("Heroku key", "hrku-", _L + r"HRKU-[\w-]{30,}"),
    _kind("Cloudflare key", "v1.0-", _L + r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"),
    _kind("Netlify token", "nfp_", _L + r"nfp_[A-Za-z0-9]{30,}" + _R),
    _kind("Fly.io token", "fm1 fm2", _L + r"fm[12][ar]?_[A-Za-z0-9+/]{40,}={0,2}"),
    _kind("Hugging Face token", "hf_", _L + r"hf_[A-Za-z0-9]{30,}" + _R),
    _kind("Replicate token", "r8_", _L + r"r8_[A-Za-z0-9]{30,}" + _R),
    _kind("Groq key", "gsk_", _L + r"gsk_[A-Za-z0-9]{40,}" + _R),
    _kind("xAI key", "xai-", _L + r"xai-[A-Za-z0-9]{60,}" + _R),
    _kind("Perplexity key", "pplx-", _L + r"pplx-[A-Za-z0-9]{40,}" + _R),
    _kind("Databricks token", "dapi", _L + r"dapi[0-9a-f]{32}(?:-\d)?" + _R),
    _kind("Linear key", "lin_api_", _L + r"lin_api_[A-Za-z0-9]{30,}" + _R),
    _kind("Notion token", "secret_ ntn_", _L + r"(?:secret|ntn)_[A-Za-z0-9]{40,}" + _R, _is_mixed),
    _kind("Shopify token", "shp", _L + r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}" + _R),
    _kind("New Relic key", "nrak-", _L + r"NRAK-[A-Z0-9]{27}" + _R),
    _kind("Sentry token", "sntrys_ sntryu_", _L + r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    _kind("Grafana token", "glsa_ glc_", _L + r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{32,}={0,2})"),
    _kind("Vault token", "hvs. hvb. hvr.", _L + r"hv[sbr]\.[\w-]{24,}"),
    _kind("Terraform token", ".atlasv1.", _L + r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
    _kind("Doppler token", "dp.", _L + r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]+\.)?[A-Za-z0-9]{40,}"),
    _kind("Figma token", "figd_", _L + r"figd_[\w-]{30,}"),
    _kind("Airtable token", "pat", _L + r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}" + _R),
    _kind("Postman key", "pmak-", _L + r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _kind("Supabase key", "sbp_ sb_secret_", _L + r"(?:sbp_[0-9a-f]{40}|sb_secret_[\w-]{20,})"),
    _kind("PlanetScale token", "pscale_", _L + r"pscale_(?:tkn|pw|oauth)_[\w.-]{32,}"),
    _kind(
        "password hash",
        "$2 $5$ $6$ $y$ $apr1$ $argon2",
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
    _kind("authorization", "bearer", r"\bBearer[ ]+(?P<s>[A-Za-z0-9_~+/.=-]{16,})", _is_mixed),
    _kind(
        "cookie",
        "cookie:",
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
    ),
    _kind("token in an address", "://", r"https?://(?P<s>[A-Za-z0-9_-]{20,})@[\w.-]+", _is_mixed),
    _kind("password of .netrc", "machine", r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+(?P<s>[^\s\"'<$\[]{3,})"),
    _kind(
        "password of .pgpass",
        ":",
        r"^(?:\s*\d+[→\t ]\s*)?[A-Za-z0-9.*-]+:(?:\d{2,5}|\*):[\w*-]+:[\w*-]+:(?P<s>[^\s:\"',;(){}]{6,})$",
        _is_mixed,
        re.MULTILINE,
    ),
    _kind("password of curl", "-u", r"\bcurl\b[^\n|]*?\s(?:-u|--user)[ =]?[\"']?[\w.@-]+:(?P<s>[^\s\"'$<{\[]{4,})"),
    _kind(
        "connection password",
        "password= pwd=",
        r";\s*(?:Password|Pwd)\s*=\s*(?P<s>[^;\s\"'{}$<\[]{4,})",
        None,
        re.IGNORECASE,
    ),
    _kind(
        EMAIL,
        "@",
        r"(?<![\w.+%:/@-])[A-Za-z0-9][\w.+%-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?\.){1,4}[A-Za-z]{2,18}(?![\w@(-])",
        is_email,
    ),
    _kind(
        USER,
        "rw- r-x rwx r--",
        r"[-dlbcsp](?:[r-][w-][xsStT-]){3}[@+.]?\s+\d+\s+(?P<s>[A-Za-z][\w.-]{1,31})\s+[\w.-]+\s+\d",
        is_personal,
    ),
    _kind(USER, "@", r"(?<![\w.@/-])(?P<s>[a-z_][\w-]{1,31})@[\w-]+:[~/]\S{0,200}[$#](?!\S)", is_personal),
    _kind(
        USER,
        "/home/ /users/ \\users\\ -home- -users-",
        r"(?:/home/|/Users/|[A-Za-z]:\\{1,4}Users\\{1,4}|[A-Za-z]:/Users/|(?<![\w-])-(?:home|Users)-)"
        r"(?P<s>[A-Za-z0-9_.\u00c0-\uffff][\w.\u00c0-\uffff]{0,40})(?![\w.]*[(=])",
        is_personal,
    ),
)
"""In the order in which they are asked: where two claim the same letters, the first has them."""

OPTIONAL = (_kind(ADDRESS, ".", r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.-])", _is_public),)
"""Only where they are asked for: numbers of four parts are versions as often as addresses."""
