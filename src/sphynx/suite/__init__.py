"""Writing suites: the builders, what they hold, and what is wrong with it."""

from __future__ import annotations

from sphynx.suite.cases import Case as Case
from sphynx.suite.cases import case as case
from sphynx.suite.checks import Check as Check
from sphynx.suite.checks import Command as Command
from sphynx.suite.checks import Named as Named
from sphynx.suite.checks import command as command
from sphynx.suite.checks import named as named
from sphynx.suite.context import Context as Context
from sphynx.suite.context import PlainContext as PlainContext
from sphynx.suite.context import Prepare as Prepare
from sphynx.suite.context import PrepareContext as PrepareContext
from sphynx.suite.context import Turn as Turn
from sphynx.suite.context import Validator as Validator
from sphynx.suite.context import Verdict as Verdict
from sphynx.suite.sources import Empty as Empty
from sphynx.suite.sources import Files as Files
from sphynx.suite.sources import Repo as Repo
from sphynx.suite.sources import Source as Source
from sphynx.suite.sources import empty as empty
from sphynx.suite.sources import files as files
from sphynx.suite.sources import repo as repo
from sphynx.suite.suites import Suite as Suite
from sphynx.suite.suites import suite as suite
from sphynx.suite.variants import Variant as Variant
from sphynx.suite.variants import variant as variant
