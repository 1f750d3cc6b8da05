import type { Call, Field, Model, Sdk, Type, Value } from "./read-document.ts";
import { pascal } from "./read-document.ts";

/** The longest line. */
const width = 100;

const keywords = new Set(["from", "in", "is", "class", "global", "import", "lambda", "not", "or", "and"]);

/** Returns the module with the types and calls of the client for Python. */
export function pythonModule({ models, names, calls, events }: Sdk): string {
  const parts = [
    header,
    ...names.map(({ name, doc, values }) => `${comment(doc)}${name} = ${literal(values)}\n`),
    ...models.map(modelOf),
    "# The events, and the notices of the event stream.\n",
    ...events.map(({ type, data, doc, isNotice }) => {
      const fields = [
        `type: Literal[${JSON.stringify(type)}]`,
        "version: int",
        "# The time of publication, ISO 8601 in UTC.",
        "timestamp: str",
        `data: ${data}`,
        `delivery: ${isNotice ? "NoticeDelivery" : "DeliveryInfo"}`,
        '# The position in the event stream; "" for a webhook.',
        "position: str",
      ];
      return `class ${pascal(type)}Event(TypedDict):\n${docstring(doc)}${indented(fields)}`;
    }),
    `# An event, discriminated by \`type\`.\nEvent = Union[\n${members(events.filter(({ isNotice }) => !isNotice))}]\n`,
    `# An event or a notice of the event stream, discriminated by \`type\`.\nStreamEvent = Union[\n    Event,\n${members(events.filter(({ isNotice }) => isNotice))}    Gap,\n]\n`,
    `class Api:\n    """The calls of the API. Each raises \`OnairError\` for an error answer."""\n\n${request}${calls.map(callOf).join("")}`,
  ];
  return `${parts.join("\n\n").trimEnd()}\n`;
}

const members = (events: Sdk["events"]) => events.map(({ type }) => `    ${pascal(type)}Event,\n`).join("");

const header = `# Generated from the OpenAPI document by scripts/api-types.ts. Do not edit.
from __future__ import annotations

from datetime import datetime
from typing import Any, Dict, Iterator, List, Literal, Mapping, Optional, TypedDict, Union
from urllib.parse import quote

# A time: a \`datetime\` with a time zone, or ISO 8601.
Time = Union[datetime, str]


class DeliveryInfo(TypedDict):
    """The delivery by which an event was received."""

    # The id of the delivery, by webhook and by stream. Remember ids to handle each delivery once.
    id: str
    event_id: str
    subscription_id: str
    # The number of the delivery within its subscription; a gap shows a missing delivery.
    sequence: int
    # The number of the attempt, from 1.
    attempt: int
    # Whether the event is a sample, of \`POST /public/v1/events/test\` or \`onair trigger\`.
    is_test: bool


class NoticeDelivery(TypedDict):
    """The delivery of a notice, which belongs to no subscription."""

    id: str


GapData = TypedDict("GapData", {"from": str, "to": str})


class Gap(TypedDict):
    """A range of time whose events are no longer kept."""

    type: Literal["gap"]
    data: GapData
    position: str
`;

const request = `    def request(
        self,
        method: str,
        path: str,
        *,
        params: Optional[Mapping[str, Any]] = None,
        body: Any = None,
    ) -> Any:
        """Sends a request and returns the JSON of the answer; None for an answer without a body."""
        raise NotImplementedError

    def _pages(self, path: str, params: Dict[str, Any], field: str) -> Iterator[Any]:
        raise NotImplementedError
`;

function modelOf({ name, doc, fields }: Model): string {
  const required = fields.filter(({ optional }) => !optional);
  const optional = fields.filter(({ optional }) => optional);
  const isMixed = required.length > 0 && optional.length > 0;
  const bases = isMixed ? [dictionary(`_${name}`, "", required, true)] : [];
  if (!isMixed) return dictionary(name, doc, fields, optional.length === 0);
  if (!optional.some(isKeyword))
    return `${bases.join("")}\n\nclass ${name}(_${name}, total=False):\n${docstring(doc)}${body(optional)}`;
  bases.push(dictionary(`_${name}Optional`, "", optional, false));
  return `${bases.join("\n\n")}\n\nclass ${name}(_${name}, _${name}Optional):\n${docstring(doc) || "    pass\n"}`;
}

const isKeyword = ({ name }: Field) => keywords.has(name);

/** A dictionary with these fields. One with a keyword among its fields cannot be written as a class. */
function dictionary(name: string, doc: string, fields: readonly Field[], isTotal: boolean): string {
  if (!fields.some(isKeyword)) {
    const arguments_ = isTotal ? "TypedDict" : "TypedDict, total=False";
    return `class ${name}(${arguments_}):\n${docstring(doc)}${body(fields) || "    pass\n"}`;
  }
  const lines = fields.map(
    (field) => `${comment(field.doc, 8)}        "${field.name}": "${hint(field).replaceAll('"', "'")}",\n`,
  );
  return `${comment(doc)}${name} = TypedDict(\n    "${name}",\n    {\n${lines.join("")}    },\n${isTotal ? "" : "    total=False,\n"})\n`;
}

