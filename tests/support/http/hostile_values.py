"""Values of hostile or broken clients: parts of addresses, headers, cookies and forms."""

import encodings.aliases
from urllib.parse import quote

from tests.support.people import NEW_PASSWORD, PASSWORD

# A page that does not escape MARKER has an element or an attribute with this name.
MARK = "zq7"
MARKER = f"a<{MARK} on{MARK}=b>c\"{MARK}'d&e"

# ---- in addresses

QUOTED = quote(MARKER, safe="").encode()
NAMES = [b"Alice", b"carol", b"bob", b"ALICE", QUOTED, QUOTED]
IDS = [b"1", b"2", b"3", b"4", b"5"]
KEYS = [b"user:1", b"user:4", b"post:3", b"users", b"following:1", b"posts:1", b"auths", b"next_post_id"]
NASTY = [
    QUOTED,
    MARKER.replace(" ", "%20").encode(),
    b"%00",
    b"%0D%0ASet-Cookie:%20auth=stolen",
    b"%C0%AF",  # overlong
    b"%ED%A0%80",  # a lone surrogate
    b"%FF%FE",
    b"\xff\xfe",
    b"%D9%A1",  # the digit one, in Arabic
    b"%C2%B2",  # a digit to isdigit(), none to int()
    b"\xb2",
    b"9" * 20,
    b"9" * 5000,  # more digits than int() takes
    b"9007199254740993",
    b"-1",
    b"0",
    b"+1",
    b"1e3",
    b"1_0",
    b"1-",
    b"-",
    b"..",
    b"%2e%2e",
    b"../../../../etc/passwd",
    b"%2F",
    b"%252F",
    b"//",
    b"//evil.example",
    b"%5C%5Cevil.example",
    b"https://evil.example/",
    b"javascript:alert(1)",
    b"%",
    b"%zz",
    b"%u0041",
    b"%25",
    b"%2525253C",
    b"a" * 3000,
    b"%09",
    b"%0A",
    b"%20",
    b";",
    b"@",
    b"#",
    b"{{7*7}}",
    b"%7B%25%20csrf_token%20%25%7D",
    b"%E2%84%AA",  # the Kelvin sign: lower() makes it a k
    b"%C4%B0",  # lower() makes it two characters
    b"%EF%BC%A1lice",  # fullwidth
    b"%E2%80%AE",  # right to left
    b"%F0%9F%98%80",
    b"__proto__",
    b"*",
]
AFTER = [b"/", b"//", b"/..", b"/..;/", b"%00", b"%0A", b"%2F", b";a=b", b".json", b"?", b"??", b"/%2e%2e/%2e%2e/"]
BEFORE = [b"/", b"//evil.example", b"/%2e%2e", b"/%5Cevil.example", b"http://evil.example", b"/static", b"/@x/.."]
NO_VIEW = [b"/nothing/", b"/static/retwis.css", b"/static/mark.svg", b"/static/", b"/favicon.ico", b"*", b""]
PARAMETERS = [b"before", b"before", b"show", b"by", b"q", b"q", b"p"]
PARAMETERS += [b"from", b"seen", b"key", b"next", b"body", b"password", b"csrfmiddlewaretoken"]
CURSORS = [
    *[b"mutual", b"not-followed-back", b"followers", b"1700000001-bob", b"0-"],
    *[b"al", b"%40Alice", b"a%3A1", b"%FF", b"%F4%8F%BF%BF"],
    *[b"1", b"3", b"1-1", b"1700000001-2", b"0-1", b"1-", b"-1", b"1-x", b"1-%C2%B2", b"%D9%A1", b"x", b"", b"/@bob/"],
    *[QUOTED, b"/" + QUOTED, b"/" + QUOTED],
]
TOO_MANY = b"&".join([b"a=1"] * 1001)

# ---- in the request line and in headers: any bytes except line ends

