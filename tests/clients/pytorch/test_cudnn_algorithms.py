"""cuDNN's convolution algorithms match the list. VOLTSIM is the command and CUDNN the library."""

import os

import pytest

import cudnn_algorithms
from cudnn_algorithms import cases, line, read_list, survey

VOLTSIM = os.environ.get("VOLTSIM", "voltsim")
CUDNN = os.environ.get("CUDNN", "libcudnn.so.7")
LISTED = read_list()
GROUPS = sorted({(case.capability, case.direction, case.algorithm) for case in cases()})


def test_each_case_is_listed_once():
    assert list(LISTED) == list(cases())


def test_all_algorithms_work_on_the_reported_device():
    columns = [cudnn_algorithms.COLUMNS.index(name) for name in ("nothing", "machine code", "wrong")]
    for case, fields in LISTED.items():
        if case.capability == "3.0":
            assert [fields[column] for column in columns] == ["-"] * 3, case


@pytest.mark.parametrize("group", GROUPS, ids="/".join)
def test_an_algorithm_does_what_is_listed(group):
    wanted = [case for case in cases() if (case.capability, case.direction, case.algorithm) == group]
    for case, results in survey(VOLTSIM, CUDNN, wanted).items():
        reasons = {shape: result["seen"] for shape, result in results.items() if result["outcome"] == "wrong"}
        assert line(case, results) == LISTED[case], reasons