const body = (fields: readonly Field[]) =>
  fields.map((field) => `${comment(field.doc, 4)}    ${field.name}: ${hint(field)}\n`).join("");

function hint({ type, nullable }: Value): string {
  const text = typeHint(type);
  return nullable && text !== "Any" ? `Optional[${text}]` : text;
}

function typeHint(type: Type): string {
  switch (type.kind) {
    case "string":
      return type.values.length > 0 ? literal(type.values) : "str";
    case "time":
    case "lenient time":
      return "str";
    case "integer":
      return "int";
    case "number":
      return "float";
    case "boolean":
      return "bool";
    case "any":
      return "Any";
    case "list":
      return `List[${hint(type.of)}]`;
    case "map":
      return `Dict[str, ${hint(type.of)}]`;
    case "named":
      return type.name;
  }
}

const literal = (values: readonly string[]) =>
  `Literal[${values.map((value) => JSON.stringify(value)).join(", ")}]`;

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const argument = (name: string) => (keywords.has(name) ? `${name}_` : name);

function callOf(call: Call): string {
  const { id, doc, method, path, pathParameters, query, body, answer, pages } = call;
  const url = path.includes("{")
    ? `f"${path.replace(/\{(\w+)\}/g, (_, name) => `{quote(str(${argument(name)}), safe='')}`)}"`
    : `"${path}"`;
  const given = pathParameters.map((field) => `${argument(field.name)}: ${hint(field)}`);
  if (body) given.push(`body: ${body.optional ? `Optional[${body.model}] = None` : body.model}`);
  const required = query.filter(({ optional }) => !optional);
  const options = [...required, ...query.filter(({ optional }) => optional)].map(
    (field) => `${argument(field.name)}: ${queryHint(field)}`,
  );
  const pagedOptions = options.filter((option) => !option.startsWith("cursor:"));
  const signature = (name: string, options: readonly string[], result: string) => {
    const all = ["self", ...given, ...(options.length > 0 ? ["*", ...options] : [])];
    const line = `    def ${name}(${all.join(", ")}) -> ${result}:\n`;
    return line.length <= width
      ? line
      : `    def ${name}(\n${all.map((one) => `        ${one},\n`).join("")}    ) -> ${result}:\n`;
  };
  const params = (fields: readonly Field[]) =>
    `{${fields.map(({ name }) => `"${name}": ${argument(name)}`).join(", ")}}`;
  const passed = [
    ...(query.length > 0 ? ["params=params"] : []),
    ...(body ? [`body=${body.optional ? "{} if body is None else body" : "body"}`] : []),
  ];
  const asked = `self.request("${method}", ${[url, ...passed].join(", ")})`;
  const lines = [
    `\n${signature(snake(id), options, answer ?? "None")}${docstring(doc, 8)}`,
    query.length > 0 ? `        params = ${params(query)}\n` : "",
    answer === null ? `        ${asked}\n` : `        answer: ${answer} = ${asked}\n        return answer\n`,
  ];
  if (pages) {
    lines.push(
      `\n${signature(`all${snake(pages.name)}`, pagedOptions, `Iterator[${pages.item}]`)}`,
      docstring(`The items of all pages of \`${snake(id)}\`. \`limit\` is that of a page.`, 8),
      `        params = ${params(query.filter(({ name }) => name !== "cursor"))}\n`,
      `        return self._pages(${url}, params, "${pages.field}")\n`,
    );
  }
  return lines.join("");
}

function queryHint({ name, type, optional }: Field): string {
  const text = name === "after" || name === "before" ? "Time" : typeHint(type);
  return optional ? `Optional[${text}] = None` : text;
}

function indented(lines: readonly string[]): string {
  return lines.map((line) => `    ${line}\n`).join("");
}

function docstring(doc: string, indent = 4): string {
  if (doc === "") return "";
  const space = " ".repeat(indent);
  const text = doc.replaceAll("\\", "\\\\").replaceAll('"""', "'''");
  const ending = text.endsWith('"') ? " " : "";
  const paragraphs = text.split(/\n\n+/).map((paragraph) => wrapped(paragraph, width - indent - 6));
  const all = paragraphs.flatMap((lines, i) => (i === 0 ? lines : ["", ...lines]));
  const isLong = all.length > 1;
  const joined = all.map((line, i) => (i === 0 || line === "" ? line : `${space}${line}`)).join("\n");
  const after = indent === 4 ? "\n" : "";
  return `${space}"""${joined}${ending}${isLong ? `\n${space}` : ""}"""\n${after}`;
}

function comment(doc: string, indent = 0): string {
  const space = " ".repeat(indent);
  return wrapped(doc, width - indent - 2)
    .map((line) => `${space}# ${line}\n`)
    .join("");
}

/** The words of a text in lines of at most this length, if its words are shorter. */
export function wrapped(text: string, length: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/).filter((one) => one !== "")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= length)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
