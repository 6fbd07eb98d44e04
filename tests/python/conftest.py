import os

import pytest

import ingle

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SMALL = os.path.join(ROOT, "tests", "data", "models", "qwen2-q8_0.gguf")


@pytest.fixture(scope="session")
def runtime():
    return ingle.Runtime(threads=1)


@pytest.fixture
def small(runtime):
    with ingle.Model(SMALL, runtime=runtime) as model:
        yield model


@pytest.fixture(scope="session")
def default_model():
    """SmolLM2-135M, which `make run` fetches."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    path = os.path.join(data, "ingle", "models", "SmolLM2-135M-Instruct.Q4_1.gguf")
    if not os.path.exists(path):
        print("skipped: the default model is not there")
        pytest.skip("the default model is not there")
    return path
