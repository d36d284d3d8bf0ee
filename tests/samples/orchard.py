"""Sessions on orchard, a shop in TypeScript: a sketch, a wrong total, a dark theme, a slow list."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode

from reread.testing import Transcript, a_command, a_compaction, an_image

from .telling import Story

ORCHARD = "/home/ann/orchard"

BASKET = """\
import { Line } from "./types";

export function total(lines: Line[]): number {
  return lines.reduce((sum, line) => sum + line.price * line.count, 0);
}

export function shown(cents: number): string {
  return (cents / 100).toFixed(2) + " €";
}
"""

CHECKOUT = """\
import { useBasket } from "../basket/useBasket";
import { shown, total } from "../basket/total";

export function Checkout() {
  const lines = useBasket();
  return (
    <main className="checkout">
      <ol>
        {lines.map((line) => (
          <li key={line.id}>
            {line.count} × {line.name}
          </li>
        ))}
      </ol>
      <p className="sum">{shown(total(lines))}</p>
      <button type="submit">Order now</button>
    </main>
  );
}
"""

THEME = """\
:root {
  --paper: #ffffff;
  --ink: #1c1b1a;
  --leaf: #2f7d32;
}

body {
  background: var(--paper);
  color: var(--ink);
}
"""

LIST = """\
export async function products(): Promise<Product[]> {
  const ids: string[] = await get("/api/products");
  const found: Product[] = [];
  for (const id of ids) {
    found.push(await get(`/api/products/${id}`));
  }
  return found;
}
"""

FORM = """\
export function Address() {
  return (
    <form>
      <input name="street" placeholder="Street" />
      <input name="city" placeholder="City" />
      <button>Next</button>
    </form>
  );
}
"""

WRONG_TOTAL = """\
 FAIL  src/basket/total.test.ts > total > takes the discount off once
