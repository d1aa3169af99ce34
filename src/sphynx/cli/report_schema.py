"""What ``--output`` and ``--junit`` write, described for other programs: a JSON Schema and an XSD."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import models_json_schema

from sphynx.schema.wire import EvalBatch

_SCHEMA = "https://json-schema.org/draft/2020-12/schema"


class ReportEntry(BaseModel):
    """One suite of a command."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")

    batch_id: str | None = Field(description="The batch; null while none was started")
    file: str = Field(description="The eval file; empty for a stored case")
    suite: str = Field(description="The suite's id; for a stored case the case's")
    batch: EvalBatch | None = Field(description="The batch once it stopped, as --json prints it")
    error: str | None = Field(description="Why there is no result")
    problems: list[str] = Field(description="What kept the gate from passing, a line each")


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the file ``--output`` writes."""
    places, described = models_json_schema([(ReportEntry, "serialization")])
    schema: dict[str, Any] = {
        "$schema": _SCHEMA,
        "title": "Report of sphynx eval --output",
        "description": "One entry per suite, in the order of the command. Rewritten after every step.",
        "type": "array",
        "items": places[ReportEntry, "serialization"],
        "$defs": described["$defs"],
    }
    return schema


_COUNTS = ("tests", "failures", "errors", "skipped")
_TEXTS = {
    "failure": "A check ran and said no",
    "error": "It could not be judged: void, timed out or cancelled; type is the cause",
}


_XSD = """<?xml version="1.0" encoding="utf-8"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified">
  <xs:attributeGroup name="counts">
COUNTS
    <xs:attribute name="time" type="xs:decimal" use="required"/>
  </xs:attributeGroup>
  <xs:element name="testsuites">
    <xs:complexType>
      <xs:sequence><xs:element ref="testsuite" minOccurs="0" maxOccurs="unbounded"/></xs:sequence>
      <xs:attribute name="name" type="xs:string" fixed="sphynx" use="required"/>
      <xs:attributeGroup ref="counts"/>
    </xs:complexType>
  </xs:element>
  <xs:element name="testsuite">
    <xs:annotation><xs:documentation>A batch</xs:documentation></xs:annotation>
    <xs:complexType>
      <xs:sequence>
        <xs:element name="properties">
          <xs:complexType>
            <xs:sequence><xs:element ref="property" maxOccurs="unbounded"/></xs:sequence>
          </xs:complexType>
        </xs:element>
        <xs:element ref="testcase" minOccurs="0" maxOccurs="unbounded"/>
      </xs:sequence>
      <xs:attribute name="name" type="xs:string" use="required"/>
      <xs:attribute name="file" type="xs:string" use="required"/>
      <xs:attribute name="timestamp" type="xs:dateTime" use="required"/>
      <xs:attributeGroup ref="counts"/>
    </xs:complexType>
  </xs:element>
  <xs:element name="property">
    <xs:complexType>
      <xs:attribute name="name" type="xs:string" use="required"/>
      <xs:attribute name="value" type="xs:string" use="required"/>
    </xs:complexType>
  </xs:element>
  <xs:element name="testcase">
    <xs:annotation><xs:documentation>A trial; one without a child passed</xs:documentation></xs:annotation>
    <xs:complexType>
      <xs:choice minOccurs="0">
OUTCOMES
      </xs:choice>
      <xs:attribute name="classname" type="xs:string" use="required"/>
      <xs:attribute name="name" type="xs:string" use="required"/>
      <xs:attribute name="time" type="xs:decimal" use="required"/>
      <xs:attribute name="file" type="xs:string" use="required"/>
    </xs:complexType>
  </xs:element>
</xs:schema>
"""


def junit_xsd() -> str:
    """The XML Schema of the file ``--junit`` writes."""
    counts = "\n".join(
        f'    <xs:attribute name="{n}" type="xs:nonNegativeInteger" use="required"/>' for n in _COUNTS
    )
    outcomes = "\n".join(
        f"""        <xs:element name="{name}">
          <xs:annotation><xs:documentation>{text}</xs:documentation></xs:annotation>
          <xs:complexType mixed="true">
            <xs:attribute name="message" type="xs:string" use="required"/>
            <xs:attribute name="type" type="xs:string" use="required"/>
          </xs:complexType>
        </xs:element>"""
        for name, text in _TEXTS.items()
    )
    return _XSD.replace("COUNTS", counts).replace("OUTCOMES", outcomes)
