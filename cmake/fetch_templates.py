#!/usr/bin/env python3
"""Fetches the chat templates that the template tests compare with: fetch_templates.py [FOLDER]

They are part of llama-cpp-python's source distribution, which pip downloads (about 75 MB, kept nowhere).
"""
import os
import subprocess
import sys
import tarfile
import tempfile

VERSION = "0.3.36"
DEFAULT = os.path.expanduser("~/.cache/ingle-models/templates")


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("INGLE_TEMPLATES", DEFAULT)
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
                        "--dest", scratch, f"llama-cpp-python=={VERSION}"], check=True)
        archive = next(name for name in os.listdir(scratch) if name.endswith(".tar.gz"))
        with tarfile.open(os.path.join(scratch, archive)) as tar:
            for member in tar:
                if "/models/templates/" not in member.name or not member.name.endswith(".jinja") or not member.isfile():
                    continue
                with open(os.path.join(folder, os.path.basename(member.name)), "wb") as out:
                    out.write(tar.extractfile(member).read())
    print(folder)


if __name__ == "__main__":
    main()