AssertionError: expected 1710 to be 1800
 Test Files  1 failed | 11 passed (12)"""

NO_LABEL = """\
Error: locator.fill: strict mode violation: getByLabel('Street') resolved to 0 elements
    at address.spec.ts:14:38
    at runMicrotasks (<anonymous>)"""


def sketch() -> bytes:
    """A page as somebody might draw it: two lines, a sum and a button."""
    width, height = 160, 100

    def colour(x: int, y: int) -> tuple[int, int, int]:
        if 70 <= y < 86 and 90 <= x < 150:
            return 47, 125, 50
        for top, right in ((14, 120), (30, 100), (50, 60)):
            if top <= y < top + 6 and 10 <= x < right:
                return 140, 136, 130
        return (216, 211, 204) if x in (0, width - 1) or y in (0, height - 1) else (250, 248, 245)

    rows = b"".join(b"\0" + bytes(part for x in range(width) for part in colour(x, y)) for y in range(height))

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def checkout_page() -> Transcript:
    """A picture in the prompt."""
    story = Story("1f6a8c2d-3b5e-4d7f-9a1c-2e4f6a8b0c11", ORCHARD, model="claude-opus-4-7", version="2.1.130").titled(
        "Checkout page from a sketch"
    )
    story.ask("Build this checkout page. The sketch shows the order.", an_image(b64encode(sketch()).decode()))
    story.think("A list of lines, the sum below, one green button at the right. The basket hook exists already.")
    story.use("Glob", {"pattern": "src/basket/*"}, "src/basket/total.ts\nsrc/basket/types.ts\nsrc/basket/useBasket.ts")
    story.read("src/basket/total.ts", BASKET).write("src/checkout/Checkout.tsx", CHECKOUT)
    story.bash("npx tsc --noEmit", "").bash("npx vitest run", " Test Files  11 passed (11)")
    story.say("The page is in `src/checkout/Checkout.tsx`: lines, sum, button, in the order of the sketch.").took(102)
    return story.told()


def wrong_total() -> Transcript:
    """Terminal output pasted into the prompt, an edit without a read."""
    story = Story("2a7b9d3e-4c6f-4e80-8b2d-3f5a7b9c1d12", ORCHARD, version="2.1.197").titled("Basket total is wrong")
    story.files["src/basket/total.ts"] = BASKET
    story.ask(f"The discount is taken off twice:\n\n$ npx vitest run\n{WRONG_TOTAL}")
    story.edit_unread("src/basket/total.ts", "sum + line.price * line.count", "sum + line.net * line.count")
    story.read("src/basket/total.ts")
    story.read(
        "src/basket/types.ts", "export type Line = { id: string; name: string; price: number; count: number };\n"
    )
    story.think("`price` is already net of the discount for club members; the caller subtracts it again.")
    story.bash("grep -rn discount src", "src/checkout/Checkout.tsx:14:  const due = total(lines) - discount(lines);")
    story.read(
        "src/checkout/Checkout.tsx", CHECKOUT.replace("shown(total(lines))", "shown(total(lines) - discount(lines))")
    )
    story.edit("src/checkout/Checkout.tsx", "shown(total(lines) - discount(lines))", "shown(total(lines))")
    story.bash("npx vitest run", " Test Files  12 passed (12)")
    story.say("Prices in the basket are net already; the page took the discount off again. All tests pass.").took(131)
    return story.told()


def dark_theme() -> Transcript:
    """A refused edit, a correction, a look into the web."""
    story = Story("3b8cae4f-5d70-4f91-9c3e-406b8cad2e13", ORCHARD, model="claude-sonnet-5", version="2.1.209").titled(
        "A dark theme"
    )
    story.files["src/theme.css"] = THEME
    story.ask("Add a dark theme that follows the system.")
    story.read("src/theme.css").think(
        "One media query over three variables; the contrast of the green must hold on dark paper."
    )
    story.edit_refused("src/theme.css", "--paper: #ffffff;", "--paper: #000000;")
    story.ask("Don't change the light colours! Only add the dark ones.")
    story.edit(
        "src/theme.css",
        "body {",
        "@media (prefers-color-scheme: dark) {\n  :root {\n    --paper: #1a1918;\n"
        "    --ink: #ece9e4;\n    --leaf: #2f7d32;\n  }\n}\n\nbody {",
    )
    story.say("Dark colours apply where the system asks for them; the light ones are as they were.")
    story.ask("Is the green readable on the dark paper?")
    story.use(
        "WebSearch",
        {"query": "WCAG contrast minimum large text buttons"},
        'Links: [{"title": "Contrast (Minimum)", "url": "https://www.w3.org/TR/WCAG22/"}]\n\n'
        "Text needs 4.5:1, large text 3:1.",
    )
    story.think("#2f7d32 on #1a1918 is about 3.4:1: enough for large text only. A lighter green gives 7:1.")
    story.edit("src/theme.css", "    --leaf: #2f7d32;\n  }", "    --leaf: #6abf6e;\n  }")
    story.say("It was 3.4:1, too little for small text. The lighter green has 7:1.").took(154)
    return story.told()


def slow_list() -> Transcript:
    """Two agents at once, a tool of an MCP server, a context that grew too long."""
    story = Story("4c9dbf50-6e81-4fa2-8d4f-517c9dbe3f14", ORCHARD, version="2.1.233").titled(
        "Speed up the product list"
    )
    story.files["src/products/load.ts"] = LIST
    story.ask("The product list takes four seconds. Find out where the time goes before you change anything.")
    for task, tool, given, output, answer, agent in (
        (
            "Measure the API calls of the list",
            "mcp__browser__network_log",
            {"page": "/products"},
            "61 requests, one after the other, 66 ms each",
            "61 requests run one after the other: 4.0 of 4.2 seconds.",
            "f20c71aa",
        ),
        (
            "Check whether rendering is slow",
            "mcp__browser__profile",
            {"page": "/products"},
            "scripting 140 ms, layout 35 ms",
            "Rendering takes 175 ms; it is not the cause.",
            "f20c71ab",
        ),
    ):
        inner = Story(agent, ORCHARD, model="claude-haiku-5-5").use(tool, given, output)
        story.delegate("general-purpose", task, inner, answer)
    story.think("Not the rendering: the loop awaits each product before it asks for the next one.")
    story.say(
        "The list asks for 61 products one after the other; drawing them takes 0.2 s. Shall I ask for them at once?"
    )
    story.add(
        a_compaction(
            "The list loads 61 products in turn (4.0 s of 4.2 s); rendering is fine.",
            trigger="auto",
            pre_tokens=161_200,
        )
    )
    story.ask("Yes, but no more than eight at a time.")
    story.read("src/products/load.ts")
    story.edit(
        "src/products/load.ts",
        "  const found: Product[] = [];\n  for (const id of ids) {\n"
        "    found.push(await get(`/api/products/${id}`));\n  }\n  return found;\n",
        "  return inBatches(ids, 8, (id) => get(`/api/products/${id}`));\n",
    )
    story.write(
        "src/products/batches.ts",
        "export async function inBatches<A, B>(all: A[], size: number, one: (a: A) => Promise<B>): Promise<B[]> {\n"
        "  const done: B[] = [];\n  for (let at = 0; at < all.length; at += size) {\n"
        "    done.push(...(await Promise.all(all.slice(at, at + size).map(one))));\n  }\n  return done;\n}\n",
    )
    story.bash("npx vitest run", " Test Files  14 passed (14)")
    story.use("mcp__browser__network_log", {"page": "/products"}, "61 requests, eight at a time, 0.6 s in all")
    story.say("0.6 seconds instead of 4.0, never more than eight requests at once.").took(266)
    return story.told()


def labels_of_the_form() -> Transcript:
    """A slash command, a pasted stack trace, a prompt sent while the agent was busy."""
    story = Story("5daec061-7f92-40b3-9e50-628daecf4015", ORCHARD, model="claude-opus-5-5", version="2.1.325").titled(
        "Labels of the address form"
    )
    story.add(a_command("/review", "src/checkout"))
    story.ask(f"The browser test fails, and a screen reader says nothing:\n\n{NO_LABEL}")
    story.think("A placeholder is no label. Each input needs one that is tied to it.")
    story.read("src/checkout/Address.tsx", FORM)
    story.edit(
        "src/checkout/Address.tsx",
        '      <input name="street" placeholder="Street" />\n      <input name="city" placeholder="City" />\n',
        '      <label>\n        Street <input name="street" autoComplete="street-address" />\n      </label>\n'
        '      <label>\n        City <input name="city" autoComplete="address-level2" />\n      </label>\n',
    )
    story.queue("and say what the button leads to")
    story.edit("src/checkout/Address.tsx", "<button>Next</button>", "<button>Next: payment</button>")
    story.bash("npx playwright test address", "  3 passed (4.1s)")
    story.say("Both fields have labels, the button says where it leads, and the three browser tests pass.").took(97)
    return story.told()
