import { wrapped } from "./python.ts";
import type { Call, EventModel, Field, Model, Sdk, Type, Value } from "./read-document.ts";
import { pascal } from "./read-document.ts";

/** Words that Go writes in capitals. */
const initialisms = new Set(["id", "url", "uri", "dns", "tls", "http", "api"]);

/** Returns the file with the types and calls of the client for Go. */
export function goFile({ models, names, calls, events }: Sdk): string {
  const nameSet = new Set(names.map(({ name }) => name));
  const parts = [
    header,
    ...names.map(
      ({ name, doc, values }) =>
        `${comment(sentence(name, doc))}type ${name} string\n\n${comment(`Values of ${name}.`)}const (\n${aligned(values.map((value) => [`${name}${exported(value)}`, `${name} = ${JSON.stringify(value)}`]))})\n`,
    ),
    ...models.map((model) => struct(model, nameSet)),
    eventTypes(events),
    ...calls.map((call) => callOf(call, nameSet)),
  ];
  return `${parts.join("\n")}`;
}

const header = `// Code generated from the OpenAPI document by scripts/api-types.ts. DO NOT EDIT.

package onair

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)
`;

/** \`webhook_url\` as an exported name: \`WebhookURL\`. */
function exported(name: string): string {
  const words = name.split(/[._-]/).flatMap((word) => word.split(/(?<=[a-z0-9])(?=[A-Z])/));
  return words
    .map((word) => {
      const lower = word.toLowerCase();
      if (initialisms.has(lower)) return lower.toUpperCase();
      if (lower.endsWith("s") && initialisms.has(lower.slice(0, -1)))
        return `${lower.slice(0, -1).toUpperCase()}s`;
      return pascal(word);
    })
    .join("");
}

function struct({ name, doc, fields, isInput }: Model, names: ReadonlySet<string>): string {
  // A comment ends the lines that gofmt aligns with each other.
  const groups: { readonly doc: string; readonly rows: [string, string, string][] }[] = [];
  for (const field of fields) {
    const type = isInput ? inputType(field, names) : outputType(field, names);
    const omitted = field.optional ? (isInput ? ",omitzero" : ",omitempty") : "";
    const row: [string, string, string] = [exported(field.name), type, `\`json:"${field.name}${omitted}"\``];
    const last = groups.at(-1);
    if (last === undefined || field.doc !== "") groups.push({ doc: field.doc, rows: [row] });
    else last.rows.push(row);
  }
  const lines = groups.map(({ doc, rows }) => comment(doc, "\t") + aligned(rows));
  return `${comment(sentence(name, doc || "An object of the API."))}type ${name} struct {\n${lines.join("")}}\n`;
}

/** A comment as Go has them: it begins with the name. */
function sentence(name: string, doc: string): string {
  const rest = doc.charAt(0).toLowerCase() + doc.slice(1);
  if (/^An? /.test(doc)) return `${name} is ${rest}`;
  return /^[A-Z][a-z]+s /.test(doc) ? `${name} ${rest}` : `${name}: ${rest}`;
}

function outputType(field: Field, names: ReadonlySet<string>): string {
  const type = typeName(field.type, names);
  return (field.nullable || field.optional) && !isNilable(field.type) ? `*${type}` : type;
}

function inputType(field: Field, names: ReadonlySet<string>): string {
  const type = typeName(field.type, names);
  if (field.optional && field.nullable) return field.zeroIsAbsent ? type : `Nullable[${type}]`;
  if (!field.optional) return field.nullable && !isNilable(field.type) ? `*${type}` : type;
  const isStruct = field.type.kind === "named" && !names.has(field.type.name);
  if (isNilable(field.type) || (field.zeroIsAbsent && !isStruct && !type.endsWith("Time"))) return type;
  return `*${type}`;
}

const isNilable = ({ kind }: Type) => kind === "list" || kind === "map" || kind === "any";

function valueName({ type, nullable }: Value, names: ReadonlySet<string>): string {
  const text = typeName(type, names);
  return nullable && !isNilable(type) ? `*${text}` : text;
}

function typeName(type: Type, names: ReadonlySet<string>): string {
  switch (type.kind) {
    case "string":
      return "string";
    case "time":
      return "time.Time";
    case "lenient time":
      return "Time";
    case "integer":
      return "int64";
    case "number":
      return "float64";
    case "boolean":
      return "bool";
    case "any":
      return "any";
    case "list":
      return `[]${valueName(type.of, names)}`;
    case "map":
      return `map[string]${valueName(type.of, names)}`;
    case "named":
      return type.name;
  }
}

/** The constants of the event types, and the function that makes the value for the payload of a type. */
function eventTypes(events: readonly EventModel[]): string {
  const constants = events.map(({ type }) => [`Type${exported(type)}`, `= ${JSON.stringify(type)}`] as const);
  const cases = events.map(({ type, data }) => `\tcase Type${exported(type)}:\n\t\treturn new(${data})\n`);
  return `// The types of events, and of the notices of the event stream.
const (
${aligned(constants)})

// payloadOf returns a value for the payload of an event type; nil for a type that the platform registered.
func payloadOf(eventType string) any {
	switch eventType {
${cases.join("")}	}
	return nil
}
`;
}

