"""What dialects share whose files are only read: they write nothing, and their linter tells what an import would."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..envelope.model import MessageEnvelope
from ..errors import DialectError, MalformedHistoryError
from .base import ExportOptions, Finding, ImportOptions, Target
from .report import Placed, Report


class ImportOnly:
    """The base of such a dialect.

    Attributes:
        name: The dialect's.
        unreadable: Rule that a file breaks which cannot be read.
    """

    name: str
    unreadable: str
    writes = False

    def target(self, options: ExportOptions) -> Target:
        """Import only; the table says so by accepting everything."""
        return Target(dialect=self.name)

    def render(self, conversation: Sequence[Placed], options: ExportOptions, report: Report) -> NoReturn:
        """Raise DialectError: these files are only read."""
        raise DialectError(f"{self.name} can only be imported")

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read a payload; see `base.Dialect`."""
        raise NotImplementedError

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Return what an import would refuse or report, as findings."""
        report = Report(target=self.name)
        try:
            self.parse(payload, ImportOptions(), report)
        except MalformedHistoryError as error:
            return [Finding(rule=self.unreadable, path="", message=problem) for problem in error.problems]
        return [Finding(rule=loss.rule, path=loss.path, message=f"{loss.action}: {loss.detail}") for loss in report]
