"""Reading TOML table by table, with errors that name file, line, key and what would be right.

A `Table` knows its keys: what it does not know is refused at once, with the nearest known key. Each
reader takes one value, checks its type and range, and otherwise raises a `ConfigError`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from json import dumps
from typing import Any, NamedTuple, TypeVar, cast

from quorumcast.core.errors import ConfigError
from quorumcast.runtime.scanner import Mark, Place, scan

TEXT_CHARACTERS = 8 * 2**20
"""A file of settings; a thousand channels with all keys need a twentieth of it."""

_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")

_T = TypeVar("_T")
_Choice = TypeVar("_Choice", bound=str)


class Source(NamedTuple):
    """Where tables come from: what errors call it, and the lines of a text.

    >>> str(Source("a.toml", {("x",): Mark(7, 0, 0)}).fault(("x", "y"), "is wrong"))
    'a.toml:7: is wrong'
    """

    name: str
    marks: Mapping[Place, Mark] = {}

    def fault(self, place: Place, what: str) -> ConfigError:
        """An error at this place, or at the table around it."""
        while place and place not in self.marks:
            place = place[:-1]
        mark = self.marks.get(place)
        where = f"{self.name}:{mark.line}" if mark is not None else self.name
        return ConfigError(f"{where}: {what}" if where else what)


def parse(text: str, name: str) -> tuple[dict[str, Any], Source]:
    """The values of a TOML text, and where they stand; `name` is what errors call it.

    >>> values, source = parse("a = 1", "x.toml")
    >>> values, source.marks[("a",)].line
    ({'a': 1}, 1)
    >>> parse("a = ", "x.toml")
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: x.toml:1: not TOML: invalid value
    """
    if len(text) > TEXT_CHARACTERS:
        raise ConfigError(f"{name}: {len(text)} characters: use at most {TEXT_CHARACTERS}")
    try:
        values = tomllib.loads(text)
        return values, Source(name, scan(text))
    except ValueError as error:  # not TOML, or a number of thousands of digits
        said = str(error)
        found = _LINE.search(said)
        line = int(found[1]) if found else text.count("\n") + 1
        what = _LINE.sub("", said).replace("(at end of document)", "").strip()
        raise ConfigError(f"{name}:{line}: not TOML: {what[:1].lower()}{what[1:]}") from None
    except RecursionError:
        raise ConfigError(f"{name}: values within values are nested too deep") from None


class Table:
    """One table of a source, whose keys are known.

    >>> Table(Source("a.toml"), (), {"nam": 1}, "cluster", ("name",))
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: a.toml: cluster: there is no key nam: did you mean name?
    """

    def __init__(
        self,
        source: Source,
        place: Place,
        values: Mapping[str, Any],
        title: str,
        known: Sequence[str],
        prefix: str = "",
    ) -> None:
        self._source = source
        self._place = place
        self._values = values
        self._prefix = prefix
        self.title = title
        for key in values:
            if key not in known:
                raise self._unknown(key, known)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def fault(self, key: str | None, what: str, *inside: str | int) -> ConfigError:
        """An error about one key of this table, or about the table itself."""
        place = self._place if key is None else (*self._place, key, *inside)
        name = "" if key is None else f"{self._prefix}{key} "
        title = f"{self.title}: " if self.title else ""
        return self._source.fault(place, f"{title}{name}{what}".rstrip())

    def wrong(self, key: str, what: str, *inside: str | int) -> ConfigError:
        """An error about a key that shows its value."""
        return self.fault(key, f"= {shown(self._values[key])} {what}", *inside)

    def checked(self, key: str | None, function: Callable[[], _T]) -> _T:
        """What the function returns; its `ConfigError` as one about that key."""
        try:
            return function()
        except ConfigError as error:
            raise self.fault(key, f"is wrong: {error}" if key else str(error)) from None

    # -- values ------------------------------------------------------------------------------------

    def text(self, key: str, default: str | None = None, *, example: str = "") -> str:
        """A string; without a default it must be there."""
        value = self._required(key, default, f'{key} = "{example}"')
        if not isinstance(value, str):
            raise self.wrong(key, f'is not a string: use "{example}" or the like')
        return value

    def choice(self, key: str, options: Sequence[_Choice], default: _Choice) -> _Choice:
        """One of these strings."""
        value = self._values.get(key, default)
        for option in options:
            if value == option:
                return option
        several = ", ".join(f'"{option}"' for option in options)
        near = _nearest(value, options)
        raise self.wrong(key, f"is not known: use {several}{near}")

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "is neither true nor false: use one of them, without quotes")
        return value

    def whole(self, key: str, default: int | None, low: int, high: int) -> int:
        """A whole number in this range; without a default it must be there."""
        value = self._required(key, default, f"{key} = {low}")
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(key, f"is not a whole number: use {low} to {high}, without quotes")
        if not low <= value <= high:
            raise self.wrong(key, f"is out of range: use {low} to {high}")
        return value

    def quantity(self, key: str, default: _T, parse: Callable[[str], _T], example: str) -> _T:
        """A duration or a size, above zero, by the function that understands its text."""
        if key not in self._values:
            return default
        value = self._values[key]
        if not isinstance(value, str):
            raise self.wrong(key, f'is not a string with a unit: use "{example}" or the like')
        parsed = self.checked(key, lambda: parse(value))
        if not parsed:
            raise self.wrong(key, f'is nothing: use more, such as "{example}"')
        return parsed

    def hexadecimal(self, key: str, size: int) -> bytes:
        """So many bytes, in hexadecimal; they must be there."""
        value = self.text(key, example=f"{2 * size} hexadecimal digits")
        if not _HEX.fullmatch(value) or len(value) != 2 * size:
            raise self.fault(key, f"has {len(value)} characters: use {2 * size} hexadecimal digits")
        return bytes.fromhex(value)

    def texts(
        self,
        key: str,
        default: tuple[str, ...],
        fault: Callable[[str], str | None],
        most: int,
        example: str,
    ) -> tuple[str, ...]:
        """A list of different strings, each of which `fault` finds nothing wrong with."""
        value: object = self._values.get(key, list(default))
        if not isinstance(value, list):
            raise self.wrong(key, f'is not a list: use ["{example}"] or the like')
        found: list[str] = []
        for number, each in enumerate(cast("list[object]", value)):
            if not isinstance(each, str):
                right = f'use ["{example}"] or the like'
                raise self.fault(key, f"has {shown(each)}, not a string: {right}", number)
            if (why := fault(each)) is not None:
                raise self.fault(key, f"has {shown(each)}, which {why}", number)
            if each in found:
                raise self.fault(key, f"has {shown(each)} twice: use it once", number)
            found.append(each)
        if len(found) > most:
            raise self.fault(key, f"has {len(found)} entries: use at most {most}")
        return tuple(found)

    # -- tables within -----------------------------------------------------------------------------

    def table(self, key: str, known: Sequence[str], example: str) -> Table:
        """The table under this key; where there is none, an empty one."""
        value = self._mapping(key, self._values.get(key, {}), example)
        place, prefix = (*self._place, key), f"{self._prefix}{key}."
        return Table(self._source, place, value, self.title, known, prefix)

    def mapping(self, key: str, example: str) -> dict[str, Any]:
        """The table under this key as it is, for somebody else to check."""
        return self._mapping(key, self._values.get(key, {}), example)

    def raw(self, key: str) -> Any:
        """The value under this key, of whatever type; None where there is none."""
        return self._values.get(key)

    def _mapping(self, key: str, value: object, example: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong(key, f"is not a table: use {example}")
        return cast("dict[str, Any]", value)

    def _required(self, key: str, default: object, right: str) -> object:
        if key not in self._values and default is None:
            raise self.fault(None, f"{self._prefix}{key} is missing: add {right}")
        return self._values.get(key, default)

    def _unknown(self, key: str, known: Sequence[str]) -> ConfigError:
        near = get_close_matches(key, known, 1)
        right = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        title = f"{self.title}: " if self.title else ""
        return self._source.fault(
            (*self._place, key), f"{title}there is no key {self._prefix}{_key(key)}: {right}"
        )


def array(values: Mapping[str, Any], source: Source, key: str) -> list[dict[str, Any]]:
    """The tables of an array of tables; an empty list where there is none.

    >>> array({"channel": 5}, Source("a.toml"), "channel")
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: a.toml: channel is not a list of tables: use [[channel]]
    """
    value: object = values.get(key, [])
    found = cast("list[object]", value) if isinstance(value, list) else [None]
    if not all(isinstance(each, dict) for each in found):
        raise source.fault((key,), f"{key} is not a list of tables: use [[{key}]]")
    return cast("list[dict[str, Any]]", found)


# -- writing ---------------------------------------------------------------------------------------


def written(value: object) -> str:
    """A value in TOML, on one line.

    >>> written({"every": 5, "within": "250ms"}), written(["a", True])
    ('{ every = 5, within = "250ms" }', '["a", true]')
    """
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        inside = ", ".join(f"{_key(key)} = {written(each)}" for key, each in table.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        elements = cast("list[object]", value)
        return f"[{', '.join(written(each) for each in elements)}]"
    if isinstance(value, str):
        # JSON's strings are TOML's but for DEL, which TOML wants escaped.
        return dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def shown(value: object) -> str:
    """A value as an error shows it: in TOML, and not too long.

    >>> shown(True), shown("x" * 90)[-4:]
    ('true', 'x...')
    """
    text = written(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else written(key)


def _nearest(value: object, options: Sequence[str]) -> str:
    near = get_close_matches(value, options, 1) if isinstance(value, str) else []
    return f" (did you mean {near[0]}?)" if near else ""
