"""Builds wheel and sdist, looks into both, and runs the suite from the installed wheel outside the checkout.

``python tests/packaging/check_build.py``; needs the package ``build``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
DATA = ("contracts", "fixtures")
REPORTS = ("README.md", "report.schema.json", "golden/report.json")
LEFT_BEHIND = re.compile(
    r"(.*/)?(__pycache__|node_modules|\.hypothesis)/|fixtures/vendors/[^/]+/(dist/|report/|state\.db)"
)
"""What tools leave behind in a checkout; git ignores it."""
SDIST_ROOT = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "tox.ini", "action.yml")


def source_files(folder: str) -> set[str]:
    """Return the files of a folder of the checkout, relative to the checkout, without what tools leave behind."""
    names = (path.relative_to(CHECKOUT).as_posix() for path in (CHECKOUT / folder).rglob("*") if path.is_file())
    return {name for name in names if not LEFT_BEHIND.match(name)}


def differences(what: str, expected: Iterable[str], found: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each file that is missing or should not be there."""
    expected, found = set(expected), set(found)
    yield from (f"{what} lacks {name}" for name in sorted(expected - found))
    yield from (f"{what} has {name}, which does not belong there" for name in sorted(found - expected))


def wheel_faults(wheel: Path) -> Iterator[str]:
    """Yield what is wrong with the contents of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not re.match(r"[\w.-]+\.dist-info/", name)]
    expected = source_files("conformance")
    for folder in DATA:
        expected |= {f"conformance/data/{name}" for name in source_files(folder)}
    expected |= {f"conformance/data/reports/{name}" for name in REPORTS}
    yield from differences("the wheel", expected, names)


def sdist_faults(sdist: Path) -> Iterator[str]:
    """Yield what is wrong with the contents of the source distribution."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames() if archive.getmember(name).isfile()}
    expected = {*SDIST_ROOT, *(f"reports/{name}" for name in REPORTS)}
    for folder in ("conformance", "tests", *DATA):
        expected |= source_files(folder)
    # What the format itself asks for.
    yield from differences("the sdist", expected, names - {"PKG-INFO", ".gitignore"})


def run(command: list[str], folder: Path) -> int:
    """Run a command in ``folder`` as a user would, without anything of this environment; return its exit status."""
    sys.stdout.write(f"$ {' '.join(command)}\n")
    sys.stdout.flush()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode  # noqa: S603  our own commands


def installed_faults(wheel: Path, folder: Path) -> Iterator[str]:
    """Install the wheel into a fresh environment in ``folder``, run it there, and yield what fails."""
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    commands = (
        [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)],
        [str(programs / "sosoapi-conformance"), "--version"],
        [str(programs / "sosoapi-conformance"), "init", "--url", "http://127.0.0.1:8000"],
        [str(programs / "pytest"), "--pyargs", "conformance", "--profile", "quick", "-q"],
    )
    for command in commands:
        status = run(command, elsewhere)
        if status:
            yield f"status {status} of: {' '.join(command)}"
            return


def faults(folder: Path) -> Iterator[str]:
    """Build into ``folder`` and yield everything that is wrong."""
    # The wheel is built from the sdist, so that an sdist that cannot be built from is found too.
    if run([sys.executable, "-m", "build", "--outdir", str(folder), str(CHECKOUT)], folder):
        yield "the build failed"
        return
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    yield from wheel_faults(wheel)
    yield from sdist_faults(sdist)
    yield from installed_faults(wheel, folder)


def main() -> int:
    """Build and check; return 1 when something is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        found = list(faults(Path(folder)))
    for fault in found:
        sys.stdout.write(f"build check: {fault}\n")
    sys.stdout.write("build check: " + ("failed\n" if found else "wheel and sdist are complete, and the wheel works\n"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
