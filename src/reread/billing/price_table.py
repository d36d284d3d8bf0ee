"""Prices as plain values: price files, the user's file over the packaged one, and the names of models.

Prices may be written as JSON numbers or, to be exact, as decimal strings; they are kept as strings. An error in a file
is reported in one sentence with file, model and field.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any, Literal, NoReturn

import msgspec
from msgspec import Struct

from reread import lazy
from reread.errors import BadInput, printable

Origin = Literal["table", "user"]

PER_TOKEN = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
"""The kinds of tokens that have prices, in the order in which they are listed."""


class PerMillion(Struct, frozen=True, kw_only=True):
    """Dollars per million tokens, as decimal strings; None if there is no such price."""

    input: str
    output: str
    cache_read: str | None = None
    cache_write_5m: str | None = None
    cache_write_1h: str | None = None


class LongContext(PerMillion, frozen=True, kw_only=True):
    """The prices of a whole request if its prompt is larger than `above_prompt_tokens`."""

    above_prompt_tokens: int


class Row(PerMillion, frozen=True, kw_only=True):
    """One model's prices from a day on, or from the beginning if `from_date` is None."""

    from_date: date | None = None
    long_context: LongContext | None = None


class Premium(Struct, frozen=True, kw_only=True):
    """The factor on prices for each geography or region, and the models that it applies to."""

    factors: dict[str, str] = {}
    applies_to: tuple[str, ...] = ()


class Provider(Struct, frozen=True, kw_only=True):
    """Whoever sells models under names of their own, such as a gateway; its models are also models of the table."""

    pattern: str
    """The raw ids that are its, with `*` for any characters."""
    names: dict[str, str]
    """What its models are called, each with the model of the table: `PROVIDER/MODEL`."""


class _Listed(Struct, frozen=True, kw_only=True):
    """What a file and the table both have. Ids are in lower case, the rows of a model in the order of their days."""

    models: dict[str, tuple[Row, ...]] = {}
    providers: dict[str, Provider] = {}
    """In the table, they are asked first, the longest pattern before the others."""
    fast_mode: dict[str, str] = {}
    inference_geo: Premium = Premium()
    region_prefix: Premium = Premium()
    service_tier: dict[str, str] = {}


class PriceFile(_Listed, frozen=True, kw_only=True):
    """The content of one file."""

    as_of: date | None = None
    aliases: dict[str, str] = {}
    """Other names, each with the model that it means."""
    web_search: str | None = None
    """Dollars for one search."""


class Table(_Listed, frozen=True, kw_only=True):
    """Both files combined. `by_user` lists the parts that are the user's, as `part.name`."""

    as_of: date
    user_as_of: date | None
    names: dict[str, str]
    """Every id and alias, each with the model that it means."""
    web_search: str
    by_user: tuple[str, ...]


def lay_over(packaged: PriceFile, user: PriceFile | None) -> Table:
    """The packaged file, overridden by the user's, model by model and factor by factor.

    A packaged model keeps its aliases when its prices are replaced, since they do not concern prices.
    """
    if packaged.as_of is None or packaged.web_search is None:
        raise ValueError("the packaged prices lack their date or the price of a search")
    own = user or PriceFile()
    names = {name: name for name in packaged.models} | packaged.aliases
    names |= {name: name for name in own.models} | own.aliases
    return Table(
        as_of=packaged.as_of,
        user_as_of=own.as_of,
        models=packaged.models | own.models,
        names=names,
        providers=dict(sorted((packaged.providers | own.providers).items(), key=lambda each: -len(each[1].pattern))),
        fast_mode=packaged.fast_mode | own.fast_mode,
        inference_geo=_both(packaged.inference_geo, own.inference_geo),
        region_prefix=_both(packaged.region_prefix, own.region_prefix),
        service_tier=packaged.service_tier | own.service_tier,
        web_search=own.web_search or packaged.web_search,
        by_user=tuple(_parts(own)),
    )


def _both(packaged: Premium, own: Premium) -> Premium:
    models = dict.fromkeys((*packaged.applies_to, *own.applies_to))
    return Premium(factors=packaged.factors | own.factors, applies_to=tuple(models))


def _parts(own: PriceFile) -> list[str]:
    named: dict[str, Mapping[str, object]] = {
        "models": own.models,
        "aliases": own.aliases,
        "fast_mode": own.fast_mode,
        "inference_geo": own.inference_geo.factors,
        "inference_geo.applies_to": dict.fromkeys(own.inference_geo.applies_to),
        "region_prefix": own.region_prefix.factors,
        "region_prefix.applies_to": dict.fromkeys(own.region_prefix.applies_to),
        "service_tier": own.service_tier,
    }
    parts = [f"{part}.{name}" for part, values in named.items() for name in values]
    return sorted([*parts, "web_search"] if own.web_search is not None else parts)


_REGION = lazy.pattern(r"^(?:(us-gov|us|eu|jp|au|apac|global)\.)?anthropic\.")
_STEPS = (
    lazy.pattern(r"\[[^\]]*\]$"),
    lazy.pattern(r"^.*/"),
    _REGION,
    lazy.pattern(r"@.*$"),
    lazy.pattern(r":\d+$"),
    lazy.pattern(r"-v\d+$"),
    lazy.pattern(r"-\d{8}$"),
)
"""What is removed from a name, one after the other, until the name is known."""


