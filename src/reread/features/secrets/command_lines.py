"""Passwords and keys given to programs on their command lines, and tokens recognised only by a word near them."""

from __future__ import annotations

import re

from .secret_values import is_excluded, is_key, is_meant, is_password, is_random

# ruff: noqa: E501, SIM905  a row is a line


Row = tuple[str, str, str]

_V = r"[\"']?(?P<s>(?<=\")[^\"\n]{4,200}(?=\")|(?<=')[^'\n]{4,200}(?=')|(?<![\"'])[^\s\"'`|;]{4,200})"
"""A word of a command line, quoted or not."""
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
    ("password of a key", "keygen", rf"\bssh-keygen{_REST}\s-[NP][ ]?{_V}"),
    ("password of a command", "send", r"\bsend\s+(?:--\s+)?\\*\"(?P<s>(?=[^\"]*\d)[^\s\"\\$]{8,})\\+[rn]\\*\""),
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
    ("password of a command", "net", r"\bnet use\b[^\n]{0,120}?/user:\S+\s+(?P<s>[^\s/*]\S{5,})"),
    ("password of a command", "net", r"\bnet user\s+\S+\s+(?P<s>[^\s/*]\S{5,})(?=\s+/add|\s*$)"),
    (
        "password of a command",
        "rp|/rp pass|/pass password|/password pwd|/pwd",
        rf"\s/(?:rp|pass|password|pwd)[ :=]{_V}",
    ),
    (
        "password of a command",
        "u|-u username|--username",
        r"\s--?u(?:ser(?:name)?)?[ =]?[\"']?[\w.@\\-]+[\"']?\s+-p[ ]?[\"']?(?P<s>(?=[^\s\"']*\d)(?=[^\s\"']*[A-Za-z])[^\s\"':/.|;]{8,200})(?![^\s\"'])",
    ),
    (
        "password of a page",
        "type|.type( fill|.fill( sendkeys send|send_keys setvalue set|set_value",
        r"(?i:passw\w*|pwd|passcode)[^\n]{0,24}?\)\.(?:type|fill|sendKeys|send_keys|setValue|set_value)\(\s*[\"'](?P<s>[^\"'\n]{5,})[\"']",
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
        r"(?:sudo\s+-\w*S|--with-token|--password-stdin|--stdin|passwd|--data-file=-|secrets?\s+(?:put|set|create)\s+\S+)(?!\w)[^\n|;&]{0,60}<<<\s*[\"']?(?P<s>[^\s\"'$]{5,})",
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
        "password of a command",
        "mkpasswd passwd obscure",
        rf"\b(?:mkpasswd|openssl\s+passwd|rclone\s+obscure)(?:\s+-\S+(?:\s+sha-\d+)?)*\s+(?![-|]){_V}",
    ),
    (
        "password of a command",
        "kinit cryptsetup passwd smbpasswd vncpasswd",
        r"\b(?:echo|printf)\s+(?:-\w+\s+)?[\"']?(?P<s>[^\s\"'|$]{6,})[\"']?\s*\|\s*(?:sudo\s+)?(?:kinit|cryptsetup|passwd|smbpasswd|vncpasswd)\b",
    ),
    ("password of a command", "vault", rf"\bvault\s+(?:kv\s+)?(?:put|patch|write)\s+(?:-\S+\s+)*\S+\s+[\w.-]+={_V}"),
    (
        "password of a user",
        "identified",
        r"\bIDENTIFIED\s+(?:WITH\s+\S+\s+)?(?:BY|AS)\s+(?:PASSWORD\s+)?\\*[\"'](?P<s>[^\"'\n\\]{4,})",
    ),
    ("password of a user", "password", r"\bPASSWORD\s*\(?\s*\\*'(?P<s>[^'\n\\]{5,})\\*'"),
    (
        "password of .netrc",
        "password",
        r"\b(?:login|user|account)\s+(?!(?:and|or|und|oder|et|with|via|the|your|name|form|page|&|\+|/)\s)\S+\s+password\s+(?P<s>[^\s\"'<$\[:=]{4,})(?=\s|\Z|\\n)",
    ),
    (
        "password of a user",
        "credentials creds credential admin root|root/ zugangsdaten anmeldedaten logindaten identifiants credenciales credenziali inloggegevens",
        r"(?:\b(?i:cred\w*|(?:zugangs|anmelde|login)daten|identifiants|inloggegevens)\b[^\n/]{0,24}?\b[\w.@-]{2,40}|\b(?:admin|root|user|test))[ ]?/[ ]?(?P<s>(?=[^\s/]*\d)(?=[^\s/]*[A-Za-z])[^\s/,;)\"'`.]{8,40})(?=[\s,.;)\"'`]|$)(?!\.\w)",
    ),
    (
        "password of a user",
        "admin|admin: root|root: administrator|administrator:",
        r"(?<![\w./:@-])(?:admin|root|administrator):(?P<s>(?=\S*\d)(?=\S*[A-Za-z])[^\s:/,;)\"'`@]{8,40})(?=[\s,;)\"'`]|\.?$|\.\s)",
    ),
    (
        "password of a user",
        "insert|values",
        r"\bVALUES\s*\((?:[^()\n]{0,120},)?\s*'[^'\s@]{1,64}@[^'\s]{3,64}'\s*,\s*'(?P<s>(?=[^'\n]*[^A-Za-z'\n])(?=[^'\n]*[A-Za-z])[^'\n]{6,100})'",
    ),
    ("password of redis", "requirepass masterauth", r"\b(?:requirepass|masterauth)\s+[\"']?(?P<s>[^\s\"':=]{5,})"),
    ("password of Wi-Fi", "wifi", r"\bWIFI:[^\s;]{0,80};[^\n]{0,80}?\bP:(?P<s>[^;\n\"']{8,63})"),
    ("password of a database", "oracle", r"\bjdbc:oracle:\w+:\w+/(?P<s>[^\s@/\"']{4,})@"),
    ("password of Wi-Fi", "wifi", r"\bwifi\b[^\n]{0,80}\bpassword\s+[\"']?(?P<s>[^\s\"']{8,63})"),
)