METHODS = (
    ["GET"] * 12 + ["POST"] * 18 + ["HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "get", "pOsT"]
)
METHODS += ["PROPFIND", "QUERY", "_", "-", "!", "POST" * 500, "POST'"]
ODD = [b"", MARKER.encode(), b"\xff\xfe", "é".encode(), b"%00%0d%0a", b"x" * 5000, b'"', b",", b";;;", b"=", b"\t"]
OWN = [b"http://testserver", b"https://testserver", b"http://localhost"]
FOREIGN = [b"https://evil.example", b"null", b"", b"http://testserver.evil.example", b"http://[", MARKER.encode()]
PAGES = [b"/", b"/timeline/", b"/@Alice/?before=3", b"/post/", b"//evil.example/", b"/@%00/", b"/\\evil.example"]
HEADERS = {
    "Host": [
        *[b"localhost", b"TESTSERVER", b"testserver:8000", b"testserver:99999", b"testserver:x", b"testserver."],
        *[b"[::1]", b"evil.example", b"[", b"testserver@evil.example", b"testserver/..", b"a" * 3000],
    ],
    "Origin": OWN + FOREIGN,
    "Referer": [origin + path for origin in OWN + FOREIGN for path in PAGES] + [b"http://[::1", b"/"],
    "X-Forwarded-For": [b"203.0.113.7", b"1.2.3.4, 5.6.7.8", b"unknown", b"::1, [::1]:80", b"," * 500],
    "X-Forwarded-Host": [b"evil.example", b"testserver"],
    "X-Forwarded-Proto": [b"https", b"http", b"https,http", b"ftp"],
    "X-Forwarded-Port": [b"443", b"x"],
    "X-Real-IP": [b"203.0.113.7", b"x"],
    "Forwarded": [b'for="[::1]";host=evil.example;proto=https'],
    "X-HTTP-Method-Override": [b"DELETE", b"POST"],
    "X-Requested-With": [b"XMLHttpRequest"],
    "X-CSRFToken": [b"x"],
    "Content-Length": [b"0", b"1", b"10", b"-1", b"x", b"1e3", b"9" * 19, b"9" * 5000, b"\xb2", b"+5", b" 5", b"5,5"],
    "Transfer-Encoding": [b"chunked", b"gzip, chunked", b"identity"],
    "Accept": [b"text/html", b"application/json", b"*/*;q=x", b"text/html;" * 200],
    "Accept-Language": [b"de", b"*", b"zh-Hant-" * 100, b"en;q=nan"],
    "Accept-Encoding": [b"gzip", b"br", b"*", b"gzip;q=x", b"identity;q=0"],
    "Accept-Charset": [b"utf-16"],
    "If-None-Match": [b'"x"', b"*", b'W/"'],
    "If-Modified-Since": [b"Thu, 01 Jan 1970 00:00:00 GMT", b"Thu, 99 Jan 99999999999 00:00:00 GMT", b"x"],
    "If-Match": [b"*", b'"x"'],
    "Range": [b"bytes=0-0", b"bytes=-1", b"bytes=5-1", b"bytes=999999-", b"bytes=x", b"bytes=0-0,2-3", b"lines=1-2"],
    "If-Range": [b'"x"'],
    "Authorization": [
        *[b"Basic QWxpY2U6eA==", b"Basic /////w==", b"Basic eDp5", b"Basic"],
        *[b"Bearer x", b"Bearer " + b"0" * 32 + b"1", b"Bearer x~y"],
    ],
    "User-Agent": [b"Mozilla/5.0", b"() { :;}; echo"],
    "Expect": [b"100-continue"],
    "Upgrade": [b"websocket", b"h2c"],
    "Connection": [b"upgrade", b"close, host"],
}
COOKIE_PREFIXES = [b"", b"__Host-"]
COOKIE_NAMES = (b"auth", b"csrftoken", b"messages", b"draft", b"since", b"theme", b"language", b"x")
COOKIES = [prefix + name for prefix in COOKIE_PREFIXES for name in COOKIE_NAMES]
COOKIE_VALUES = [b'"', b'"\\303\\', b'"\\000\\015\\012"', b'"\\', b"{}", b"0" * 31]

# ---- in bodies

FORM = b"application/x-www-form-urlencoded"
MULTIPART = b"multipart/form-data; boundary=x"
BOUNDARIES = [b"", b'"', b"x" * 300, b"\xff", b"a b", b"--"]
KINDS = [FORM, b"text/plain", b"multipart/form-data", MULTIPART, b"application/json", *ODD]
# Every codec of Python, including those that do not decode to text.
CODECS = [
    "utf-8",
    *sorted(set(encodings.aliases.aliases.values())),
    "idna",
    "punycode",
    "undefined",
    "unicode_escape",
    "x",
]
CHARSETS = [
    *[b"; charset=" + name.encode() for name in CODECS],
    b"; charset*=utf-8''a%00b",
    b"; charset*=nonsense''x",
    b"; charset*=''",
    b"; charset*=x",
    b'; charset="\xff"',
    b"; charset=",
    b"; charset=" + b"x" * 3000,
    b"; =;;; =",
    b'; charset=utf-8; boundary="x\\"; charset=hex"',
    b'; charset=utf-8; boundary="x\\"; charset*=nonsense\'\'x"',
]
HEADERS["Content-Type"] = [*KINDS, *[kind + charset for kind in (FORM, MULTIPART) for charset in CHARSETS]]
PART = b'Content-Disposition: form-data; name="%s"\r\n'
PARTS = [
    PART,
    b"Content-Disposition: form-data; name=%s; filename=x\r\nContent-Type: text/plain; charset=hex\r\n",
    b'Content-Disposition: form-data; name="%s"; filename="../../x%%00"\r\nContent-Type: x/y\r\n',
    b'Content-Disposition: form-data; name="%s"\r\nContent-Transfer-Encoding: base64\r\n',
    b"Content-Disposition: form-data; name*=utf-8''%s\r\n",
    b"Content-Disposition: form-data; name*=nonsense''%s\r\n",
    b"Content-Disposition: form-data; name*=%s\r\n",
    b"Content-Disposition: form-data; name=\"%s\"; filename*=nonsense''x\r\n",
    b"Content-Disposition: form-data; name=\"%s\"; filename*=utf-8''a%%00\r\n",
    b'Content-Disposition: form-data; name="%s"; filename=""\r\nContent-Length: x\r\n',
    b'content-disposition: attachment; name="%s"\r\n',
    b"X: %s\r\n",
]
NEW = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD, "next": "/timeline/", "theme": "dark", "language": "ar"}
FORMS = [{"body": "Hello", "token": "t", "username": name, "password": PASSWORD, **NEW} for name in ("Alice", "dora")]
FIELDS = list(FORMS[0])
FORMS.append(dict.fromkeys(FIELDS, f"/{MARKER}"))
MARKERS = [MARKER, "/" + MARKER, MARKER * 20]
VALUES = [
    *["Alice", "ALICE", "dora", PASSWORD, NEW_PASSWORD, "", "\0", " ", "\u200b", "\ufeff", "\u202e\u0301"],
    *["/timeline/", "//evil.example/", "/\\evil.example", "/\t/evil.example", "java\tscript:alert(1)"],
    *["x" * 280, "x" * 281, "y" * 129, "z" * 5000, "\U0001f600" * 280, "a\r\nSet-Cookie: auth=stolen", "\u2028x\u2029"],
    *["%253Cscript%253E", "</textarea><script>", "<!--", "]]>", "&lt;b&gt;", "&#60;", "{{ 7|add:7 }}", "{% now 'U' %}"],
]