class Model(Struct, frozen=True):
    """A model of the table, and the provider's region if the raw id names one."""

    name: str
    region: str | None = None
    called: str = ""
    """The id or alias by which it was found."""


def find_model(raw: str | None, names: Mapping[str, str], providers: Iterable[Provider] = ()) -> Model | None:
    """The model that a raw id means, by a table of ids and aliases; None if the table does not have it."""
    for provider in providers:
        if fnmatchcase((raw or "").lower(), provider.pattern) and (found := _named(raw, provider.names)) is not None:
            return found
    return _named(raw, names)


def _named(raw: str | None, names: Mapping[str, str]) -> Model | None:
    name, region = (raw or "").lower(), None
    if name in names:
        return Model(names[name], None, name)
    for step in _STEPS:
        if step is _REGION and (match := step.match(name)) is not None:
            region = match[1]
        name = step.sub("", name)
        if name in names:
            return Model(names[name], region, name)
    return Model(names["*"], region, "*") if "*" in names else None


_PLACES = ("inference_geo", "region_prefix")
_FILE = (
    *("schema", "as_of", "currency", "unit", "models", "aliases", "providers", "fast_mode"),
    *(*_PLACES, "service_tier", "web_search_usd_per_request"),
)
_LONG = ("above_prompt_tokens", *PER_TOKEN)
_ROW = ("from_date", *PER_TOKEN, "long_context", "aliases")
_FIXED = {"schema": 1, "currency": "USD", "unit": "per million tokens, decimal strings"}
"""The only values that a file may have in these fields; prices in another currency would be taken for dollars."""
_DECIMAL = lazy.pattern(r"-?[0-9]{1,6}(\.[0-9]{1,12})?")
"""Large and precise enough for every price, but limited, so that calculations with it stay fast."""


