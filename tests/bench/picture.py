"""The picture of run.py: for each model a bar an engine, its length the share of the roofline (tests/bench/roofline.py) that the engine reaches, so that
the line at 100 % is what the machine can do; where the roofline is not known, the ratio to castnet's time.
"""
from xml.sax.saxutils import escape

LEFT, WIDTH, RIGHT = 150, 560, 220  # names, bars, figures
BAR, GAP, TOP = 13, 12, 78
OWN = ["#14694b", "#5cb392", "#9fd3c0"]
PEERS = ["#3a6ea5", "#d08b2c", "#9b6bb3", "#8a8a8a", "#b5574f"]
HALO = {"paint_order": "stroke", "stroke": "white", "stroke_width": 3}


def text(x, y, words, **attributes):
    given = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{given}>{escape(words)}</text>'


def rect(x, y, width, height, fill):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height}" fill="{fill}"/>'


def duration(us):
    return f"{us / 1000:.4g} ms" if us >= 1000 else f"{us:.3g} µs"


def figures(e):
    words = [duration(e["min_us"])]
    if "share" in e:
        words.append(f"{100 * e['share']:.0f} %")
    if "ratio" in e:
        words.append(f"ratio {e['ratio']:.2f}")
    if "scaling" in e:
        words.append(f"scales {e['scaling']:.2f}")
    return ", ".join(words)


def length(row, e):
    """In units of the roofline; without one castnet's own time is the unit."""
    if "share" in e:
        return e["share"]
    own = [x["min_us"] for name, x in row["engines"].items() if name.startswith("castnet")]
    return min(own) / e["min_us"] if own else 0


def legend(engines, title):
    out = [text(LEFT, 22, title, font_size=15, font_weight="bold")]
    x = LEFT
    for name, colour in engines.items():
        out += [rect(x, 34, 11, 11, colour), text(x + 16, 44, name)]
        x += 32 + 6.6 * len(name)
    return out


def scale(height, known, most):
    out = []
    for percent in range(0, int(100 * most) + 1, 25 if most < 2 else 50):
        x = LEFT + WIDTH * percent / 100 / most
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{height - 10}" stroke="{"#222" if percent == 100 else "#ddd"}"/>')
        out.append(text(x, TOP - 12, f"{percent} %" if known or percent != 100 else "castnet", text_anchor="middle", fill="#555"))
    return out


def longest(rows):
    """Of the scale, in quarters: beyond 1 go fewer operations than direct convolutions have."""
    return max(1.0, *(-(-4 * length(r, e) // 1) / 4 for r in rows for e in r["engines"].values())) if rows else 1.0


def group(row, y, colours, most):
    """One model's bars, from y on down."""
    n = len(row["engines"])
    out = [text(LEFT - 10, y + n * BAR / 2 + 4, row["model"], text_anchor="end")]
    for i, (name, e) in enumerate(row["engines"].items()):
        width = WIDTH * length(row, e) / most
        out.append(rect(LEFT, y + i * BAR, width, BAR - 2, colours[name]))
        out.append(text(LEFT + width + 6, y + i * BAR + BAR - 4, figures(e), font_size=10, fill="#333", **HALO))
    return out


def colours_of(palette, names):
    return {name: palette[i % len(palette)] for i, name in enumerate(names)}


def draw(rows, threads):
    rows = [r for r in rows if r["engines"]]
    names = dict.fromkeys(name for r in rows for name in sorted(r["engines"], key=lambda n: not n.startswith("castnet")))
    colours = {**colours_of(OWN, [n for n in names if n.startswith("castnet")]), **colours_of(PEERS, [n for n in names if not n.startswith("castnet")])}
    most, known = longest(rows), all("share" in e for r in rows for e in r["engines"].values())
    height = TOP + sum(BAR * len(r["engines"]) + GAP for r in rows) + 14
    title = f"Share of the roofline, {threads} thread{'s'[:threads > 1]}" if known else "Speed beside castnet's"
    body, y = [], TOP
    for r in rows:
        body += group({**r, "engines": {n: r["engines"][n] for n in names if n in r["engines"]}}, y, colours, most)
        y += BAR * len(r["engines"]) + GAP
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" font-family="sans-serif" font-size="12">',
                      '<rect width="100%" height="100%" fill="white"/>', *legend(colours, title), *scale(height, known, most), *body, "</svg>"]) + "\n"
