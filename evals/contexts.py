"""Secrets in realistic surroundings that the detector is made for; `held_out.py` has those that it is not.

The recipes are explained there.
"""

from __future__ import annotations

import random
import re
import string
from typing import NamedTuple
from uuid import UUID

from reread.features.secrets import Redactor

_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "U": string.ascii_uppercase + "234567",
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "u": string.ascii_letters + string.digits + "_-",
    "l": string.ascii_lowercase,
    "L": string.ascii_lowercase + string.digits,
    "p": string.ascii_letters + string.digits * 2 + "!#%*_-@^+=?",
}
_STEP = re.compile(r"\{(G|[AhUdbulLp]\d+)\}")


class Context(NamedTuple):
    secret: str
    text: str
    around: str
    """The text with `@@` in place of the secret."""


def made(rows: tuple[tuple[str, str], ...], seed: int = 1) -> list[Context]:
    """The rows with letters from a counter: nothing here was ever valid."""
    letters = random.Random(seed)  # noqa: S311  the same letters every time
    secrets = [(_STEP.sub(lambda step: _letters(letters, step[1]), recipe), around) for recipe, around in rows]
    return [Context(secret, around.replace("@@", secret), around) for secret, around in secrets]


def _letters(source: random.Random, step: str) -> str:
    if step == "G":
        return str(UUID(int=source.getrandbits(128), version=4))
    alphabet, length = _ALPHABETS[step[0]], int(step[1:])
    body = [source.choice(alphabet) for _ in range(length)]
    if length >= 8 and step[0] not in "dl":  # what a machine makes has digits, small and capital letters
        for at, kind in zip((1, 3, 5), (string.digits, string.ascii_lowercase, string.ascii_uppercase), strict=True):
            body[at] = source.choice([each for each in alphabet if each in kind] or list(alphabet))
    if step[0] in "pu":
        body[0], body[-1] = source.choice(string.ascii_letters), source.choice(string.ascii_letters)
    return "".join(body)


def leaks(context: Context, redacted: str) -> bool:
    """Whether any stretch of a secret is left."""
    length = min(_PIECE, len(context.secret))
    pieces = (context.secret[at : at + length] for at in range(len(context.secret) - length + 1))
    return any(piece in redacted for piece in pieces)


def is_found(context: Context) -> bool:
    redactor = Redactor()
    redactor.learn(context.text)
    return not leaks(context, redactor.redact(context.text))


_PIECE = 8
"""Letters of a secret that must not be left together."""

