"""What the documents tell people to type is run, in order, and does what they show; nothing is passed over in silence.

In ordinary CI runs of the suite are narrowed to few cases; ``--thorough`` runs them as they stand.
"""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path

import pytest
from acting import Stage, copied_checkout, is_server
from document_scenes import NOT_RUN, SCENES, Act, Scene
from documented import Documented, commands, documents, first_difference
from node import lacking
from suite_run import CHECKOUT

from conformance.command_line import COMMANDS, main
from conformance.plugin import OPTIONS

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="the documents' commands are for bash")


@cache
def documented() -> list[Documented]:
    """Return every command of every document."""
    return [each for name in documents() for each in commands(name)]


def test_every_command_is_run_or_listed_with_a_reason() -> None:
    """A command that a document gets later is run, or somebody says why not."""
    here = {each for scene in SCENES for each in scene.commands}
    # What shows no transcript need not be run for each document that names it.
    anywhere = {each.text for each in here} | NOT_RUN.keys()
    left = [each for each in documented() if each not in here and (each.text not in anywhere or each.transcript)]
    left = [each for each in left if not each.is_form]
    assert [] == [str(each) for each in left]


def test_the_tables_name_what_is_there() -> None:
    """An entry for a command or a section that has left the documents leaves the tables too."""
    assert [] == sorted(NOT_RUN.keys() - {each.text for each in documented() if not each.is_form})
    for scene in SCENES:
        assert [] == sorted(scene.acts.keys() - {each.text for each in scene.commands}), scene.name
        assert [] == [name for name in scene.sections if name not in {each.section for each in scene.commands}]


@pytest.mark.parametrize("form", sorted({each.text for each in documented() if each.is_form}))
def test_a_form_names_what_there_is(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A command that is quoted with words for the reader to replace has a subcommand and options that exist."""
    program, *words = form.split()
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", form))
    if program == "sosoapi-conformance":
        assert words[0] in COMMANDS
        with pytest.raises(SystemExit):
            main([words[0], "--help"])
        known = capsys.readouterr().out
        assert [] == [each for each in options if each not in known]
    elif program == "pytest":
        assert set() == options - {*OPTIONS, "--pyargs"}
    elif program == "gate.sh":
        script = (CHECKOUT / "fixtures" / "gate" / "gate.sh").read_text(encoding="utf-8")
        assert [] == [each for each in options if f"{each})" not in script]


SHORT = [pytest.param(scene, id=scene.name) for scene in SCENES if scene.is_in_ordinary_ci]
WHOLE = [pytest.param(scene, id=scene.name) for scene in SCENES if scene.is_longer_as_it_stands]


@pytest.mark.parametrize("scene", SHORT)
def test_the_commands_do_what_is_shown(scene: Scene, tmp_path: Path) -> None:
    """With few cases: each ends with the status that the text tells, and prints what is shown."""
    act_out(scene, tmp_path, whole=False)


@pytest.mark.thorough
@pytest.mark.parametrize("scene", WHOLE)
def test_the_commands_do_what_is_shown_as_they_stand(scene: Scene, tmp_path: Path) -> None:
    """With all their cases, which takes from one minute to some."""
    act_out(scene, tmp_path, whole=True)


def act_out(scene: Scene, folder: Path, *, whole: bool) -> None:
    """Run the commands of a scene in their order in a folder."""
    if scene.node and (reason := lacking()):
        pytest.skip(reason)
    with Stage(folder, copied_checkout(folder) if scene.checkout else {}) as stage:
        if scene.setup is not None:
            scene.setup(stage)
        section = ""
        for command in scene.commands:
            act = scene.act(command)
            if command.section != section and command.section in scene.entering:
                scene.entering[command.section](stage)
            section = command.section
            if act.thorough and not whole:
                continue
            if act.before is not None:
                act.before(stage)
            output = result(stage, command, act, whole=whole)
            transcript = scene.said_here(command.transcript)
            if difference := first_difference(transcript, output, part_of_run=bool(act.narrowed) and not whole):
                pytest.fail(f"{command}\nshows what is not printed there:\n{difference}\nbut:\n{output[-6000:]}")


def result(stage: Stage, command: Documented, act: Act, *, whole: bool) -> str:
    """Run one command or start one server, and return what it has printed."""
    text = act.instead or command.text
    if is_server(text):
        return stage.start(text).output
    ended = stage.run(text if whole else f"{text} {act.narrowed}")
    status = act.status if whole or act.narrowed_status is None else act.narrowed_status
    assert status == ended.status, f"{command}\n{ended.last_words}"
    return ended.output