/** Lines with columns, as gofmt aligns them. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
  const padded = (row: readonly string[]) =>
    row.map((cell, i) => (i < row.length - 1 ? cell.padEnd(widths[i] ?? 0) : cell)).join(" ");
  return rows.map((row) => `\t${padded(row)}\n`).join("");
}

function callOf(call: Call, names: ReadonlySet<string>): string {
  const { id, doc, method, path, pathParameters, query, body, answer, pages } = call;
  const name = exported(id);
  const params = `${name}Params`;
  const given = [
    "ctx context.Context",
    ...pathParameters.map((field) => `${lowered(field.name)} ${typeName(field.type, names)}`),
    ...(body ? [`body ${body.model}`] : []),
    ...(query.length > 0 ? [`params ${params}`] : []),
  ].join(", ");
  const url = path
    .split(/\{(\w+)\}/)
    .map((part, i) => (i % 2 === 0 ? JSON.stringify(part) : escaped(pathParameters, part)))
    .filter((part) => part !== '""')
    .join("+");
  const values = query.length > 0 ? "params.values()" : "nil";
  const asked = `c, http.Method${pascal(method.toLowerCase())}, ${url}, ${values}, ${body ? "body" : "nil"})`;
  const lines = [
    query.length > 0 ? paramsOf(params, name, query, names) : "",
    comment(sentence(name, doc)),
    answer === null
      ? `func (c *Client) ${name}(${given}) error {\n\treturn send(ctx, ${asked}\n}\n`
      : `func (c *Client) ${name}(${given}) (*${answer}, error) {\n\treturn call[${answer}](ctx, ${asked}\n}\n`,
  ];
  if (pages) {
    const args = [...pathParameters.map((field) => lowered(field.name)), "params"].join(", ");
    lines.push(
      "\n",
      comment(
        `All${pages.name} returns the items of all pages of ${name}. Limit is that of a page. An error is the last value.`,
      ),
      `func (c *Client) All${pages.name}(${given}) iter.Seq2[${pages.item}, error] {
	return allPages(params.Cursor, func(cursor string) ([]${pages.item}, Pagination, error) {
		params.Cursor = cursor
		page, err := c.${name}(ctx, ${args})
		if err != nil {
			return nil, Pagination{}, err
		}
		return page.${exported(pages.field)}, page.Pagination, nil
	})
}
`,
    );
  }
  return lines.join("");
}

const lowered = (name: string) => {
  const all = exported(name);
  return all === all.toUpperCase() ? all.toLowerCase() : all.charAt(0).toLowerCase() + all.slice(1);
};

function escaped(parameters: readonly Field[], name: string): string {
  const field = parameters.find((one) => one.name === name);
  return field?.type.kind === "integer" ? `formatInt(${lowered(name)})` : `url.PathEscape(${lowered(name)})`;
}

/** The struct with the query parameters of a call. */
function paramsOf(params: string, call: string, query: readonly Field[], names: ReadonlySet<string>): string {
  const isTime = ({ name }: Field) => name === "after" || name === "before";
  const type = (field: Field) => (isTime(field) ? "time.Time" : typeName(field.type, names));
  const fields = query.map(
    (field) => `${comment(field.doc, "\t")}\t${exported(field.name)} ${type(field)}\n`,
  );
  const setters = query.map((field) => {
    const { name } = field;
    const value = `p.${exported(name)}`;
    if (isTime(field)) return `\tsetTime(query, "${name}", ${value})\n`;
    switch (field.type.kind) {
      case "list":
        return field.type.of.type.kind === "integer"
          ? `\tfor _, one := range ${value} {\n\t\tquery.Add("${name}", formatInt(one))\n\t}\n`
          : `\tfor _, one := range ${value} {\n\t\tquery.Add("${name}", one)\n\t}\n`;
      case "integer":
        return `\tif ${value} != 0 {\n\t\tquery.Set("${name}", formatInt(${value}))\n\t}\n`;
      case "boolean":
        return `\tif ${value} {\n\t\tquery.Set("${name}", "true")\n\t}\n`;
      default:
        return `\tif ${value} != "" {\n\t\tquery.Set("${name}", string(${value}))\n\t}\n`;
    }
  });
  return `// ${params} are the parameters of ${call}. A zero value is not sent.
type ${params} struct {
${fields.join("")}}

func (p ${params}) values() url.Values {
	query := url.Values{}
${setters.join("")}	return query
}

`;
}

function comment(doc: string, indent = ""): string {
  return doc
    .split(/\n\n+/)
    .map((paragraph) => wrapped(paragraph, 96).map((line) => `${indent}// ${line}\n`))
    .map((lines) => lines.join(""))
    .filter((lines) => lines !== "")
    .join(`${indent}//\n`);
}
