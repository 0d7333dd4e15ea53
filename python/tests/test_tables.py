"""Tables of statistics."""

from __future__ import annotations

import pytest

from voltsim import Table


def test_absent_value_is_none() -> None:
    table = Table([{"a": 1}, {"a": 2, "b": 3}])
    assert table.columns == ["a", "b"]
    assert table.column("b") == [None, 3]


def test_slice_is_a_table() -> None:
    assert Table([{"a": 1}, {"a": 2}])[1:].column("a") == [2]


def test_unknown_column_names_the_known_ones() -> None:
    with pytest.raises(KeyError, match="the columns are a"):
        Table([{"a": 1}]).column("b")


def test_pandas_frame_has_the_columns() -> None:
    pandas = pytest.importorskip("pandas")
    frame = Table([{"a": 1}, {"a": 2, "b": 3}]).to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == ["a", "b"]
