"""Examples in docstrings and in the README run, and print what they say."""

import doctest
import importlib
import pathlib
import re

import pytest

import rushlight

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
LEFT_OUT = re.compile(r"rushlight\.(__main__|demo\b)")  # needs extras, and has no examples
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def modules():
    """Every module of the package; the error in place of one that cannot be imported."""
    folder = pathlib.Path(rushlight.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        parts = ("rushlight", *path.relative_to(folder).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if LEFT_OUT.match(name):
            continue
        try:
            yield name, importlib.import_module(name)
        except Exception as error:
            yield name, error


def documented():
    """Name and docstring of every public thing whose docstring holds an example, once; errors of modules among them."""
    seen = set()

    def look(name, thing):
        text = getattr(thing, "__doc__", None)
        if isinstance(text, str) and ">>>" in text and text not in seen:
            seen.add(text)
            yield name, text

    for home, module in modules():
        if isinstance(module, Exception):
            yield home, module
            continue
        yield from look(home, module)
        for key, thing in sorted(vars(module).items()):
            ours = str(getattr(thing, "__module__", None) or "rushlight").startswith("rushlight")
            if key.startswith("_") or not callable(thing) or not ours:
                continue
            name = f"{home}.{key}"
            yield from look(name, thing)
            if isinstance(thing, type):
                for attribute, value in sorted(vars(thing).items()):
                    if not attribute.startswith("_"):
                        yield from look(f"{name}.{attribute}", getattr(value, "__func__", value))


def run(text, name):
    names = {"rushlight": rushlight, "rl": rushlight}
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    said = []
    rushlight.manual_seed(0)
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert not result.failed, "".join(said)


@pytest.mark.parametrize("name, text", [pytest.param(n, t, id=n) for n, t in documented()])
def test_docstring(name, text, tmp_path, monkeypatch):
    if isinstance(text, Exception):
        raise text
    monkeypatch.chdir(tmp_path)
    run(text, name)


@pytest.mark.parametrize("page", ["README.md", "docs/differences.md", "docs/architecture.md"])
def test_page(page, tmp_path, monkeypatch):
    """Python blocks of a page run one after another; prompts in them are doctests."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in PYTHON_BLOCK.findall((ROOT / page).read_text()):
        if ">>>" in block:
            run(block, page)
        else:
            exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize(
    "page", sorted(p.relative_to(ROOT).as_posix() for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
)
def test_links(page):
    """A link to a file of the repository leads somewhere."""
    path = ROOT / page
    targets = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", path.read_text())
    assert not [t for t in targets if "://" not in t and not (path.parent / t).exists()]


def test_readme_commands():
    text = (ROOT / "README.md").read_text()
    assert "pip install '.[demo]' && rushlight demo" in text
    assert "pip install '.[test]' && pytest" in text
