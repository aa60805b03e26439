"""How the commands of the documents are run, and which are not, with the reason.

A command that has no entry in here is run as it stands when the scene of its section comes to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import document_steps as steps
from acting import Step
from document_steps import TYPESCRIPT, VENDORS
from documented import Documented, commands

NOT_RUN: Final[Mapping[str, str]] = {
    "python3.11 -m venv .venv && . .venv/bin/activate": "makes the environment in which this very test runs",
    "python3.11 -m venv venv": "makes the environment in which this very test runs",
    ". venv/bin/activate": "enters the environment in which this very test runs",
    "pip install -e '.[dev]'": "needs a package index; .ci/run does it in a fresh environment",
    "pip install -e '.[dev]' && pytest": "needs a package index; .ci/run does both, one after the other",
    "pip install sosoapi-conformance": "needs a package index that has a release",
    "pip install check-jsonschema": "needs a package index",
    "check-jsonschema --schemafile reports/report.schema.json DIR/report.json": (
        "of another project, not among the dependencies; tests/unit/report validates reports against the schema"
    ),
    "pytest tests": "is what runs this very test",
    "pytest tests -n 2 --dist worksteal": "is what runs this very test",
    "ruff check && ruff format --check && mypy": "a step of .ci/run each",
    ".ci/run": "is what runs this very test",
    "tox -e interop": "makes an environment, and needs npm's registry",
    "tox -e bench": "makes an environment, and measures a machine that has nothing else to do",
    "tox -e bench -- --report-only": "the same",
    "python tests/bench/bench.py --report-only --output tests/bench/RESULTS.md": "the same",
    "tox -e compare": "makes an environment, and takes 25 minutes on 2 cores",
    "tox -e mutation": "makes an environment, and takes half an hour on 2 cores",
    "tox -e faults": "makes an environment, and takes half an hour or more on 2 cores",
    "tox -e replay": "makes an environment, and takes about an hour on 2 cores",
    "sosoapi-conformance faults --profile quick --profile standard --seeds 5 --natural --in-turn": (
        "takes more than an hour; tests/faults runs a selection"
    ),
    "sosoapi-conformance faults --only fault --transport rest --profile quick --natural": (
        "measures a machine that has nothing else to do, for 10 minutes; tests/faults runs a selection"
    ),
    "python -m conformance.requirement_pages": "takes minutes; tests/faults/test_pages_regenerated.py does it",
    "pytest --pyargs conformance": "quoted as the beginning of the commands in the guides, which are run",
}
"""Commands of the documents that no test runs as they stand, each with the reason."""


@dataclass(frozen=True)
class Act:
    """How a command is run that is not run as it stands, and with what it ends."""

    status: int = 0
    before: Step | None = None
    """What the text has the reader do before."""
    instead: str = ""
    """The command with values in the place of its dots."""
    narrowed: str = ""
    """What is added to it in ordinary CI, to run few cases."""
    narrowed_status: int | None = None
    """With what it ends then, if not with ``status``."""
    thorough: bool = False
    """Whether it is left to ``--thorough``."""


@dataclass(frozen=True)
class Scene:
    """Sections of a document whose commands are run in their order, in one folder, with the servers that they start."""

    name: str
    document: str
    sections: tuple[str, ...]
    setup: Step | None = None
    entering: Mapping[str, Step] = field(default_factory=dict)
    """What the text of a section has the reader do before the first command in it."""
    acts: Mapping[str, Act] = field(default_factory=dict)
    checkout: bool = False
    """Whether the reader sits in a checkout of the project, as for README.md, or in an empty folder."""
    node: bool = False
    """Whether Node is needed, which makes the scene one for ``--thorough``."""
    reworded: tuple[tuple[str, str], ...] = ()
    """What a transcript says otherwise here, since what is before the scene is another thing than in the document."""

    @property
    def commands(self) -> list[Documented]:
        """What it runs, in the order of the document."""
        found = [each for each in commands(self.document) if each.section in self.sections]
        return [each for each in found if not each.is_form and each.text not in NOT_RUN]

    @property
    def is_in_ordinary_ci(self) -> bool:
        """Whether ordinary CI runs any of it."""
        return not self.node and any(not self.act(each).thorough for each in self.commands)

    @property
    def is_longer_as_it_stands(self) -> bool:
        """Whether ordinary CI does not run all of it."""
        return self.node or any(act.narrowed or act.thorough for act in self.acts.values())

    def said_here(self, transcript: str) -> str:
        """Return a transcript as it is to be here."""
        for documented, here in self.reworded:
            transcript = transcript.replace(documented, here)
        return transcript

    def act(self, command: Documented) -> Act:
        """Return how a command of the scene is run."""
        return self.acts.get(command.text, Act())


_FEW: Final = "--profile quick -k INPUT-TYPE"
_TYPESCRIPT_RUN: Final = "pytest --pyargs conformance --target-config target.toml"

SCENES: Final = (
    Scene(
        "first screen", "README.md", ("sosoapi-conformance",), steps.start_broken, checkout=True,
        acts={
            "pytest --target-url http://127.0.0.1:8000 --control-url http://127.0.0.1:8001 --seed 7":
                Act(1, narrowed="-k 'INPUT-TYPE or test_random_invalid_input'"),
        },
    ),
    Scene(
        "certify", "README.md", ("Certify a server",), steps.start_broken, checkout=True,
        acts={
            "pytest --target-config acme.toml --profile certify --report-dir reports/acme":
                Act(1, before=steps.name_the_implementation, narrowed=_FEW),
            "sosoapi-conformance replay reports/acme --finding 1": Act(1),
        },
    ),
    Scene(
        "MCP", "README.md", ("Over MCP",), checkout=True,
        acts={
            "pytest --target-url http://127.0.0.1:8000/mcp --control-url http://127.0.0.1:8001 --seed 7":
                Act(1, narrowed="-k DISCOVERY-INPUT"),
            "pytest --target-command 'sosoapi-conformance serve --stdio --database state.db --fault "
            "mcp-prints-refusals' --control-url http://127.0.0.1:8001 --seed 7 --profile quick":
                Act(1, narrowed="-k PROTOCOL-STDOUT-CLEAN"),
            # In ordinary CI they are run by test_mcp.py.
            "pytest --transport mcp-http": Act(thorough=True),
            "pytest --transport mcp-stdio": Act(thorough=True),
        },
    ),
    Scene(
        "gate", "README.md", ("Gate a pipeline",), steps.start_with_target_file, checkout=True,
        acts={
            "pytest --target-config acme.toml --seed 7 --shard 1/2 --report-dir a": Act(narrowed=_FEW),
            "pytest --target-config acme.toml --seed 7 --shard 2/2 --report-dir b": Act(narrowed=_FEW),
            # Of few cases the verdict claims less.
            "sosoapi-conformance merge a b --out whole --require behaviour": Act(narrowed_status=7),
            "sosoapi-conformance compare last-week whole": Act(before=steps.keep_last_week),
            "sosoapi-conformance report whole": Act(narrowed_status=7),
            # In ordinary CI tests/plugin does it.
            "pytest -n 2": Act(thorough=True),
        },
    ),
    Scene(
        "develop", "README.md", ("Develop a server",), steps.start_broken, checkout=True,
        acts={
            "pytest --target-url http://127.0.0.1:8000 --control-url http://127.0.0.1:8001 -x":
                Act(1, narrowed=_FEW),
            "pytest --lf --target-url ...":
                Act(1, instead="pytest --lf --target-url http://127.0.0.1:8000 --control-url http://127.0.0.1:8001"),
        },
    ),
    Scene("set-up", "CONTRIBUTING.md", ("Set-up",), checkout=True,
          # In ordinary CI the first is run by test_main_job.py.
          acts={"pytest": Act(thorough=True), "python tests/packaging/golden_report.py": Act(thorough=True)}),
    Scene("vendors", f"{VENDORS}/README.md", ("Guides for vendors",), steps.start_for_vendors),
    Scene(
        "black box", f"{VENDORS}/black-box.md", ("The target file", "Before the run", "The run"),
        steps.start_for_vendors,
        acts={
            "sosoapi-conformance doctor --target-config acme.toml": Act(before=steps.prepare_conversations),
            "pytest --pyargs conformance --target-config acme.toml --seed 7 --profile quick -q --report-dir report":
                Act(narrowed="-k INPUT-TYPE"),
        },
    ),
    Scene(
        "in process", f"{VENDORS}/python-in-process.md", ("The run",), steps.write_modules,
        acts={
            # In ordinary CI tests/plugin/test_target_app.py does both.
            "pytest --pyargs conformance --target-app acme_app:app --profile quick --seed 7": Act(thorough=True),
            "pytest -n 2": Act(
                instead="pytest -n 2 --pyargs conformance --target-app acme_app:app --profile quick", thorough=True
            ),
        },
    ),
    Scene(
        "TypeScript", f"{TYPESCRIPT}/README.md",
        ("2. Build and start the server", "3. See that both are there", "4. Run the suite", "5. Read the result",
         "6. Common failures", "A claim that others can check"),
        steps.copy_server, node=True, entering={"5. Read the result": steps.put_fault_in},
        acts={
            f"{_TYPESCRIPT_RUN} --seed 7 -x": Act(1),
            f"{_TYPESCRIPT_RUN} --seed 7 -k LATE-AFTER-EXPIRY-at-the-deadline": Act(before=steps.mend),
            f"{_TYPESCRIPT_RUN} --profile quick": Act(6, before=steps.stop_servers),
            "sosoapi-conformance verify changed/claim.json changed --key vendor.pem.pub":
                Act(1, before=steps.change_one_digit),
        },
    ),
    Scene(
        "claim", f"{TYPESCRIPT}/README.md", ("A claim that others can check",), steps.run_few_cases,
        acts={
            "sosoapi-conformance verify changed/claim.json changed --key vendor.pem.pub":
                Act(1, before=steps.change_one_digit),
        },
        reworded=(
            ("conforms (level: behaviour)", "does not conform (level: none)"),
            ("conforms (behaviour)", "does not conform"),
            ("profile standard", "profile quick"),
            ("requirements: 39 not applicable, 147 pass", "requirements: ..."),
        ),
    ),
)  # fmt: skip
