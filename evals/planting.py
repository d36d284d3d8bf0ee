"""Made-up secrets of every kind, each in the words it is usually met in; and ordinary texts that look like them.

Nothing here was ever valid: the letters come from a counter.
"""

from __future__ import annotations

import random
import string
from typing import NamedTuple

_LETTERS = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + "234567"
_HEX = "0123456789abcdef"
_BASE64 = _LETTERS + "+/"
_URL = _LETTERS + "_-"


class Planted(NamedTuple):
    kind: str
    secret: str
    text: str
    """The secret in its usual surroundings."""


class _Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311  the same letters every time

    def of(self, letters: str, length: int) -> str:
        """Letters that hold a digit, a small and a capital letter, where there are such."""
        made = "".join(self.random.choice(letters) for _ in range(length - 3))
        kinds = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
        sure = [self.random.choice([each for each in letters if each in kind] or list(letters)) for kind in kinds]
        return made[: length // 2] + "".join(sure) + made[length // 2 :]


def planted(seed: int = 1) -> list[Planted]:
    """One or more of each kind."""
    return [
        Planted(kind, secret, text.replace("@@", secret)) for kind, secret, text in (*_by_shape(seed), *_by_name(seed))
    ]


def _by_shape(seed: int) -> list[tuple[str, str, str]]:
    a = _Maker(seed).of
    key = "\n".join(a(_BASE64, 64) for _ in range(4))
    return [
        ("Anthropic", f"sk-ant-api03-{a(_URL, 80)}", "ANTHROPIC_API_KEY=@@"),
        ("OpenAI", f"sk-proj-{a(_URL, 60)}", 'client = OpenAI(api_key="@@")'),
        ("OpenAI old", f"sk-{a(_LETTERS, 48)}", "the key is @@ now"),
        ("OpenRouter", f"sk-or-v1-{a(_HEX, 64)}", "@@"),
        ("AWS id", f"AKIA{a(_UPPER, 16)}", "aws_access_key_id = @@"),
        ("AWS secret", a(_BASE64, 40), "aws_secret_access_key = @@"),
        ("AWS Bedrock", f"ABSK{a(_BASE64, 80)}", "export TOKEN @@"),
        ("Google", f"AIza{a(_URL, 35)}", "https://maps.test/?key=@@&x=1"),
        ("Google OAuth secret", f"GOCSPX-{a(_URL, 28)}", '"client_secret":"@@"'),
        ("Google OAuth token", f"ya29.{a(_URL, 60)}", "got @@ back"),
        ("Azure storage", a(_BASE64, 86) + "==", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=@@;"),
        ("Azure client", f"a{a(_LETTERS, 2)[:1]}c8Q~{a(_LETTERS, 34)}", "AZURE_SECRET: @@"),
        ("GitHub", f"ghp_{a(_LETTERS, 36)}", "git clone https://@@:x-oauth-basic@github.com/a/b"),
        ("GitHub fine", f"github_pat_{a(_LETTERS, 22)}_{a(_LETTERS, 59)}", "token @@."),
        ("GitLab", f"glpat-{a(_URL, 20)}", "curl --header 'PRIVATE-TOKEN: @@' https://gitlab.test"),
        ("Slack", f"xoxb-{a(string.digits, 12)}-{a(string.digits, 12)}-{a(_LETTERS, 24)}", "SLACK @@"),
        ("Slack hook", f"T{a(_UPPER, 8)}/B{a(_UPPER, 8)}/{a(_LETTERS, 24)}", "https://hooks.slack.com/services/@@"),
        ("Discord", f"M{a(_LETTERS, 23)}.{a(_LETTERS, 6)}.{a(_URL, 37)}x", "bot.run('@@')"),
        ("Discord hook", f"{a(string.digits, 18)}/{a(_URL, 68)}", "https://discord.com/api/webhooks/@@"),
        ("Telegram", f"{a(string.digits, 9)}:AA{a(_URL, 32)}x", "bot @@ started"),
        ("Stripe", f"sk_live_{a(_LETTERS, 24)}", "stripe.api_key = '@@'"),
        ("Stripe hook", f"whsec_{a(_LETTERS, 32)}", "@@"),
        ("Twilio", f"SK{a(_HEX, 32)}", "twilio api:key @@"),
        ("SendGrid", f"SG.{a(_URL, 22)}.{a(_URL, 43)}", "SENDGRID=@@"),
        ("Mailgun", f"key-{a(_HEX, 32)}", "mailgun @@"),
        ("Mailchimp", f"{a(_HEX, 32)}-us12", "mailchimp @@"),
        ("npm", f"npm_{a(_LETTERS, 36)}", "//registry.npmjs.org/:_authToken=@@"),
        ("PyPI", f"pypi-AgEIcHlwaS5vcmc{a(_URL, 60)}", "twine upload -u __token__ -p @@"),
        ("RubyGems", f"rubygems_{a(_HEX, 48)}", "@@"),
        ("Docker", f"dckr_pat_{a(_URL, 27)}", "docker login -p @@"),
        ("DigitalOcean", f"dop_v1_{a(_HEX, 64)}", "doctl auth init -t @@"),
        ("Heroku", f"HRKU-{a(_LETTERS, 36)}", "heroku @@"),
        ("Hugging Face", f"hf_{a(_LETTERS, 34)}", "login(token='@@')"),
        ("Replicate", f"r8_{a(_LETTERS, 37)}", "@@"),
        ("Groq", f"gsk_{a(_LETTERS, 52)}", "groq @@"),
        ("Databricks", f"dapi{a(_HEX, 32)}", "databricks @@"),
        ("Linear", f"lin_api_{a(_LETTERS, 40)}", "linear @@"),
        ("Notion", f"ntn_{a(_LETTERS, 46)}", "notion @@"),
        ("Shopify", f"shpat_{a(_HEX, 32)}", "shopify @@"),
        ("New Relic", f"NRAK-{a(string.ascii_uppercase + string.digits, 27)}", "@@"),
        ("Grafana", f"glsa_{a(_LETTERS, 32)}_{a(_HEX, 8)}", "grafana @@"),
        ("Vault", f"hvs.{a(_URL, 90)}", "VAULT_TOKEN=@@"),
        ("Terraform", f"{a(_LETTERS, 14)}.atlasv1.{a(_LETTERS, 67)}", "@@"),
        ("Figma", f"figd_{a(_URL, 40)}", "@@"),
        ("Airtable", f"pat{a(_LETTERS, 14)}.{a(_HEX, 64)}", "airtable @@"),
        ("Postman", f"PMAK-{a(_HEX, 24)}-{a(_HEX, 34)}", "@@"),
        ("Atlassian", f"ATATT3{a(_URL, 120)}", "jira @@"),
        ("Supabase", f"sbp_{a(_HEX, 40)}", "@@"),
        ("JWT", f"eyJ{a(_URL, 30)}.eyJ{a(_URL, 60)}.{a(_URL, 43)}", "cookie jar: @@"),
        ("private key", key, "-----BEGIN RSA PRIVATE KEY-----\n@@\n-----END RSA PRIVATE KEY-----"),
        ("ssh key", key[::-1], "-----BEGIN OPENSSH PRIVATE KEY-----\n@@\n-----END OPENSSH PRIVATE KEY-----"),
        ("age", f"AGE-SECRET-KEY-1{a(string.ascii_uppercase + string.digits, 58)}", "# created\n@@"),
    ]


def _by_name(seed: int) -> list[tuple[str, str, str]]:
    a = _Maker(seed + 1000).of
    strong = _LETTERS + "!#%*_-"
    return [
        ("URL", a(_LETTERS, 14), "DATABASE_URL=postgres://app:@@@db.internal:5432/main"),
        ("redis", a(_LETTERS, 12), "redis://:@@@cache:6379/0"),
        ("bearer", a(_LETTERS, 32), "curl -H 'Authorization: Bearer @@' https://api.test"),
        ("basic", a(_LETTERS, 24), "Authorization: Basic @@"),
        ("cookie", a(_LETTERS, 32), "Cookie: theme=dark1; sessionid=@@"),
        (".netrc", a(_LETTERS, 14), "machine api.test login ann password @@"),
        (".pgpass", a(_LETTERS, 14), "db.internal:5432:main:app:@@"),
        ("curl", a(_LETTERS, 14), "curl -u admin:@@ https://api.test/x"),
        ("password", a(strong, 14), 'password = "@@"'),
        ("password yaml", a(_LETTERS, 14), "  db_password: @@"),
        ("password json", a(_LETTERS, 14), '{\\"password\\": \\"@@\\"}'),
        ("password option", a(_LETTERS, 14), "mysql --password=@@ -h db"),
        ("secret", a(_LETTERS, 32), "JWT_SECRET=@@"),
        ("client secret", a(_LETTERS, 40), 'client_secret: "@@",'),
        ("api key", a(_HEX, 32), "X_API_KEY: '@@'"),
        ("key", a(_BASE64, 43) + "=", "ENCRYPTION_KEY=@@"),
        ("Cloudflare", a(_URL, 40), "CLOUDFLARE_API_TOKEN=@@"),
        ("ADO", a(_LETTERS, 14), "Server=db;Database=x;User Id=sa;Password=@@;"),
        ("hash", f"$2b$12${a(_LETTERS, 53)}", "admin:@@"),
        ("e-mail", "marta.lindqvist@kestrelworks.se", "ask @@ about it"),
        ("user", "mlindqvist", "/home/@@/lantern/src/retry.py"),
        ("user mac", "marta_l92", "cd /Users/@@/code"),
        ("user windows", "MartaLindq", "C:\\Users\\@@\\code"),
    ]


ORDINARY = (
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 Merge branch 'main'",
    "uuid 3f2a9c10-5b7e-4d61-9a34-0c8f1e2d7b65 and toolu_01A09q90qw90lq917835lq9",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    "def login(user, password): return check_password(user.password_hash, password)",
    "password = getpass.getpass('Password: ')",
    "token = os.environ['GITHUB_TOKEN']",
    "const apiKey = process.env.STRIPE_SECRET_KEY ?? '';",
    "api_key: ${{ secrets.NPM_TOKEN }}",
    "password: <your-password-here>",
    "export ANTHROPIC_API_KEY=your-api-key-here",
    "input_tokens: 1200, output_tokens: 345, cache_read_input_tokens: 41000",
    '{"max_tokens": 4096, "token_count": 12, "tokenizer": "cl100k_base"}',
    "token_type: bearer, expires_in: 3600",
    "self.token = token; self.secret = None",
    "the secret of good tests is small fixtures",
    "Your password must be at least 12 characters long.",
    '<input type="password" name="password" placeholder="Password">',
    "passwordInput.addEventListener('change', validatePassword)",
    "npm install react@18.2.0 @types/node@20.11.5 typescript@latest",
    "git clone git@github.com:ann/lantern.git",
    "git remote add origin ssh://git@gitlab.test/ann/lantern.git",
    "Co-Authored-By: Claude <noreply@anthropic.com>",
    "mail to user@example.com or admin@test.org",
    "logo@2x.png and icon@3x.webp",
    "@pytest.fixture(scope='module')",
    "systemctl status getty@tty1.service",
    "/home/user/project/src and /Users/runner/work and /home/ubuntu",
    "ls /home && cd ~ && echo $HOME",
    "http://localhost:8080/path?query=1#part and https://user@host.test/x",
    "postgres://localhost:5432/app and redis://cache:6379",
    "postgres://user:password@localhost/db",
    "key = sorted(rows, key=lambda row: row.name)",
    "for key, value in settings.items(): print(key, value)",
    "keyboard: j/k to move; primary_key=True; foreign_key='session.id'",
    "KEY_ENTER = 13; public_key = load('id_rsa.pub')",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 ann",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n-----END CERTIFICATE-----",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "Authorization: Bearer $TOKEN",
    "headers['Authorization'] = f'Bearer {token}'",
    "Set the cookie: name and value, then read document.cookie",
    "src/auth/token.py:42: class TokenStore: secret_key = settings.SECRET_KEY",
    "auth: required; author: Ann; authored 3 commits; authenticate()",
    "version 1.2.3.4 of the client; 10.0.0.1 and 127.0.0.1",
    "const SESSION_KEY = 'reread.session'; const STORAGE_KEY = 'theme';",
    "machine learning with a login form and a password field",
    "12:30:45:678:900 and a:b:c:d:e and http:80:x",
    "skill-creator, sk-learn, task-runner, risk-assessment-of-the-new-billing-module",
    "hf_hub_download(repo_id='x'); npm_config_registry; pat_match; key-value-store",
    "$2 million, $6 per unit, cost $12.50",
    "The pin is on the map; spinning; opinion: fine",
    "auth_token_expired_error = AuthTokenExpiredError(message_for_user)",
    "PASSWORD_RESET_TIMEOUT = 259200",
    "-rw-r--r-- 1 root root 1403 Sep 20 12:25 a.txt",
    "root@lantern:~# ls /home/dev",
)
"""Texts of everyday work with hashes, ids, e-mail-like strings and code about passwords: no secrets."""
