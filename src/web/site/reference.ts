import { rendered } from "./markdown.ts";
import type { OpenApiDocument, Operation, Parameter, Ref, Response, Schema } from "./openapi.ts";
import type { ReferenceParts } from "./pages.ts";
import { type Call, samplesOf } from "./samples.ts";

/*
 * The API reference, made from an OpenAPI document: readable and linked without scripts. The script of the pages adds
 * the search, and sends requests.
 */

/** An operation at its place in the document. */
interface Placed {
  readonly method: string;
  readonly path: string;
  readonly isWebhook: boolean;
  readonly operation: Operation;
}

const text = (plain: string) => Bun.escapeHTML(plain);

/** Returns the parts of the page. Throws when the document refers to a component that it does not have. */
export function referenceOf(document: OpenApiDocument): ReferenceParts {
  const operations = operationsOf(document);
  const { title, description, version } = document.info;
  const introduction = rendered(description, (path) => path);
  const groups = document.tags
    .map((tag) => ({ ...tag, all: operations.filter(({ operation }) => operation.tags?.[0] === tag.name) }))
    .filter(({ all }) => all.length > 0);
  const contents = groups.map(
    ({ name, all }) => `<h3><a href="#${tagAnchor(name)}">${text(name)}</a></h3>
<ul>${all.map((placed) => `<li><a href="#${anchorOf(placed)}">${callHtml(placed)}<span>${text(placed.operation.summary)}</span></a></li>`).join("")}</ul>`,
  );
  const sections = groups.map(
    ({
      name,
      description = "",
      all,
    }) => `<section><h2 id="${tagAnchor(name)}"><a href="#${tagAnchor(name)}">${text(name)}</a></h2>
${markdown(description)}
${all.map((placed) => operationHtml(document, placed)).join("\n")}</section>`,
  );
  const main = `<article class="prose reference">
<h1>${text(title)} API</h1>
<p class="muted">Version ${text(version)}, at <code>${text(document.servers[0]?.url ?? "")}</code></p>
${introduction.html}
<nav class="operations" aria-labelledby="operations"><h2 id="operations"><a href="#operations">Operations</a></h2>
${contents.join("\n")}</nav>
${sections.join("\n")}
${schemasHtml(document)}
</article>`;
  const onPage = introduction.sections.filter(({ anchor }) => anchor !== "");
  const links = onPage.map(({ heading, anchor }) => `<a href="#${anchor}">${text(heading)}</a>`);
  const aside = `<nav class="contents" aria-label="On this page"><strong>On this page</strong>${links.join("")}
<a href="#operations">Operations</a>
${groups.map(({ name, all }) => `<strong><a class="contents-group" href="#${tagAnchor(name)}">${text(name)}</a></strong>${all.map((placed) => `<a href="#${anchorOf(placed)}">${text(placed.operation.summary)}</a>`).join("")}`).join("")}
<strong><a class="contents-group" href="#objects">Objects</a></strong></nav>`;
  return { title: `${title} API`, main, aside };
}

function operationsOf({ paths, webhooks = {} }: OpenApiDocument): Placed[] {
  const placed = (all: OpenApiDocument["paths"], isWebhook: boolean) =>
    Object.entries(all).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        isWebhook,
        operation,
      })),
    );
  return [...placed(paths, false), ...placed(webhooks, true)];
}

const tagAnchor = (name: string) => `tag-${name.toLowerCase().replaceAll(" ", "-")}`;
/** The anchor of an operation is its id; an event has a name of its own. */
const anchorOf = ({ isWebhook, path, operation }: Placed) => (isWebhook ? path : operation.operationId);

/** Renders Markdown as block content. */
const markdown = (source: string) => rendered(source, (path) => path).html;

const callHtml = ({ method, path }: Placed) => `<code class="call"><b>${method}</b> ${text(path)}</code>`;