CALLS: tuple[Row, ...] = (
    (
        "password of a call",
        "login|login( auth|auth( authenticate|authenticate( connect|connect( pdo|pdo( user|user( superuser|superuser( setbasicauth basic|basic( signin signinwithemailandpassword createuser",
        r"(?:\b(?i:log_?in|sign_?in\w*|authenticate|auth|basic|\w*connect|pdo|\w*create_?(?:super)?user|setbasicauth))\s*\((?:[^()\n]{0,160}?,)?\s*[\"'][^\"'\n]{1,60}[\"']\s*,\s*[\"'](?P<s>(?=[^\"'\n]*\d)(?=[^\"'\n]*[A-Za-z])[^\"'\n\s]{8,100})[\"']",
    ),
    (
        "password of a call",
        "hashpw encrypt crypt|crypt( sha2|sha2( sha1|sha1( md5|md5( string|encrypt_string",
        r"\b(?:hashpw\(|(?:crypt|pgp_sym_\w+|SHA[12]|MD5)\(\s*(?=')|encrypt_string\s)\s*b?[\"'](?P<s>(?=[^\"'\n]*\d)(?=[^\"'\n]*[A-Za-z])[^\"'\n]{8,100})[\"']",
    ),
    (
        "key of a call",
        "fernet aes|aes.new cookiestore cookieparser cookiesession stripe|stripe( createclient|createclient( sendgridapiclient octokit webclient resend|resend(",
        r"\b(?:Fernet|AES\.new|\w*CookieStore|cookie(?:Parser|Session)|Stripe|createClient|SendGridAPIClient|Octokit|WebClient|Resend)\((?:\s*[\"'][^\"'\n]{0,120}[\"']\s*,)?\s*(?:\[\]byte\()?b?[\"'](?P<s>[A-Za-z0-9+/_=-]{16,})[\"']",
    ),
)
"""Arguments whose place says that they are passwords or keys; looked for only near the name of the call."""

KEYS: tuple[Row, ...] = (
    (
        "token of Twilio",
        "twilio client|client( twiliorestclient|client(",
        r"AC[0-9a-f]{32}\\*[\"']?\s*[,:]\s*\\*[\"']?(?P<s>[0-9a-f]{32})",
    ),
    ("key of Vault", "unseal", r"\bunseal\s+(?:-\S+\s+)*[\"']?(?P<s>[A-Za-z0-9+/]{40,}={0,2})"),
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
        "code|code= sig|sig= signature|signature= key|key= appid|appid= id|app_id=",
        r"[?&;](?:amp;)?[\w.-]{0,30}?(?:key|sig|signature|code|app_?id)=(?P<s>[^\s&\"'`<>#\\|)]{16,})",
    ),
    (
        "key of a webhook",
        "webhook|webhook/ webhooks|webhooks/ hooks|/hooks/",
        r"/(?:web)?hooks?/(?:[\w-]{1,60}/){0,4}(?P<s>[\w-]{24,})(?![\w/-])",
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
    (
        "key of a signature",
        "jwt hmac createhmac signer urlsafetimedserializer",
        r"\b(?:(?i:jwt)\.(?:sign|verify|encode|decode)|createHmac|hmac\.new|\w*[Ss]erializer|Signer)\((?:[^\n]{0,200}?,)?\s*b?[\"'](?P<s>[^\"'\n]{12,})[\"']",
    ),
    (
        "private key of a wallet",
        "wallet privatekeytoaccount",
        r"(?:\bWallet|privateKeyToAccount)\(\s*\\*[\"'](?P<s>(?:0x)?[0-9a-fA-F]{64})\\*[\"']",
    ),
    ("token of SonarQube", "sonar", r"\bsonar\.(?:login|token)=(?P<s>[\w-]{16,})"),
    ("bearer token", "bearer", r"(?<![A-Za-z])BEARER\w{0,12}\s*[=:]\s*[\"']?(?P<s>[\w.%+/=-]{20,})"),
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
    """Whether a word in the place of a password is one, and not a reference, a placeholder or another option."""
    return is_meant(value, least=8, is_chosen=False) or (
        not value.startswith("-")
        and not is_excluded(value, 4)
        and value.lower() not in _COMMAND_WORDS
        and not re.fullmatch(r"\d{1,5}", value)
    )


_COMMAND_WORDS = frozenset(
    "password pass secret token root admin stdin prompt ask user mysql postgres login file true false".split()
)


def is_key_of_command(value: str) -> bool:
    """Whether a word in the place of a key is one."""
    return is_key(value, is_quoted=True, least=12) or (is_random(value) and is_password(value, is_quoted=True))
