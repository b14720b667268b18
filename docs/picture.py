#!/usr/bin/env python3
"""Makes docs/demo.svg from what the demo prints: forebay demo --fast --color always | docs/picture.py > docs/demo.svg

Knows the few escapes that the demo uses. Long streams are cut in the middle so that the picture fits a page."""
import re
import sys
from html import escape

CHAR, LINE, PAD = 7.23, 16.5, 18
COLOURS = {"31": "#f47067", "32": "#6bc46d", "33": "#daaa3f", "36": "#76e3ea", "35": "#dcbdfb"}


def spans(line):
    style = {}
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        m = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if not m:
            if part:
                yield part, dict(style)
            continue
        for code in (m[1] or "0").split(";"):
            if code == "0":
                style = {}
            elif code == "1":
                style["font-weight"] = "bold"
            elif code == "2":
                style["fill"] = "#768390"
            elif code in COLOURS:
                style["fill"] = COLOURS[code]


def plain(line):
    return re.sub(r"\x1b\[[0-9;]*m", "", line)



def main():
    lines = sys.stdin.read().rstrip("\n").split("\n")
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    if len(lines) > limit:
        head = limit * 2 // 3
        lines = lines[:head] + ["\x1b[2m      … and so on …\x1b[0m"] + lines[head - limit + 1 :]
    width = PAD * 2 + CHAR * max(len(plain(l)) for l in lines)
    height = PAD * 2 + LINE * len(lines)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        ' font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="12">',
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="#22272e"/>',
    ]
    for i, line in enumerate(lines):
        y, x = PAD + LINE * (i + 0.75), 0
        for text, style in spans(line):
            attrs = "".join(f' {k}="{v}"' for k, v in ({"fill": "#adbac7"} | style).items())
            if text.strip():
                # The length is given, so that columns stay in line whatever font there is.
                out.append(
                    f'<text x="{PAD + x * CHAR:.1f}" y="{y:.1f}" textLength="{len(text) * CHAR:.1f}"'
                    f' lengthAdjust="spacingAndGlyphs" xml:space="preserve"{attrs}>{escape(text)}</text>'
                )
            x += len(text)
    out.append("</svg>")
    print("\n".join(out))


main()
