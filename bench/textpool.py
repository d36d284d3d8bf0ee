"""Makes the text of synthetic transcripts: prose, code, logs and base64, fast and equal for equal seeds.

Text is drawn from pools of ready sentences and lines: drawing words one by one is ten times slower.
"""

from __future__ import annotations

import base64
import functools
import itertools
import math
import random
from collections.abc import Iterator, Sequence

__all__ = ["TextPool", "blob", "length", "text_pool"]

COMMON = (
    "the to a of and in is it that for this with on not be we as are from if but by or so can test file "
    "function error should return value when now then check run will use add fix all there which have see "
    "need call line code path data type read write first only also before after still new old same list key "
    "make build name result because change update server client request session module import class method"
)
ONSETS = " b c d f g h k l m n p r s t v w z br cl dr fl gr pl pr sc st tr qu"
NUCLEI = "a e i o u ai ea io ou"
CODAS = "  n r s t l nd rt ck st x m"
CYRILLIC = "ка ро не та ли во ме си да ну по ре жи зо шу ба ты ще юл гра про ст ов ен"
CJK = "文件読込会議設定変更日本語検索結果削除追加保存開始終了確認処理時間数字東京中国人民测试错误修复运行代码"

CODE_SHAPES = (
    "    {a}_{b} = {c}({d}, {n})",
    "    if {a}.{b} is not None and {c} > {n}:",
    "def {a}_{b}({c}: str, {d}: int = {n}) -> None:",
    '        return self._{a}.get("{b}", {n})',
    "import {{ {a}, {b} }} from './{c}/{d}';",
    "  const {a} = await {b}.{c}({{ {d}: {n} }});",
    "  expect({a}.{b}).toBe('{c}');",
    "\t\tif err := {a}.{b}(ctx, {c}); err != nil {{",
    '    "{a}-{b}": "^{n}.{d}",',
    "        self.{a}.append(({b}, {c}, {n}))  # {d}",
    "    for {a}, {b} in enumerate({c}[{n}:]):",
    '  <{a} className="{b}-{n}" onClick={{() => {c}({d})}} />',
    "}}",
    "",
)
LOG_SHAPES = (
    "src/{a}/{b}.ts:{n}: {c} {d}",
    "[{n}ms] INFO  {a}.{b}: {c} {d}",
    "  ✓ {a} {b} {c} ({n} ms)",
    "-rw-r--r--  1 ann ann  {n} Nov  3 10:{m} {a}_{b}.py",
    "tests/{a}/test_{b}.py::test_{c}_{d} PASSED",
    "{h} {a}({b}): {c} {d}",
    "WARNING {a}: {b} {c} took {n} ms (limit {m})",
    '  File "/srv/{a}/{b}.py", line {n}, in {c}',
)


def made_words(rng: random.Random, count: int) -> list[str]:
    """English-looking words, the real common ones first, for a Zipf-like draw."""
    words = dict.fromkeys(COMMON.split())
    onsets, nuclei, codas = ONSETS.split(" "), NUCLEI.split(" "), CODAS.split(" ")
    while len(words) < count:
        syllables = rng.choice((1, 2, 2, 2, 3))
        made = (rng.choice(onsets) + rng.choice(nuclei) + rng.choice(codas) for _ in range(syllables))
        words["".join(made)] = None
    return list(words)


def foreign_words(rng: random.Random) -> dict[str, list[str]]:
    """Small vocabularies in scripts whose letters take two and three bytes."""
    syllables = CYRILLIC.split()
    return {
        "cyrillic": ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(600)],
        "cjk": ["".join(rng.choices(CJK, k=rng.randint(1, 3))) for _ in range(600)],
    }


class TextPool:
    """Ready sentences and lines of several kinds, drawn with the caller's generator."""

    def __init__(self, seed: int, sentences: int = 16_000, lines: int = 16_000) -> None:
        rng = random.Random(f"text:{seed}")
        self.words = made_words(rng, 4_000)
        weights = [1 / (rank + 4) for rank in range(len(self.words))]
        drawn = iter(rng.choices(self.words, weights, k=sentences * 17 + lines * 8))
        self.sentences = {"latin": [sentence(rng, drawn) for _ in range(sentences)]}
        for script, words in foreign_words(rng).items():
            self.sentences[script] = [sentence(rng, iter(rng.choices(words, k=20))) for _ in range(2_000)]
        self.code_lines = [shaped(rng, CODE_SHAPES, drawn) for _ in range(lines)]
        self.log_lines = [shaped(rng, LOG_SHAPES, drawn) for _ in range(lines)]
        self.system_prompt = self.prose(rng, 24_000)

    def prose(self, rng: random.Random, size: int, script: str = "latin") -> str:
        """About `size` characters of sentences, in paragraphs."""
        picked = rng.choices(self.sentences[script], k=max(1, size // 70))
        return "\n\n".join(" ".join(picked[i : i + 5]) for i in range(0, len(picked), 5))

    def code(self, rng: random.Random, size: int) -> str:
        """About `size` characters that look like a source file."""
        return "\n".join(rng.choices(self.code_lines, k=max(1, size // 36)))

    def log(self, rng: random.Random, size: int) -> str:
        """About `size` characters that look like what a command prints."""
        return "\n".join(rng.choices(self.log_lines, k=max(1, size // 42)))

    def path(self, rng: random.Random, suffix: str = ".py") -> str:
        """A relative source path."""
        first, second, third = rng.choices(self.words, k=3)
        return f"src/{first}/{second}_{third}{suffix}"


def sentence(rng: random.Random, drawn: Iterator[str]) -> str:
    """One sentence of 5 to 16 words from the stream of drawn words."""
    words = itertools.islice(drawn, rng.randint(5, 16))
    return " ".join(words).capitalize() + rng.choice((".", ".", ".", ":", "?"))


def shaped(rng: random.Random, shapes: Sequence[str], drawn: Iterator[str]) -> str:
    """One line of a given shape, filled with drawn words and numbers."""
    a, b, c, d = itertools.islice(drawn, 4)
    numbers = {"n": rng.randint(2, 9_999), "m": rng.randint(10, 59), "h": f"{rng.getrandbits(28):07x}"}
    return rng.choice(shapes).format(a=a, b=b, c=c, d=d, **numbers)


def blob(rng: random.Random, size: int) -> str:
    """Base64 of `size` characters: signatures and images, which no compressor makes smaller than 3/4."""
    return base64.b64encode(rng.randbytes(size * 3 // 4)).decode()


def length(rng: random.Random, median: float, spread: float, most: int) -> int:
    """A long-tailed length: half of them above `median`, none above `most`."""
    return min(most, int(median * math.exp(rng.gauss(0, spread))) + 1)


@functools.lru_cache(maxsize=2)
def text_pool(seed: int) -> TextPool:
    """The pool of a seed, built once: it takes a third of a second."""
    return TextPool(seed)
