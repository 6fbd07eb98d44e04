"""Files out of llama-cpp-python's source distribution, which pip downloads (about 75 MB, kept nowhere)."""
import os
import subprocess
import sys
import tarfile
import tempfile

VERSION = "0.3.36"


def extract(folder, wanted):
    """Writes each file whose path in the archive `wanted` accepts into `folder`, by its base name."""
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
                        "--dest", scratch, f"llama-cpp-python=={VERSION}"], check=True)
        archive = next(name for name in os.listdir(scratch) if name.endswith(".tar.gz"))
        with tarfile.open(os.path.join(scratch, archive)) as tar:
            for member in tar:
                if member.isfile() and wanted(member.name):
                    with open(os.path.join(folder, os.path.basename(member.name)), "wb") as out:
                        out.write(tar.extractfile(member).read())
