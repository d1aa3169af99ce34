"""JUnit XML: a ``testsuite`` per batch, a ``testcase`` per trial, for CI systems that show such reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from sphynx.cli.render.style import words
from sphynx.cli.render.summary import reasons, trial_name
from sphynx.schema.records import BatchRecord, TrialRecord

# Characters XML 1.0 has no way to write.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(batches: Sequence[tuple[BatchRecord, Sequence[TrialRecord]]]) -> bytes:
    """The report as UTF-8 XML. Failed is ``failure``; void, timed out and cancelled ``error``.

    No trial is ``skipped``: a reader would take a run that was cut off for one that went well.
    """
    root = ElementTree.Element("testsuites", name="sphynx")
    for batch, records in batches:
        root.append(_suite(batch, records))
    _count(root, [record for _, records in batches for record in records])
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _suite(batch: BatchRecord, records: Sequence[TrialRecord]) -> ElementTree.Element:
    element = ElementTree.Element("testsuite", name=_text(batch.suite_id), file=_text(batch.file))
    element.set("timestamp", _text(batch.started_at))
    _count(element, records)
    properties = ElementTree.SubElement(element, "properties")
    facts = {"batch": batch.id, "sphynx": batch.sphynx_version, "isolation": batch.isolation}
    for name, value in facts.items():
        ElementTree.SubElement(properties, "property", name=name, value=_text(value))
    several = {run.case_id + "\0" + run.variant for run in batch.runs if run.trials > 1}
    for record in records:
        element.append(_trial(batch, record, numbered=record.case_id + "\0" + record.variant in several))
    return element


def _trial(batch: BatchRecord, record: TrialRecord, *, numbered: bool) -> ElementTree.Element:
    element = ElementTree.Element(
        "testcase",
        classname=_text(f"{batch.suite_id}.{record.case_id}"),
        name=_text(trial_name(record, numbered=numbered)),
        time=f"{record.duration_ms / 1000:.3f}",
        file=_text(batch.file),
    )
    if record.status == "passed":
        return element
    tag = "failure" if record.status == "failed" else "error"
    said = reasons(record)
    child = ElementTree.SubElement(element, tag, message=_text(said[0] if said else words(record.status)))
    child.set("type", _text(record.cause or record.status))
    child.text = _text("\n".join(said or [words(record.status)]))
    return element


def _count(element: ElementTree.Element, records: Sequence[TrialRecord]) -> None:
    statuses = [record.status for record in records]
    element.set("tests", str(len(records)))
    element.set("failures", str(statuses.count("failed")))
    element.set("errors", str(sum(status not in ("passed", "failed") for status in statuses)))
    element.set("skipped", "0")
    element.set("time", f"{sum(record.duration_ms for record in records) / 1000:.3f}")


def _text(value: str) -> str:
    return _FORBIDDEN.sub("\ufffd", value)