CONTEXTS: tuple[tuple[str, str], ...] = (
    # behind colours
    ("ghp_{A36}", "\x1b[31m@@\x1b[0m"),
    ("sk-ant-api03-{u93}AA", "token: \x1b[1;32m@@\x1b[m"),
    ("AKIA{U16}", "\\x1b[36m@@\\x1b[0m"),
    ("xoxb-{d12}-{d12}-{A24}", "\\033[1m@@"),
    ("hunter2secret", "password=\x1b[01;31m@@\x1b[m"),
    ("{A20}", "\x1b[33mDB_PASSWORD\x1b[0m=\x1b[32m@@\x1b[0m"),
    # as it was asked for by name
    ("{b300}", "    client-key-data: @@"),
    ("{b300}", "client-certificate-data: aaa\n    client-key-data: @@\n"),
    ("{l16}", "SMTP_PASSWORD=@@"),
    ("{l4} {l4} {l4} {l4}", "SMTP_PASSWORD=@@"),
    ("{G}", "MY_API_KEY=@@"),
    ("{G}", "SERVICE_TOKEN: '@@'"),
    ("{d9}:AA{u33}", "https://api.telegram.org/bot@@/sendMessage"),
    ("{b40}", "aws configure set aws_secret_access_key @@"),
    ("{A12}", "mysql -u root -p@@ shop"),
    ("{A12}", "sshpass -p @@ ssh ann@host"),
    ("{A12}", "redis-cli -a @@ info"),
    ("{A12}", "tool --password=@@ --verbose"),
    ("{A24}", "ENV API_TOKEN @@"),
    ("{A24}", "setx API_TOKEN @@"),
    ("{A24}", "gh secret set API_TOKEN --body @@"),
    ("{A14}", "<password>@@</password>"),
    ("{A14}", "ansible_ssh_pass=@@"),
    ("{A14}", "ansible_become_pass: @@"),
    ("{A14}", "Passwort: @@"),
    ("{A14}", "mot de passe : @@"),
    ("{U32}", "totp secret: @@"),
    ("{U16}", "otpauth://totp/x?secret=@@"),
    (
        "orbit lemon canyon velvet tiger puzzle garment ripple famous anchor nephew dust",
        "recovery phrase: @@",
    ),
    ("{A16}", "openssl pkcs12 -export -pass pass:@@"),
    ("{A16}", "openssl req -passout pass:@@ -x509"),
    ("hunter2secret", "password=@@"),
    ("hunter2secret", "login --user ann password=@@ now"),
    # tokens
    ("sk-ant-admin01-{u93}AA", "x @@ y"),
    ("github_pat_{A22}_{A59}", "GH=@@"),
    ("glrt-{u20}", "gitlab-runner register --token @@"),
    ("AIza{u35}", "const firebaseConfig = { apiKey: '@@' }"),
    ("SG.{u22}.{u43}", "SENDGRID_API_KEY=@@"),
    ("pypi-AgEIcHlwaS5vcmc{u80}", "TWINE_PASSWORD=@@"),
    ("hvs.{u90}", "vault login @@"),
    ("secret_{A43}", "notion = Client(auth='@@')"),
    ("r8_{A37}", "export REPLICATE_API_TOKEN=@@"),
    ("gsk_{A52}", "groq: @@"),
    ("sk-or-v1-{h64}", "OPENROUTER=@@"),
    ("xai-{A80}", "grok @@"),
    ("pplx-{A48}", "perplexity @@"),
    ("nvapi-{u64}", "NVIDIA @@"),
    ("tgp_v1_{u43}", "together @@"),
    ("fw_{A24}", "FIREWORKS_API_KEY=@@"),
    ("jina_{A60}", "jina @@"),
    ("e2b_{h40}", "e2b @@"),
    ("lin_oauth_{h64}", "linear @@"),
    ("dckr_oat_{u32}", "docker @@"),
    ("tskey-auth-{A16}-{A32}", "tailscale up --authkey @@"),
    ("ops_eyJ{u200}", "OP_SERVICE_ACCOUNT_TOKEN=@@"),
    ("vercel_blob_rw_{A16}_{A32}", "BLOB_READ_WRITE_TOKEN=@@"),
    ("{u27}", "CLOUDINARY_URL=cloudinary://315745894348612:@@@shop"),
    ("rk_live_{A99}", "stripe: @@"),
    ("whsec_{A32}", "stripe listen printed @@"),
    ("{h32}-us6", "mailchimp: @@"),
    ("{d15}|{u27}", "FACEBOOK_ACCESS_TOKEN=@@"),
    ("EAACEdEose0cBA{A120}", "facebook @@"),
    ("APA91b{u130}", "FCM server key=AAAAx81Kd0s:@@"),
    ("oy2{L43}", "nuget push -k @@"),
    ("A3-{U6}-{U11}-{U5}-{U5}-{U5}", "1password secret key @@"),
    ("NRII-{u32}", "newrelic insert @@"),
    ("pul-{h40}", "PULUMI @@"),
    ("bkua_{h40}", "buildkite @@"),
    ("CCIPAT_{A22}_{h40}", "circle @@"),
    ("sgp_{h16}_{h40}", "sourcegraph @@"),
    ("dnkey-{L20}", "DENO_TOKEN=@@"),
    ("key_{h32}", "LAUNCH_API_KEY=@@"),
    ("sdk-{G}", "launchdarkly @@"),
    ("sk.eyJ{u80}.{u22}", "mapbox @@"),
    ("SK{h32}", "twilio @@"),
    ("{h32}", "TWILIO_AUTH_TOKEN=@@"),
    ("ddp_{A36}", "DATADOG=@@"),
    ("LTAI{A20}", "aliyun AccessKeyId @@"),
    ("AKID{A32}", "tencent @@"),
    ("{A30}", "aliyun configure set --access-key-secret @@"),
    ("dG9rZW46{b40}", "Authorization: Basic @@"),
    # config
    ("{A20}", "machine x.test login ann password @@"),
    ("{b40}", '"auth": "@@"'),
    ("{A30}", "[distutils]\npassword: @@"),
    ("{A14}", "localhost:5432:*:postgres:@@"),
    ("{A20}", "      - POSTGRES_PASSWORD=@@"),
    ("{A20}", "      POSTGRES_PASSWORD: @@"),
    ("{A20}", "- name: DB_PASSWORD\n  value: @@"),
    ("{A20}", '{"name": "DB_PASSWORD", "value": "@@"}'),
    ("{b44}", "data:\n  db-password: @@"),
    ("{A20}", 'variable "token" {\n  default = "@@"\n}'),
    ("{A20}", 'password = "@@"\nusername = "x"'),
    ("{A20}", 'connectionString="Server=.;User ID=sa;Password=@@;"'),
    ("{b43}=", "PrivateKey = @@"),
    ("{A20}", "wifi.psk=@@"),
    ("{p14}", "spring.mail.password=@@"),
    ("{p14}", "export DB_PASS='@@'"),
    ("{p14}", "DB_PASS=@@"),
    ("{A40}", "secret-access-key: @@"),
    ("{A40}", "aws_secret_access_key=@@"),
    ("{A32}", "SECRET_KEY_BASE=@@"),
    ("{A32}", "config.secret_key = '@@'"),
    ("{h64}", "session_secret: @@"),
    ("{h40}", "SONAR_TOKEN=@@"),
    ("{A14}", "define('DB_PASSWORD', '@@');"),
    ("{A14}", 'setenv("DB_PASSWORD", "@@", 1)'),
    ("{A14}", "os.environ['DB_PASSWORD'] = '@@'"),
    ("{A14}", "process.env.DB_PASSWORD = '@@'"),
    ("{A14}", '<entry key="password">@@</entry>'),
    ("{A14}", '<add name="ApiPassword" value="@@"/>'),
    ("{A20}", "password: &quot;@@&quot;"),
    ("{A20}", "&quot;password&quot;:&quot;@@&quot;"),
    ("{A20}", "user=ann&password=@@&go=1"),
    ("{A20}", "user%3Dann%26password%3D@@"),
    # tools
    ("{A14}", "curl -u ann:@@ https://x.test"),
    ("{A14}", "curl --user 'ann:@@' https://x.test"),
    ("{A14}", "docker login -u ann -p @@ x.test"),
    ("{A14}", "mongo admin -u root -p @@"),
    ("{A14}", "psql postgresql://app:@@@db/main"),
    ("{A14}", "plink -pw @@ host"),
    ("{A14}", "gpg --batch --passphrase @@ -d x.gpg"),
    ("{A14}", "svn co --username ann --password @@ https://x.test"),
    ("{A14}", "rabbitmqctl add_user ann @@"),
    ("{A14}", "7z a -p@@ out.7z ."),
    ("{A14}", "lftp -u ann,@@ ftp.test"),
    ("{A14}", "ipmitool -H x -U root -P @@ power status"),
    ("{A24}", "ngrok config add-authtoken @@"),
    ("{A24}", "export FOO_TOKEN=@@"),
    ("{A24}", "set -gx FOO_TOKEN @@"),
    ("{A24}", '$env:FOO_TOKEN="@@"'),
    ("{A24}", "set FOO_SECRET=@@"),
    ("{A24}", "pulumi config set --secret dbPassword @@"),
    ("{A24}", "npm config set //x.test/:_authToken @@"),
    ("{A24}", "cargo login @@"),
    ("{A24}", "echo @@ | gh auth login --with-token"),
    ("{A24}", "mc alias set s3 https://x.test access @@"),
    ("{A14}", "SET PASSWORD FOR 'ann'@'%' = PASSWORD('@@');"),
    ("{A14}", "CREATE USER ann IDENTIFIED BY '@@'"),
    ("{A14}", "CREATE ROLE ann LOGIN PASSWORD '@@'"),
    # what people say
    ("{A14}", "password is @@"),
    ("{A14}", "The password for the database is `@@`."),
    ("{A14}", "my password: @@"),
    ("{A14}", "user: admin, pass: @@"),
    ("{A14}", "log in as admin/@@"),
    ("{A24}", "use this api key: @@"),
    ("{A24}", 'the token is "@@"'),
    ("{A14}", "la contraseña es @@"),
    ("{A14}", "Das Passwort ist @@"),
    ("{A14}", "mot de passe: @@"),
    ("{A14}", "Adgangskode: @@"),
    ("{A14}", "lösenord: @@"),
    ("{A14}", "heslo: @@"),
    ("{A14}", "şifre: @@"),
    ("{A14}", "salasana: @@"),
    ("{A14}", "пароль - @@"),
    ("{A14}", "密碼: @@"),
    ("{A14}", "密码是 @@"),
    # requests
    ("{A32}", "Authorization: Bearer @@"),
    ("{A32}", "X-API-Key: @@"),
    ("{A32}", "PRIVATE-TOKEN: @@"),
    ("{A32}", "x-goog-api-key: @@"),
    ("{A32}", "https://x.test/v1?access_token=@@&a=1"),
    ("{A32}", "https://x.test/v1?key=@@"),
    ("{A40}", "Cookie: sid=@@"),
    ("{A32}", "https://x.webhook.office.com/webhookb2/0b2f3c@tenant/IncomingWebhook/@@/user"),
    ("{h32}", "https://sentry.test/api/1/store/?sentry_key=abc&sentry_secret=@@"),
    ("{A43}", "https://fn.azurewebsites.test/api/x?code=@@=="),
    ("{A24}", '{\\"password\\":\\"@@\\"}'),
    ("{A24}", "+    api_secret: @@"),
    ("{A24}", "-DB_PASSWORD=@@"),
    ("{A24}", "Error: auth failed for {'user': 'x', 'password': '@@'}"),
)
"""Services, tools, forms and languages, each as it is met in a session."""