def read_prices(raw: bytes, file: str, known: Container[str] = ()) -> PriceFile:
    """Parses a price file; aliases and factors may also name the models in `known`. Raises BadInput."""
    return _Reader(file).file(raw, known)


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = printable(file)

    def file(self, raw: bytes, known: Container[str]) -> PriceFile:
        try:
            document = msgspec.json.decode(
                raw.removeprefix(b"\xef\xbb\xbf")
            )  # a byte-order mark, which some editors write
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadInput(f"{self._file} is not valid JSON: {error}") from error
        fields = self._object(document, "", _FILE)
        for name, wanted in _FIXED.items():
            if fields.get(name) not in (None, wanted):
                self._refuse(f"field {name!r}", f"{_shown(fields[name])} is not {wanted!r}")
        sold = {
            name.lower(): self._object(value, f"provider {_shown(name)}", ("pattern", "models"))
            for name, value in self._object(fields.get("providers"), "field 'providers'").items()
        }
        models = self._models(fields.get("models"))
        own = {name: self._models(provider.get("models")) for name, provider in sold.items()}
        models |= {f"{name}/{model}": rows for name, theirs in own.items() for model, rows in theirs.items()}
        read = PriceFile(
            as_of=self._date(fields.get("as_of"), "field 'as_of'"),
            models={name: self._rows(value, f"model {_shown(name)}") for name, value in models.items()},
            aliases=self._aliases(fields.get("aliases"), models),
            providers={name: self._provider(name, value, own[name]) for name, value in sold.items()},
            fast_mode=self._factors(fields.get("fast_mode"), "field 'fast_mode'"),
            inference_geo=self._premium(fields.get("inference_geo"), "inference_geo"),
            region_prefix=self._premium(fields.get("region_prefix"), "region_prefix"),
            service_tier=self._factors(fields.get("service_tier"), "field 'service_tier'"),
            web_search=self._price(fields.get("web_search_usd_per_request"), "field 'web_search_usd_per_request'"),
        )
        self._check_models(read, known)
        return read

    def _provider(self, name: str, value: Mapping[str, Any], models: Iterable[str]) -> Provider:
        pattern = value.get("pattern", f"{name}/*")
        if not isinstance(pattern, str):
            self._refuse(f"provider {_shown(name)}, field 'pattern'", f"{_shown(pattern)} is no text")
        return Provider(pattern=pattern.lower(), names={model: f"{name}/{model}" for model in models})

    def _models(self, value: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, rows in self._object(value, "field 'models'").items():
            if name.lower() in found:
                self._refuse(f"model {_shown(name)}", "stands there twice")
            found[name.lower()] = rows
        return found

    def _rows(self, value: Any, where: str) -> tuple[Row, ...]:
        """The rows of a model, given as a list or as a single row."""
        values = value if isinstance(value, list) else [value]
        if not values:
            self._refuse(where, "has no row of prices")
        places = [where] if len(values) == 1 else [f"{where}, row {number}" for number in range(1, len(values) + 1)]
        rows = [self._row(each, place) for each, place in zip(values, places, strict=True)]
        if len({row.from_date for row in rows}) < len(rows):
            self._refuse(f"{where}, field 'from_date'", "two rows begin on the same day")
        return tuple(sorted(rows, key=lambda row: row.from_date or date.min))

    def _row(self, value: Any, where: str) -> Row:
        fields = self._object(value, where, _ROW)
        long_context = fields.get("long_context")
        return Row(
            from_date=self._date(fields.get("from_date"), f"{where}, field 'from_date'"),
            long_context=None if long_context is None else self._long_context(long_context, where),
            **self._prices(fields, where, ""),
        )

    def _long_context(self, value: Any, where: str) -> LongContext:
        fields = self._object(value, f"{where}, field 'long_context'", _LONG)
        above = fields.get("above_prompt_tokens")
        if type(above) is not int or above < 1:
            field = f"{where}, field 'long_context.above_prompt_tokens'"
            self._refuse(field, f"{_shown(above)} is no positive whole number")
        return LongContext(above_prompt_tokens=above, **self._prices(fields, where, "long_context."))

    def _prices(self, table: Mapping[str, Any], where: str, prefix: str) -> dict[str, Any]:
        found = {name: self._price(table.get(name), f"{where}, field '{prefix}{name}'") for name in PER_TOKEN}
        for name in ("input", "output"):
            if found[name] is None:
                self._refuse(f"{where}, field '{prefix}{name}'", "the price is missing")
        return found

    def _price(self, value: Any, where: str) -> str | None:
        """A price as a decimal string without needless zeros, so that equal prices are equal strings."""
        if value is None:
            return None
        text = format(Decimal(repr(value)), "f") if type(value) in (int, float) else value
        if not isinstance(text, str) or _DECIMAL.fullmatch(text) is None:
            self._refuse(where, f'{_shown(value)} is no decimal number below a million such as "2.5"')
        if text.startswith("-"):
            self._refuse(where, f"{_shown(value)} is negative")
        whole, _, fraction = text.partition(".")
        fraction = fraction.rstrip("0")
        return (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")

    def _factors(self, value: Any, where: str) -> dict[str, str]:
        return {
            name.lower(): factor
            for name, each in self._object(value, where).items()
            if (factor := self._price(each, f"{where}, name {_shown(name)}")) is not None
        }

    def _premium(self, value: Any, part: str) -> Premium:
        fields = dict(self._object(value, f"field {part!r}"))
        applies_to = self._names(fields.pop("applies_to", None), f"field '{part}.applies_to'")
        return Premium(factors=self._factors(fields, f"field {part!r}"), applies_to=applies_to)

    def _aliases(self, value: Any, models: Mapping[str, Any]) -> dict[str, str]:
        """All aliases: those in the table of aliases and those in the rows of models."""
        found: dict[str, str] = {}
        for alias, model in self._object(value, "field 'aliases'").items():
            if not isinstance(model, str):
                self._refuse(f"field 'aliases', name {_shown(alias)}", f"{_shown(model)} is no model's name")
            found[alias.lower()] = model.lower()
        for model, rows in models.items():
            for row in rows if isinstance(rows, list) else [rows]:
                for alias in self._names(row.get("aliases"), f"model {_shown(model)}, field 'aliases'"):
                    if found.setdefault(alias, model) != model:
                        self._refuse(f"alias {_shown(alias)}", f"means {_shown(found[alias])} and {_shown(model)}")
        for alias in found.keys() & models.keys():
            self._refuse(f"alias {_shown(alias)}", "is a model of this file, too")
        return found

    def _names(self, value: Any, where: str) -> tuple[str, ...]:
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            self._refuse(where, f"{_shown(value)} is no list of names")
        return tuple(name.lower() for name in value)

    def _check_models(self, read: PriceFile, known: Container[str]) -> None:
        named = [(model, f"alias {_shown(alias)}") for alias, model in read.aliases.items()]
        named += [(model, "field 'fast_mode'") for model in read.fast_mode]
        for place in _PLACES:
            named += [(model, f"field '{place}.applies_to'") for model in getattr(read, place).applies_to]
        for model, where in named:
            if model not in read.models and model not in known:
                self._refuse(where, f"there is no model {_shown(model)} with prices")

    def _date(self, value: Any, where: str) -> date | None:
        if value is None:
            return None
        try:
            return date.fromisoformat(value)
        except (TypeError, ValueError):
            self._refuse(where, f"{_shown(value)} is no day such as 2026-11-15")

    def _object(self, value: Any, where: str, fields: Container[str] | None = None) -> Mapping[str, Any]:
        if value is None and where.startswith("field"):
            return {}
        if not isinstance(value, dict):
            self._refuse(where, f"{_shown(value)} is no JSON object" if where else "the whole is no JSON object")
        for name in value:
            if fields is not None and name not in fields:
                self._refuse(f"{where}, field {_shown(name)}" if where else f"field {_shown(name)}", "no such field")
        return value

    def _refuse(self, where: str, problem: str) -> NoReturn:
        raise BadInput(": ".join(part for part in (self._file, where, problem) if part))


def _shown(value: Any) -> str:
    text = printable(repr(value) if isinstance(value, str) else msgspec.json.encode(value).decode())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


_LONGEST = 60
