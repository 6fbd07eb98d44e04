"""What Python mirrors of the C header's enumerations says what the header says."""
import os
import re
import typing

import pytest

import ingle
from ingle import _model, errors
from conftest import ROOT

#: Codes whose class is not named after them.
NAMES = {"IO": "FileError"}


def enumerators(header="ingle.h", kind=""):
    """{name: value} of all that the header enumerates, or of one class."""
    with open(os.path.join(ROOT, "include", "ingle", header), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read(), flags=re.S)
    found = {}
    for body in re.findall(r"\benum\s*" + kind + r"\s*\{(.*?)\}", text, flags=re.S):
        for entry in filter(None, (e.strip() for e in body.split(","))):
            name, _, value = entry.partition("=")
            assert value, f"{name} has no value of its own"
            found[name.strip()] = int(value, 0)
    return found


def with_prefix(prefix):
    return {name[len(prefix):]: value for name, value in enumerators().items() if name.startswith(prefix)}


def test_the_header_is_understood():
    known = enumerators()
    assert known["INGLE_OK"] == 0 and known["INGLE_FINISH_NONE"] == 0 and known["INGLE_SKIP_SPECIAL"] == 4


def test_finishes():
    expected = with_prefix("INGLE_FINISH_")
    names = {value: name.lower() for name, value in expected.items() if name != "NONE"}
    assert dict(enumerate(_model._FINISHES)) == {0: None, **names}
    assert set(typing.get_args(ingle.Finish)) == set(names.values())


def test_uses_of_reasoning():
    known = enumerators("answer.hpp", r"class ReasoningUse[\s\w:]*")
    assert dict(enumerate(_model._REASONING)) == {value: name for name, value in known.items()}


def test_codes():
    expected = with_prefix("INGLE_E_")
    assert set(errors._CLASSES) == set(expected.values())
    for name, value in expected.items():
        camel = "".join(word.capitalize() for word in name.split("_")) + "Error"
        kind = errors._CLASSES[value]
        assert kind.__name__ == NAMES.get(name, camel)
        assert kind.code == value
        assert type(errors.make(value, "where", "what", "")) is kind


@pytest.mark.parametrize("code", [0, 999])
def test_other_codes_are_errors_all_the_same(code):
    assert type(errors.make(code, "where", "what", "")) is ingle.Error
