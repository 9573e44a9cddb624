"""A certificate that signs itself, for 127.0.0.1, localhost and a name that only a proxy knows."""

import pathlib
import subprocess


def make(folder, name="server"):
    """Write NAME.crt and NAME.key (PEM) into the folder and return both paths."""
    cert, key = pathlib.Path(folder) / f"{name}.crt", pathlib.Path(folder) / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:tavola.test",
                    "-keyout", str(key), "-out", str(cert)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return str(cert), str(key)


def make_pfx(folder, password, name="server"):
    """Both in one PKCS#12 file, NAME.pfx; its path."""
    pfx = pathlib.Path(folder) / f"{name}.pfx"
    subprocess.run(["openssl", "pkcs12", "-export", "-passout", f"pass:{password}", "-out", str(pfx),
                    "-in", str(pfx.with_suffix(".crt")), "-inkey", str(pfx.with_suffix(".key"))],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return str(pfx)
