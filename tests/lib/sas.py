"""Make shared access signatures by hand, good ones and bad ones.

    table_sas(key, "acct", tn="people", sp="r", se="2030-01-01")    -> "sv=...&sig=..."
    account_sas(key, "acct", ss="t", srt="o", sp="r", se="2030-01-01")
    queue_sas(key, "acct", "jobs", sp="rp", se="2030-01-01")
    blob_sas(key, "acct", "films", sp="rl", se="2030-01-01")            of the container
    blob_sas(key, "acct", "films", "a.mov", sp="r", se="2030-01-01")    of the blob

Parameters are signed in the layout of their `sv` and may be anything at all;
`changed` gives values that replace the signed ones afterwards (None drops one).
"""

import urllib.parse

import sign

VERSION = "2019-02-02"


def account_text(account, p):
    get = {name: value or "" for name, value in p.items()}.get
    lines = [account, get("sp", ""), get("ss", ""), get("srt", ""), get("st", ""), get("se", ""),
             get("sip", ""), get("spr", ""), p["sv"]]
    if p["sv"] >= "2020-12-06":
        lines.append(get("ses", ""))
    return "\n".join(lines) + "\n"


def service_lines(service, account, path, p, get):
    """The lines that all service SAS begin with, up to the version."""
    prefix = f"/{service}" if p["sv"] >= "2015-02-21" else ""
    lines = [get("sp", ""), get("st", ""), get("se", ""), f"{prefix}/{account}/{path}",
             get("si", "")]
    if p["sv"] >= "2015-04-05":
        lines += [get("sip", ""), get("spr", "")]
    return lines + [p["sv"]]


def table_text(account, p):
    get = {name: value or "" for name, value in p.items()}.get
    lines = service_lines("table", account, get("tn", "").lower(), p, get)
    return "\n".join(lines + [get(name, "") for name in ("spk", "srk", "epk", "erk")])


def queue_text(account, queue, p):
    get = {name: value or "" for name, value in p.items()}.get
    return "\n".join(service_lines("queue", account, queue, p, get))


def blob_text(account, path, p):
    get = {name: value or "" for name, value in p.items()}.get
    lines = service_lines("blob", account, path, p, get)
    if p["sv"] >= "2018-11-09":
        lines += [get("sr", ""), get("snapshot", "") if get("sr") == "bs" else ""]
    if p["sv"] >= "2020-12-06":
        lines.append(get("ses", ""))
    if p["sv"] >= "2013-08-15":
        lines += [get(name, "") for name in ("rscc", "rscd", "rsce", "rscl", "rsct")]
    return "\n".join(lines)


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


def queue_sas(key, account, queue, changed=None, **parameters):
    def text(account, p):
        return queue_text(account, queue, p)

    return make(text, key, account, parameters, changed)


def blob_sas(key, account, container, blob=None, changed=None, **parameters):
    """Of the container, or of one blob in it, or with `snapshot` of one snapshot of that."""
    kind = "c" if blob is None else "bs" if parameters.get("snapshot") else "b"
    parameters = {"sr": kind, **parameters}
    path = container if parameters["sr"] == "c" else f"{container}/{blob}"

    def text(account, p):
        return blob_text(account, path, p)

    return make(text, key, account, parameters, changed)
