import { component, type Json } from "../http/openapi.ts";
import { hoist, mapped } from "./document.ts";

/*
 * The OpenAPI 3.0 form of a document, for generators that read nothing newer (https://spec.openapis.org/oas/v3.0.3).
 * OpenAPI 3.0 has `nullable` in place of the type null, `enum` in place of `const`, and no webhooks.
 */

/**
 * Returns an OpenAPI 3.1 document, as JSON, in OpenAPI 3.0. The webhooks become `x-webhooks`, and their bodies
 * components, so that generators make types of the events.
 */
export function openApi30(document: string): string {
  const { openapi: _, info, webhooks, ...rest } = JSON.parse(document) as Json;
  const { summary: __, license, ...about } = info as Json;
  const { name, identifier } = license as Json;
  const { schemas } = rest["components"] as { readonly schemas: Schemas };
  const draft = {
    openapi: "3.0.3",
    info: { ...about, license: { name, url: `https://spdx.org/licenses/${identifier}.html` } },
    ...rest,
    "x-webhooks": mapped(webhooks as Json, (webhook) => withNamedBody(webhook as Webhook)),
  };
  return JSON.stringify(withoutUnused(hoist(converted(draft, schemas) as Json)));
}

interface Webhook {
  readonly post: {
    readonly operationId: string;
    readonly requestBody: { readonly content: Readonly<Record<string, { readonly schema: Json }>> };
  };
}

/** Names the body of a webhook after its operation, such as `ChannelFollowedEvent` for `channelFollowed`. */
function withNamedBody({ post }: Webhook): Json {
  const name = post.operationId.replace(/^./, (letter) => letter.toUpperCase());
  const { "application/json": json } = post.requestBody.content;
  const schema = component(`schemas/${name}Event`, json?.schema ?? {});
  const content = { "application/json": { ...json, schema } };
  return { post: { ...post, requestBody: { ...post.requestBody, content } } };
}

type Schemas = Readonly<Record<string, Json>>;

/** The keywords and fields with values of the API, which are no parts of the document. */
const values = new Set(["example", "examples", "default", "enum", "const"]);
/** The fields that map names, among which may be those of keywords. */
const maps = new Set(["properties", "schemas", "headers"]);

/** Returns a part of a document with all schemas in it in OpenAPI 3.0. @param schemas the components */
function converted(part: unknown, schemas: Schemas): unknown {
  const convert = (value: unknown) => converted(value, schemas);
  if (Array.isArray(part)) return part.map(convert);
  if (typeof part !== "object" || part === null) return part;
  const whole = mapped(part as Json, (value, name) => {
    if (values.has(name)) return value;
    if (name === "parameters" && Array.isArray(value)) return convert(withDistinctNames(value));
    return maps.has(name) && value !== null ? mapped(value as Json, convert) : convert(value);
  });
  return schema30(whole, schemas);
}

/**
 * Leaves out headers that a query parameter stands for: generators of code, such as progenitor, have one name for
 * `Last-Event-ID` and `lastEventId`.
 */
function withDistinctNames(parameters: readonly Json[]): Json[] {
  const identifier = ({ name }: Json) => String(name).replaceAll(/[-_]/g, "").toLowerCase();
  const inQuery = new Set(parameters.filter((parameter) => parameter["in"] === "query").map(identifier));
  return parameters.filter(
    (parameter) => parameter["in"] !== "header" || !inQuery.has(identifier(parameter)),
  );
}

/** Returns a schema with converted parts in OpenAPI 3.0. Other parts of a document have none of its keywords. */
function schema30(schema: Json, schemas: Schemas): Json {
  const { examples, ...rest } = schema;
  if (Array.isArray(examples)) return schema30({ ...rest, example: examples[0] }, schemas);
  if ("const" in schema) return constant(schema);
  if (Array.isArray(schema["type"])) return { ...schema, type: schema["type"][0], nullable: true };
  const nullOption = (schema["anyOf"] as readonly Json[] | undefined)?.find(({ type }) => type === "null");
  return nullOption ? schemaOrNull(schema, schemas) : schema;
}

function constant({ const: value, ...schema }: Json): Json {
  if (value !== null) return { ...schema, enum: [value] };
  // Null alone is no type of OpenAPI 3.0, and generators fail at an `enum` with nothing else.
  return { ...schema, type: "object", maxProperties: 0, nullable: true };
}

/**
 * Returns the union of a schema and null. `nullable` is only for the schema that has the type: of a component there is
 * a second component, which may be null.
 */
function schemaOrNull({ anyOf, ...rest }: Json, schemas: Schemas): Json {
  const [only, ...others] = (anyOf as readonly Json[]).filter(({ type }) => type !== "null");
  if (!only || others.length > 0)
    throw new Error("OpenAPI 3.0 needs a component for a union that may be null");
  if (typeof only["$ref"] !== "string") return { ...nullable(only), ...rest };
  const name = only["$ref"].replace("#/components/schemas/", "");
  const target = nullable(converted(schemas[name], schemas) as Json);
  const orNull = component(`schemas/${name}OrNull`, target);
  return { type: target["type"], ...rest, nullable: true, allOf: [orNull] };
}

function nullable(schema: Json): Json {
  const { enum: words } = schema;
  return { ...schema, nullable: true, ...(Array.isArray(words) && { enum: [...words, null] }) };
}

/** Returns the document without schemas to which nothing refers. */
function withoutUnused(document: Json): Json {
  const { schemas, ...components } = document["components"] as { readonly schemas: Schemas };
  const text = JSON.stringify(document);
  const used = Object.entries(schemas).filter(([name]) => text.includes(`"#/components/schemas/${name}"`));
  return { ...document, components: { ...components, schemas: Object.fromEntries(used) } };
}