function operationHtml(document: OpenApiDocument, placed: Placed): string {
  const { operation, isWebhook, method, path } = placed;
  const anchor = anchorOf(placed);
  const parameters = (operation.parameters ?? []).map((parameter) =>
    resolved<Parameter>(document, parameter),
  );
  const data = isWebhook ? "" : ` data-method="${method}" data-path="${text(path)}"`;
  return `<section class="operation" id="${anchor}" aria-labelledby="${anchor}-name"${data}>
<h3 id="${anchor}-name"><a href="#${anchor}">${text(operation.summary)}</a></h3>
<p>${callHtml(placed)}</p>
${markdown(operation.description ?? "")}
${accessHtml(operation)}
${parametersHtml(document, parameters, isWebhook ? "Headers" : "Parameters")}
${bodyHtml(document, operation, isWebhook)}
${isWebhook ? "" : samplesHtml(document, placed, parameters)}
${responsesHtml(document, operation, isWebhook)}
</section>`;
}

/** Says what a request needs to be allowed. */
function accessHtml(operation: Operation): string {
  const access = accessOf(operation);
  const { security = [], "x-roles": roles = [] } = operation;
  const scopes = [...new Set(security.flatMap((way) => Object.values(way).flat()))];
  const codes = (words: readonly string[], last: string) =>
    words
      .map((word) => `<code>${text(word)}</code>`)
      .join(", ")
      .replace(/, (?=[^,]*$)/, ` ${last} `);
  const what = {
    client:
      "the <code>client_id</code> and <code>client_secret</code> of an application; a public client sends its <code>client_id</code> in the form",
    ONAIR_ADMIN_KEY: `an operator key with the role ${codes(roles, "or")}`,
    TOKEN: `an access token${scopes.length > 0 ? ` with the scope ${codes(scopes, "and")}` : ""}`,
  };
  return access === null ? "" : `<p class="access">Needs ${what[access]}.</p>`;
}

function parametersHtml(document: OpenApiDocument, parameters: readonly Parameter[], title: string): string {
  if (parameters.length === 0) return "";
  const items = parameters.map(
    ({ name, in: place, required, description = "", schema }) =>
      `<li>${fieldHtml(document.components.schemas ?? {}, {
        name,
        schema: { ...schema, description },
        isRequired: required === true,
        place: title === "Headers" ? "" : place,
      })}</li>`,
  );
  return `<h4>${title}</h4><ul class="fields">${items.join("")}</ul>`;
}

function bodyHtml(document: OpenApiDocument, { requestBody }: Operation, isWebhook: boolean): string {
  if (!requestBody) return "";
  const schemas = document.components.schemas ?? {};
  const forms = Object.entries(requestBody.content).map(
    ([
      type,
      { schema, example },
    ]) => `<p><code>${text(type)}</code>${requestBody.required ? "" : ", may be absent"}</p>
${schema ? allHtml(schemas, schema) : ""}${isWebhook ? exampleHtml(example) : ""}`,
  );
  return `<h4>Body</h4>${forms.join("")}`;
}

function responsesHtml(document: OpenApiDocument, { responses }: Operation, isWebhook: boolean): string {
  const schemas = document.components.schemas ?? {};
  const all = Object.entries(responses).map(([status, response]) => {
    return { status, response: resolved<Response>(document, response) };
  });
  if (isWebhook) {
    const rows = all.map(({ status, response }) =>
      errorRow(status === "default" ? "other" : status, "", response),
    );
    return `<h4>Your response</h4>${table(["Status", "", "Meaning"], rows)}`;
  }
  const isError = (status: string) => Number(status) >= 400;
  const successes = all.filter(({ status }) => !isError(status));
  const errors = all.filter(({ status }) => isError(status));
  const answers = successes.map(({ status, response }) => {
    const contents = Object.entries(response.content ?? {}).map(
      ([type, { schema, example }]) =>
        `<p><code>${text(type)}</code></p>${schema ? allHtml(schemas, schema) : ""}${exampleHtml(example)}`,
    );
    return `<h4>${status}</h4>${markdown(response.description)}${contents.join("")}`;
  });
  const rows = errors.map(({ status, response }) => {
    const codes = Object.values(response.content ?? {}).flatMap(({ examples = {} }) => Object.keys(examples));
    return errorRow(status, codes.map((code) => `<code>${text(code)}</code>`).join(", "), response);
  });
  const failures = rows.length === 0 ? "" : `<h4>Errors</h4>${table(["Status", "Code", "Meaning"], rows)}`;
  return answers.join("") + failures;
}

const errorRow = (status: string, codes: string, { description }: Response) => [
  text(status),
  codes,
  markdown(description).replace(/^<p>|<\/p>\s*$/g, ""),
];

