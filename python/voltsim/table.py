"""Rows of statistics, with conversions to the tables of other libraries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Row = dict[str, Any]


class Table(Sequence[Row]):
    """A sequence of rows. All rows have the same columns; a value that is absent is ``None``."""

    def __init__(self, rows: Sequence[Row]) -> None:
        columns: dict[str, None] = {}
        for row in rows:
            columns.update(dict.fromkeys(row))
        self._columns = list(columns)
        self._rows = [{name: row.get(name) for name in columns} for row in rows]

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order of their first row."""
        return list(self._columns)

    def column(self, name: str) -> list[Any]:
        """Return the values of one column."""
        if name not in self._columns:
            raise KeyError(f"no column {name!r}; the columns are {', '.join(self._columns)}")
        return [row[name] for row in self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> Table: ...

    def __getitem__(self, index: int | slice) -> Row | Table:
        return Table(self._rows[index]) if isinstance(index, slice) else self._rows[index]

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self._columns[:6])}, …>"

    def to_arrow(self) -> pyarrow.Table:
        """Return a ``pyarrow.Table``; needs pyarrow."""
        import pyarrow

        return pyarrow.table({name: self.column(name) for name in self._columns})

    def to_pandas(self) -> pandas.DataFrame:
        """Return a ``pandas.DataFrame``; needs pandas."""
        import pandas

        return pandas.DataFrame(self._rows, columns=self._columns)

    def to_polars(self) -> polars.DataFrame:
        """Return a ``polars.DataFrame``; needs polars."""
        import polars

        return polars.DataFrame(self._rows, infer_schema_length=None)
