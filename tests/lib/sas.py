"""Make shared access signatures by hand, good ones and bad ones.

    table_sas(key, "acct", tn="people", sp="r", se="2030-01-01")    -> "sv=...&sig=..."
    account_sas(key, "acct", ss="t", srt="o", sp="r", se="2030-01-01")

Parameters are signed in the layout of their `sv` and may be anything at all;
`changed` gives values that replace the signed ones afterwards (None drops one).
"""

import urllib.parse

import sign

VERSION = "2019-02-02"


def table_text(account, p):
    get = {name: value or "" for name, value in p.items()}.get
    prefix = "/table" if p["sv"] >= "2015-02-21" else ""
    lines = [get("sp", ""), get("st", ""), get("se", ""),
             f"{prefix}/{account}/{get('tn', '').lower()}", get("si", "")]
    if p["sv"] >= "2015-04-05":
        lines += [get("sip", ""), get("spr", "")]
    lines += [p["sv"], get("spk", ""), get("srk", ""), get("epk", ""), get("erk", "")]
    return "\n".join(lines)


def account_text(account, p):
    get = {name: value or "" for name, value in p.items()}.get
    lines = [account, get("sp", ""), get("ss", ""), get("srt", ""), get("st", ""), get("se", ""),
             get("sip", ""), get("spr", ""), p["sv"]]
    if p["sv"] >= "2020-12-06":
        lines.append(get("ses", ""))
    return "\n".join(lines) + "\n"


def query(parameters):
    return "&".join(f"{name}={urllib.parse.quote(value, safe='')}"
                    for name, value in parameters.items() if value is not None)


def make(text, key, account, parameters, changed):
    parameters = {"sv": VERSION, **{n: v for n, v in parameters.items() if v is not None}}
    parameters["sig"] = sign.signature(key, text(account, parameters))
    return query({**parameters, **(changed or {})})


def table_sas(key, account, changed=None, **parameters):
    return make(table_text, key, account, parameters, changed)


def account_sas(key, account, changed=None, **parameters):
    return make(account_text, key, account, parameters, changed)
