"""What the folders, their files and the imports between them keep to."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings

ROOT = settings.BASE_DIR
PACKAGES = ("retwis_site", "accounts", "timeline", "benchmarks")
LONGEST = 600  # lines of a file

# Modules that do not know requests: the layers below pages, and the repositories of the features.
WITHOUT_REQUESTS = ("retwis_site/store", "retwis_site/jobs", "retwis_site/maintenance", "accounts/users")
WITHOUT_REQUESTS += ("timeline/posts/reading",)
REPOSITORIES = ("posts/repository", "posts/settling", "posts/delivery", "relations/edges", "relations/relations")
REPOSITORIES += ("relations/relation", "conversation/repository", "moderation/reports", "people/lists")
REPOSITORIES += ("timelines/home", "timelines/everyone", "timelines/profile")
REPOSITORIES += ("people/directory",)


def modules(*folders):
    return [path.relative_to(ROOT) for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


@cache
def parsed(path):
    return ast.parse((ROOT / path).read_text())


def imported_by(path):
    """The full names that a module imports."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_the_drawing_has_every_room():
    drawn = (ROOT / "docs/architecture.svg").read_text()
    bands = re.findall(r'class="app"[^>]*>(\w+)/(.*?)(?=class="app"|\Z)', drawn, re.DOTALL)
    rooms = {f"{band}/{name}" for band, text in bands for name in re.findall(r'class="name"[^>]*>(\w+)<', text)}
    folders = {"/".join(path.parts[:2]) for path in modules(*PACKAGES[:3]) if len(path.parts) > 2}
    assert rooms == folders


def test_no_file_is_too_long():
    lines = {path: len((ROOT / path).read_text().splitlines()) for path in modules(*PACKAGES, "tests")}
    assert {str(path): count for path, count in lines.items() if count > LONGEST} == {}


def test_no_two_classes_or_types_have_the_same_name():
    """A reader who meets a name knows what it is, and a search for it leads to one place. Django asks for `Command`."""
    found = defaultdict(list)
    for path in modules(*PACKAGES[:3]):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path))
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name, made = node.targets[0].id, ast.unparse(node.value)
                if re.fullmatch("[A-Z]+[a-z]+[A-Za-z]*", name) and not made.startswith("TypeVar("):
                    found[name].append(str(path))
    assert len(found) > 500
    assert {name: paths for name, paths in found.items() if len(paths) > 1 and name != "Command"} == {}


def test_no_test_file_imports_from_another_test_file():
    line = re.compile(r"^\s*(from|import) .*\btest_|^\s+test_\w+,?$", re.MULTILINE)  # to parse all files takes seconds
    suspects = [path for path in modules("tests") if line.search((ROOT / path).read_text())]
    found = [(str(path), name) for path in suspects for name in imported_by(path) if ".test_" in name]
    assert found == []


def test_the_site_imports_nothing_of_tests_or_benchmarks():
    found = [(str(path), name) for path in modules(*PACKAGES[:3]) for name in imported_by(path)]
    assert [one for one in found if one[1].split(".")[0] in {"tests", "benchmarks"}] == []


def test_no_code_finds_a_reply_by_its_place():
    """`execute()` returns nothing: a reply is the `value` of its command's handle. benchmarks use redis-py itself."""
    found = []
    for path in modules(*PACKAGES[:3]):
        nodes = list(ast.walk(parsed(path)))
        statements = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        calls = [node for node in nodes if isinstance(node, ast.Call) and id(node) not in statements]
        methods = [call.func for call in calls if isinstance(call.func, ast.Attribute)]
        found += [f"{path}:{method.lineno}" for method in methods if method.attr == "execute"]
    assert found == []


def test_repositories_import_nothing_about_requests():
    paths = [*modules(*WITHOUT_REQUESTS), *(Path(f"timeline/{name}.py") for name in REPOSITORIES)]
    web = ("django.http", "django.shortcuts", "django.urls", "django.template")
    found = [(str(path), name) for path in paths for name in imported_by(path) if name.startswith(web)]
    assert [one for one in found if not one[0].endswith("template_tags.py")] == []


@pytest.mark.parametrize("name", settings.FEATURES)
def test_every_feature_has_a_feature_module_and_tests(name):
    folder = Path(*name.split("."))
    assert (ROOT / folder / "feature.py").is_file()
    assert list((ROOT / "tests" / folder).rglob("test_*.py"))


def test_every_folder_of_templates_and_tests_mirrors_a_source_folder():
    """A site overrides templates by their paths: these stay, also where a feature's files have come together."""
    source = {path.parent for path in modules(*PACKAGES[:3])}
    templates = {path.parent.relative_to(ROOT / "templates") for path in (ROOT / "templates").rglob("*.*")}
    templates = {Path(*folder.parts[:2]) for folder in templates}
    tests = {path.parent.relative_to("tests") for path in modules(*(f"tests/{package}" for package in PACKAGES[:3]))}
    assert (templates | tests) - source == set()


def test_every_module_exists_that_a_record_or_a_docstring_names():
    """Else a reader looks for a file that now has another name."""
    files = {path.name for path in modules(*PACKAGES, "tests")} | {"manage.py"}
    texts = {path: (ROOT / path).read_text() for path in modules(*PACKAGES)}
    texts |= {path: path.read_text() for path in (ROOT / "docs/decisions.md", ROOT / "docs/architecture.md")}
    named = {(str(path), name) for path, text in texts.items() for name in re.findall(r"`(?:\w+/)*(\w+\.py)`", text)}
    assert len(named) > 30
    assert sorted(one for one in named if one[1] not in files) == []


def test_the_readme_is_short_and_its_links_and_those_of_contributing_exist():
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 150
    for document in (readme, (ROOT / "CONTRIBUTING.md").read_text()):
        for link in re.findall(r"\]\(([^)#:]+)\)", document):
            assert (ROOT / link).exists(), link


def test_contributing_writes_its_relation_as_ours_is_written():
    """What it says of highlights stands in the code of bookmarks."""
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    said = [code for code in re.findall(r"`([^`\n]+)`", guide) if "highlight" in code.lower() and "(" in code]
    code = "\n".join(path.read_text() for path in modules(*PACKAGES))
    ours = [one.replace("highlight", "bookmark").replace("HIGHLIGHT", "BOOKMARK").removesuffix("...)") for one in said]
    assert len(ours) > 3
    assert [one for one in ours if one not in code] == []
