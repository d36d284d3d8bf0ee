"""Prices as plain values: price files, the user's file over the packaged one, and the names of models.

Prices may be written as JSON numbers or, to be exact, as decimal strings; they are kept as strings. An error in a file
is reported in one sentence with file, model and field.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import msgspec
from msgspec import Meta, Struct

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


class LongContext(PerMillion, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The prices of a whole request if its prompt is larger than `above_prompt_tokens`."""

    above_prompt_tokens: Annotated[int, Meta(ge=1)]


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
_DECIMAL = lazy.pattern(r"-?[0-9]{1,6}(\.[0-9]{1,12})?")
"""Large and precise enough for every price, but limited, so that calculations with it stay fast."""


class _ListedRow(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    aliases: tuple[str, ...] = ()


class _Sold(Struct, frozen=True, forbid_unknown_fields=True):
    models: dict[str, Any] = {}
    pattern: str | None = None


class _Document(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file as it is written. Prices in another currency would be taken for dollars."""

    schema: Literal[1] = 1
    currency: Literal["usd"] = "usd"
    unit: Literal["per million tokens, decimal strings"] | None = None
    as_of: date | None = None
    models: dict[str, Any] = {}
    aliases: dict[str, str] = {}
    providers: dict[str, _Sold] = {}
    fast_mode: dict[str, Any] = {}
    inference_geo: dict[str, Any] = {}
    region_prefix: dict[str, Any] = {}
    service_tier: dict[str, Any] = {}
    web_search_usd_per_request: str | float | None = None


_T = TypeVar("_T")


def read_prices(raw: bytes, file: str, known: Container[str] = ()) -> PriceFile:
    """Parses a price file; aliases and factors may also name the models in `known`. Raises BadInput."""
    return _Reader(file).file(raw, known)


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = printable(file)

    def file(self, raw: bytes, known: Container[str]) -> PriceFile:
        try:  # the prefix is a byte-order mark, which some editors write
            given = self._lowered(msgspec.json.decode(raw.removeprefix(b"\xef\xbb\xbf")))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadInput(f"{self._file} is not valid JSON: {error}") from error
        document = self._converted(given, _Document, "")
        sold = document.providers
        named = {f"{name}/{model}": rows for name, each in sold.items() for model, rows in each.models.items()}
        models = {name: self._rows(rows, f"model {_shown(name)}") for name, rows in (document.models | named).items()}
        read = PriceFile(
            as_of=document.as_of,
            models={name: tuple(map(_without_aliases, rows)) for name, rows in models.items()},
            aliases=self._aliases(document.aliases, models),
            providers={
                name: Provider(
                    pattern=each.pattern or f"{name}/*", names={model: f"{name}/{model}" for model in each.models}
                )
                for name, each in sold.items()
            },
            fast_mode=self._factors(document.fast_mode, "fast_mode"),
            inference_geo=self._premium(document.inference_geo, "inference_geo"),
            region_prefix=self._premium(document.region_prefix, "region_prefix"),
            service_tier=self._factors(document.service_tier, "service_tier"),
            web_search=self._price(document.web_search_usd_per_request, "field 'web_search_usd_per_request'"),
        )
        self._check_models(read, known)
        return read

    def _lowered(self, value: Any) -> Any:
        """The same in lower case, without the fields that are null."""
        if isinstance(value, list):
            return [self._lowered(each) for each in value]
        if not isinstance(value, dict):
            return value.lower() if isinstance(value, str) else value
        found: dict[str, Any] = {}
        for name, each in value.items():
            if name.lower() in found:
                self._refuse(f"name {_shown(name)}", "stands there twice")
            if each is not None:
                found[name.lower()] = self._lowered(each)
        return found

    def _converted(self, value: Any, kind: type[_T], where: str) -> _T:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            problem, _, path = str(error).partition(" - at `$")
            field = f"field {path.strip('.`')!r}" if path else ""
            self._refuse(
                ", ".join(part for part in (where, field) if part), _shortened(problem[:1].lower() + problem[1:])
            )

    def _rows(self, value: Any, where: str) -> list[_ListedRow]:
        """The rows of a model, given as a list or as a single row."""
        values = value if isinstance(value, list) else [value]
        if not values:
            self._refuse(where, "has no row of prices")
        places = [where] if len(values) == 1 else [f"{where}, row {number}" for number in range(1, len(values) + 1)]
        rows = [self._row(each, place) for each, place in zip(values, places, strict=True)]
        if len({row.from_date for row in rows}) < len(rows):
            self._refuse(f"{where}, field 'from_date'", "two rows begin on the same day")
        return sorted(rows, key=lambda row: row.from_date or date.min)

    def _row(self, value: Any, where: str) -> _ListedRow:
        fields = self._converted(value, dict[str, Any], where)
        if isinstance(tier := fields.get("long_context"), dict):
            fields["long_context"] = self._priced(tier, f"{where}, field 'long_context.")
        return self._converted(self._priced(fields, f"{where}, field '"), _ListedRow, where)

    def _priced(self, fields: dict[str, Any], where: str) -> dict[str, Any]:
        return fields | {name: self._price(fields[name], f"{where}{name}'") for name in PER_TOKEN if name in fields}

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

    def _factors(self, given: dict[str, Any], part: str) -> dict[str, str]:
        found = {name: self._price(each, f"field {part!r}, name {_shown(name)}") for name, each in given.items()}
        return {name: factor for name, factor in found.items() if factor is not None}

    def _premium(self, given: dict[str, Any], part: str) -> Premium:
        applies_to = self._converted(given.pop("applies_to", ()), tuple[str, ...], f"field '{part}.applies_to'")
        return Premium(factors=self._factors(given, part), applies_to=applies_to)

    def _aliases(self, named: dict[str, str], models: Mapping[str, Iterable[_ListedRow]]) -> dict[str, str]:
        """All aliases: those in the table of aliases and those in the rows of models."""
        found = dict(named)
        for alias, model in ((alias, model) for model, rows in models.items() for row in rows for alias in row.aliases):
            if found.setdefault(alias, model) != model:
                self._refuse(f"alias {_shown(alias)}", f"means {_shown(found[alias])} and {_shown(model)}")
        for alias in found.keys() & models.keys():
            self._refuse(f"alias {_shown(alias)}", "is a model of this file, too")
        return found

    def _check_models(self, read: PriceFile, known: Container[str]) -> None:
        named = [(model, f"alias {_shown(alias)}") for alias, model in read.aliases.items()]
        named += [(model, "field 'fast_mode'") for model in read.fast_mode]
        for place in _PLACES:
            named += [(model, f"field '{place}.applies_to'") for model in getattr(read, place).applies_to]
        for model, where in named:
            if model not in read.models and model not in known:
                self._refuse(where, f"there is no model {_shown(model)} with prices")

    def _refuse(self, where: str, problem: str) -> NoReturn:
        raise BadInput(": ".join(part for part in (self._file, where, problem) if part))


def _without_aliases(listed: _ListedRow) -> Row:
    return Row(**{name: getattr(listed, name) for name in Row.__struct_fields__})


def _shown(value: Any) -> str:
    return _shortened(repr(value) if isinstance(value, str) else msgspec.json.encode(value).decode())


def _shortened(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


_LONGEST = 60
