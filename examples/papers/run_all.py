"""Runs all experiments and puts their tables and figures into one page: build/papers/index.html."""

import base64
import html
import json
import pathlib
import subprocess
import sys
import time

from paper import OUT

HERE = pathlib.Path(__file__).parent
NAMES = (
    "friction",
    "mass",
    "pyramid",
    "static_kinetic",
    "cube_tosses",
    "cube_video",
    "initial_conditions",
    "contact_inverse_dynamics",
    "excitation",
)
STYLE = """body { font: 15px/1.5 system-ui, sans-serif; max-width: 64em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
td, th { padding: 0.15em 0.8em; border-bottom: 1px solid #ddd; text-align: left; overflow-wrap: break-word; }
th:first-child { width: 48%; } th:nth-child(2) { width: 22%; } h2 { margin-top: 2em; }
img { max-width: 100%; display: block; margin: 1em 0; } .paper { color: #555; }
.failed { background: #fdd; padding: 0.5em; }"""


def section(name):
    path = OUT / f"{name}.json"
    if not path.exists():
        return f'<h2 id="{name}">{name}</h2><p class="failed">did not finish</p>'
    record = json.loads(path.read_text(encoding="utf-8"))
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in record["rows"]
    )
    pictures = "".join(
        f'<img alt="" src="data:image/png;base64,{base64.b64encode((OUT / p).read_bytes()).decode()}">'
        for p in record["pictures"]
    )
    return (
        f'<h2 id="{name}">{html.escape(record["title"])}</h2>'
        f'<p class="paper"><b>The paper:</b> {html.escape(record["paper"])}.</p>'
        f"<p><b>Ours:</b> {html.escape(record['ours'])}</p>"
        f"<table><tr><th></th><th>expected</th><th>ours</th></tr>{rows}</table>{pictures}"
        f"<p>{record['seconds']:.0f} s</p>"
    )


def title(name):
    path = OUT / f"{name}.json"
    return html.escape(json.loads(path.read_text(encoding="utf-8"))["title"]) if path.exists() else name


def main():
    failed, more = [], sys.argv[1:]
    names = [name for name in NAMES if (HERE / f"{name}.py").exists()]
    began = time.monotonic()
    for i, name in enumerate(names):
        (OUT / f"{name}.json").unlink(missing_ok=True)
        print(f"[{i + 1}/{len(names)}, {time.monotonic() - began:.0f} s] {name}", flush=True)
        if subprocess.run([sys.executable, str(HERE / f"{name}.py"), *more], check=False).returncode != 0:
            failed.append(name)
    OUT.mkdir(parents=True, exist_ok=True)
    page = f"<!doctype html><html><head><meta charset='utf-8'><title>papers</title><style>{STYLE}</style></head><body>"
    page += "<h1>Experiments of the papers</h1><p>" + " | ".join(f'<a href="#{n}">{title(n)}</a>' for n in names)
    page += "</p>" + "".join(map(section, names)) + "</body></html>\n"
    (OUT / "index.html").write_text(page, encoding="utf-8")
    print(f"{OUT / 'index.html'}: {len(names) - len(failed)} of {len(names)} ran, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