function table(names: readonly string[], rows: readonly (readonly string[])[]): string {
  const columns = names.map((name, i) => ({ name, i })).filter(({ i }) => rows.some((row) => row[i] !== ""));
  const cells = (row: readonly string[]) =>
    columns.map(({ name, i }, at) => `<td${at > 0 ? ` data-name="${name}"` : ""}>${row[i]}</td>`).join("");
  return `<div class="scroll" role="group" tabindex="0" aria-label="Table"><table><thead><tr>${columns
    .map(({ name }) => `<th>${name}</th>`)
    .join(
      "",
    )}</tr></thead><tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join("")}</tbody></table></div>`;
}

/** An example as a block of code. */
function exampleHtml(example: unknown): string {
  if (example === undefined) return "";
  const text = typeof example === "string" ? example : JSON.stringify(example, null, 2);
  return codeHtml(text, "Example");
}

const codeHtml = (code: string, label: string) =>
  `<div class="code"><div role="group" tabindex="0" aria-label="${label}"><pre>${text(code)}</pre></div></div>`;

/** Code samples. The first one is open; opening another one closes it. */
function samplesHtml(
  document: OpenApiDocument,
  { method, path, operation }: Placed,
  parameters: readonly Parameter[],
): string {
  const [type = "", body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const isRequired = ({ required }: Parameter) => required === true;
  const call: Call = {
    method,
    url: (document.servers[0]?.url ?? "") + path,
    path: parameters
      .filter((parameter) => parameter.in === "path")
      .map(({ name, example }) => ({ name, value: example })),
    query: parameters
      .filter((parameter) => parameter.in === "query" && isRequired(parameter))
      .map(({ name, example, schema }) => ({ name, value: example ?? schema.example ?? "" })),
    body: body === undefined ? null : { type, example: body.example ?? {} },
    access: accessOf(operation),
  };
  const all = samplesOf(call).map(
    ({ language, code }, i) => `<details name="sample-${operation.operationId}"${i === 0 ? " open" : ""}>
<summary>${language}</summary>${codeHtml(code, `${language} sample`)}</details>`,
  );
  return `<h4>Sample</h4><div class="samples">${all.join("")}</div>`;
}

function accessOf({ security = [], "x-roles": roles }: Operation): Call["access"] {
  const schemes = security.flatMap((way) => Object.keys(way));
  if (schemes.length === 0) return null;
  if (schemes.includes("clientCredentials")) return "client";
  return roles ? "ONAIR_ADMIN_KEY" : "TOKEN";
}

/** The objects that more than one operation uses. */
function schemasHtml({ components }: OpenApiDocument): string {
  const schemas = components.schemas ?? {};
  const all = Object.entries(schemas).map(
    ([name, schema]) => `<section class="operation" id="${schemaAnchor(name)}">
<h3><a href="#${schemaAnchor(name)}">${text(name)}</a></h3>
${markdown(schema.description ?? "")}
${schema.properties ? "" : `<p>${typeHtml(schemas, schema)}</p>`}${allHtml(schemas, schema)}</section>`,
  );
  return `<section><h2 id="objects"><a href="#objects">Objects</a></h2>${all.join("\n")}</section>`;
}

/** Returns what a reference names. Throws when it is missing. */
function resolved<Part>(document: OpenApiDocument, part: Part | Ref): Part {
  if (typeof part !== "object" || part === null || !("$ref" in part)) return part as Part;
  const [, kind = "", name = ""] = /^#\/components\/([^/]+)\/(.+)$/.exec(part.$ref) ?? [];
  const found = document.components[kind]?.[name];
  if (found === undefined) throw new Error(`The document has no ${part.$ref}`);
  return resolved(document, found as Part | Ref);
}

type Schemas = Readonly<Record<string, Schema>>;

interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  /** The part of the request; "" where there is only one. */
  readonly place?: string;
}

const schemaAnchor = (name: string) => `object-${name}`;

const code = (value: unknown) =>
  `<code>${text(typeof value === "string" ? value : JSON.stringify(value))}</code>`;

const namedBy = (schema: Schema) => /^#\/components\/schemas\/(.+)$/.exec(schema.$ref ?? "")?.[1];

