"""What mkdocs does beyond the pages in docs/: generated pages, tables from results, formulas.

mkdocs.yml names this file as a hook. Nothing it makes is committed; `mkdocs build` is enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import api_pages
import bagwise
import migration_pages
import model_pages
import page_of_errors
import scale_pages
import tree_pages
import tutorial_pages

ROOT = Path(__file__).parents[2]
# Pages that lie at the root of the repository, where platforms expect them.
FROM_ROOT = {
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "security.md": "SECURITY.md",
    "code-of-conduct.md": "CODE_OF_CONDUCT.md",
}
# What a marker such as <!-- generated: models --> in a page becomes.
GENERATED: dict[str, Callable[[], str]] = {
    "removed": migration_pages.tables,
    "sizes": tree_pages.sizes,
    "models": model_pages.model_table,
    "citations": model_pages.citations,
    "tutorials": tutorial_pages.gallery,
    "scale": scale_pages.costs,
}
CODE = re.compile(r"<code>((?:[^<]|<wbr>)+)</code>")
# Reference pages repeat the words of guides; a reader who searches wants the guide first.
SEARCH_BOOSTS = {"api/": 0.3, "results/": 0.2, "changelog": 0.2, "errors": 0.5, "mistakes": 0.5}


def math_fence(source: str, *_: Any, **__: Any) -> str:
    """Turn a fence ```math into MathML, which browsers show without scripts."""
    from latex2mathml.converter import convert

    below = re.sub(r"\\(min|max)_", r"\\\1\\limits_", " ".join(source.split()))
    return convert(below, display="block")


def on_config(config: Any) -> Any:
    """Add the version, the formulas and the generated part of the navigation."""
    if not config.repo_url:  # nowhere to edit
        config.edit_uri = None
    config.copyright = f"bagwise {bagwise.__version__}, BSD-3-Clause"
    fences = [{"name": "math", "class": "math", "format": math_fence}]
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = fences
    sections = {key: value for item in config.nav for key, value in item.items()}
    sections["API"] += api_pages.navigation()
    sections["Tutorials"] += tutorial_pages.navigation()
    return config


def made() -> dict[str, Callable[[], str | bytes]]:
    """Return how to make each file that is not in docs/: pages, figures, notebooks."""
    roots = {page: partial(from_root, ROOT / source) for page, source in FROM_ROOT.items()}
    return {
        **api_pages.pages(),
        **tutorial_pages.pages(),
        "errors.md": page_of_errors.page,
        **roots,
    }


def on_files(files: Any, config: Any) -> Any:
    """Add the files that are made of code, docstrings and notebooks."""
    from mkdocs.structure.files import File

    for path, make in made().items():
        files.append(File.generated(config, path, content=make()))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Keep options such as ``--bag`` and ``5 %`` in one line; let names in tables break.

    Browsers break lines behind each hyphen and space, and names such as ``WitnessSVC`` nowhere.
    """
    html = re.sub(r"(?<=\d) %(?![^<]*</code>)", "\N{NO-BREAK SPACE}%", html)
    html = re.sub(r"<td.*?</td>", lambda m: CODE.sub(with_breaks, m[0]), html, flags=re.S)
    return CODE.sub(lambda m: f"<code>{keep_whole(m[1])}</code>", html)


def with_breaks(code: re.Match[str]) -> str:
    """Return code that may be broken before capitals and behind signs; site.css says where."""
    words = re.sub(r"(?<=[a-z)])(?=[A-Z])|(?<=[(/_=])(?=\w)", "<wbr>", code[1])
    return f"<code>{words}</code>"


def keep_whole(code: str) -> str:
    """Return the code with every word that begins with a hyphen marked as unbreakable."""
    return re.sub(r"(?<!\S)-+[a-z][\w-]*", r'<span class="option">\g<0></span>', code)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Give the search dialog of the theme a name, for readers who hear the page."""
    del page, config
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def from_root(path: Path) -> str:
    """Return a page of the repository's root with links as seen from docs/."""
    back = {source: page for page, source in FROM_ROOT.items()}
    text = path.read_text(encoding="utf-8").replace("](docs/", "](")
    return re.sub(r"\]\((\w+\.md)\)", lambda m: f"]({back.get(m[1], m[1])})", text)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Fill in generated tables, link the API page's names, weigh pages for the search."""
    del files
    source = page.file.src_uri
    if config.repo_url and (origin := origin_of(source)):
        page.edit_url = f"{config.repo_url}/edit/main/{origin}"
    boost = next((b for start, b in SEARCH_BOOSTS.items() if source.startswith(start)), 1.0)
    if boost != 1:
        page.meta["search"] = {"boost": boost}
    if source == "api.md":
        return api_pages.with_links(markdown)
    return as_sessions(fill_in(markdown))


def fill_in(markdown: str) -> str:
    """Replace each marker of generated text by the text."""
    return re.sub(r"<!-- generated: (\w+) -->", lambda m: GENERATED[m[1]](), markdown)


def origin_of(source: str) -> str | None:
    """Return the file in the repository that a generated page comes from; None for others."""
    folder, _, name = source.removesuffix(".md").partition("/")
    if folder == "tutorials":
        return f"examples/tutorials/{name}.py"
    if folder == "api" and name:
        return api_pages.source_of(name)
    return FROM_ROOT.get(source)


def as_sessions(markdown: str) -> str:
    """Mark Python sessions as such, without remarks to doctest; copies then have the code only."""
    markdown = re.sub(r" +# doctest: .*$", "", markdown, flags=re.M)
    return re.sub(r"^```python(?=\n>>> )", "```pycon", markdown, flags=re.M)