const optionsOf = ({ anyOf, oneOf }: Schema) => anyOf ?? oneOf ?? [];

/** Returns the type of a value in words, in which named objects are links. */
function typeHtml(schemas: Schemas, schema: Schema): string {
  const name = namedBy(schema);
  if (name !== undefined) return `<a href="#${schemaAnchor(name)}">${text(name)}</a>`;
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum) return schema.enum.map(code).join(" or ");
  const options = optionsOf(schema);
  if (options.length > 0)
    return [...new Set(options.map((option) => typeHtml(schemas, option)))].join(" or ");
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
  const words = types.map((type) => {
    if (type === "array") return schema.items ? `array of ${typeHtml(schemas, schema.items)}` : "array";
    if (type === "object" && typeof schema.additionalProperties === "object" && !schema.properties)
      return `object with values of ${typeHtml(schemas, schema.additionalProperties)}`;
    const format = schema.format === undefined || schema.format === "int64" ? "" : ` (${schema.format})`;
    return text(type + (type === "string" ? format : ""));
  });
  return words.length > 0 ? words.join(" or ") : "any value";
}

/** Returns the limits of a value in words; "" without any. */
function limits(schema: Schema): string {
  const between = (least: number | undefined, most: number | undefined, of: string) => {
    if (least === undefined && most === undefined) return [];
    if (least === most) return [`exactly ${least}${of}`];
    // The largest safe integer is no limit that a reader needs.
    const upper = most === undefined || most >= Number.MAX_SAFE_INTEGER ? null : most.toLocaleString("en-US");
    const lower = least === undefined || (least === 0 && upper !== null && of !== "") ? null : least;
    if (lower !== null && upper !== null) return [`${lower} to ${upper}${of}`];
    return upper !== null ? [`at most ${upper}${of}`] : lower !== null ? [`at least ${lower}${of}`] : [];
  };
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern } = schema;
  const words = [
    ...between(minimum, maximum, ""),
    ...between(minLength, maxLength, " characters"),
    ...between(minItems, maxItems, " items"),
    ...(pattern === undefined || pattern.length > 60 ? [] : [`matches ${code(pattern)}`]),
    ...(schema.default === undefined ? [] : [`default ${code(schema.default)}`]),
  ];
  return words.join(", ");
}

/** The schema whose fields are shown below a value: that of a list's items, of a map's values, or of an option. */
function inner(schema: Schema): readonly Schema[] {
  if (schema.properties || schema.allOf) return [schema];
  if (schema.items) return inner(schema.items);
  if (typeof schema.additionalProperties === "object") return inner(schema.additionalProperties);
  return optionsOf(schema).flatMap(inner);
}

function fieldHtml(schemas: Schemas, { name, schema, isRequired, place = "" }: Field): string {
  const facts = [place, isRequired ? "required" : "", limits(schema)].filter(Boolean);
  const description = schema.description ? markdown(schema.description) : "";
  const below = inner(schema).map((part) => listHtml(schemas, part));
  return `<div class="field-name"><code class="field-key">${text(name)}</code> <span class="field-type">${typeHtml(schemas, schema)}</span>${facts
    .map((fact) => ` <small class="field-fact">${fact}</small>`)
    .join("")}</div>${description}${below.join("")}`;
}

function listHtml(schemas: Schemas, { properties = {}, required = [], allOf = [] }: Schema): string {
  const items = Object.entries(properties).map(
    ([name, schema]) =>
      `<li>${fieldHtml(schemas, { name, schema, isRequired: required.includes(name) })}</li>`,
  );
  const parts = allOf.flatMap(inner).map((part) => listHtml(schemas, part));
  return (items.length > 0 ? `<ul class="fields">${items.join("")}</ul>` : "") + parts.join("");
}

/** Returns the fields of a value, of a named object with a link to it. Of named objects inside it has only the link. */
function allHtml(schemas: Schemas, schema: Schema): string {
  const name = namedBy(schema);
  const fields = name === undefined ? schema : (schemas[name] ?? schema);
  const lists = inner(fields).map((part) => listHtml(schemas, part));
  const isNamed = name !== undefined || schema.items !== undefined;
  return (isNamed ? `<p>${typeHtml(schemas, schema)}</p>` : "") + lists.join("");
}
