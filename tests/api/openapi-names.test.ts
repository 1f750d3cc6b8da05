import { describe, expect, test } from "bun:test";
import { type OpenApiDocument, operations, type ResponseObject } from "../support/openapi.ts";
import { testServer } from "../support/server.ts";

/** A part of a document, as far as these tests look at it. */
interface Part {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Part>>;
  readonly items?: Part;
  readonly anyOf?: readonly Part[];
  readonly oneOf?: readonly Part[];
  readonly allOf?: readonly Part[];
}

const documents = new Map<string, OpenApiDocument>();

const server = await testServer();
for (const [name, url] of Object.entries({ public: server.publicUrl, admin: server.adminUrl })) {
  documents.set(name, (await (await fetch(`${url}/openapi.json`)).json()) as OpenApiDocument);
}

function documentOf(name: string): OpenApiDocument {
  const document = documents.get(name);
  if (!document) throw new Error(`There is no document ${name}`);
  return document;
}

/** What is not a reference, with where it is. */
function* schemasIn(part: Part, at: string): Generator<{ readonly at: string; readonly part: Part }> {
  if (part.$ref !== undefined) return;
  yield { at, part };
  const options = [...(part.anyOf ?? []), ...(part.oneOf ?? []), ...(part.allOf ?? [])];
  for (const [i, option] of options.entries()) yield* schemasIn(option, `${at}|${i}`);
  if (part.items) yield* schemasIn(part.items, `${at}[]`);
  for (const [name, property] of Object.entries(part.properties ?? {})) {
    yield* schemasIn(property, `${at}.${name}`);
  }
}

function found(document: OpenApiDocument, { $ref = "" }: Part): Part {
  let part: unknown = document;
  for (const key of $ref.split("/").slice(1)) part = (part as Record<string, unknown>)[key];
  return part as Part;
}

describe.each(["public", "admin"])("the %s document", (name) => {
  test("names the bodies of requests and answers, and every object in them", () => {
    const document = documentOf(name);
    const unnamed: string[] = [];
    for (const { name: operation, operation: of } of operations(document)) {
      const parts = [...(of.requestBody ? [of.requestBody] : []), ...Object.values(of.responses)];
      for (const part of parts) {
        const { content = {} } = (
          (part as Part).$ref ? found(document, part as Part) : part
        ) as ResponseObject;
        for (const { schema } of Object.values(content)) {
          const given = schema as Part;
          if (given.$ref === undefined && given.type !== "string") unnamed.push(operation);
        }
      }
    }
    for (const [schema, part] of Object.entries(document.components.schemas)) {
      for (const { at, part: inner } of schemasIn(part, schema)) {
        if (at !== schema && inner.properties) unnamed.push(at);
      }
    }
    expect(unnamed).toEqual([]);
  });

  test("describes every component, property and parameter", () => {
    const document = documentOf(name);
    const silent: string[] = [];
    const look = (part: Part, at: string) => {
      if (!(part.$ref ? found(document, part) : part).description) silent.push(at);
    };
    const bodies = Object.entries(document.webhooks ?? {}).map(([event, { post }]): [string, Part] => {
      return [event, post.requestBody?.content["application/json"]?.schema as Part];
    });
    for (const [schema, part] of [...Object.entries(document.components.schemas), ...bodies]) {
      if (!bodies.some(([event]) => event === schema)) look(part, schema);
      for (const { at, part: inner } of schemasIn(part, schema)) {
        for (const [key, property] of Object.entries(inner.properties ?? {})) look(property, `${at}.${key}`);
      }
    }
    for (const { name: operation, operation: of } of operations(document)) {
      for (const parameter of of.parameters ?? []) look(parameter as Part, `${operation} ${parameter.name}`);
    }
    expect(silent).toEqual([]);
  });

  test("has one pagination, a contact, and links to operations and parameters that there are", () => {
    const document = documentOf(name);
    const text = JSON.stringify(document.paths) + JSON.stringify(document.components.schemas);
    expect(
      text.match(/"pagination":\{(?!"\$ref":"#\/components\/schemas\/Pagination"|"cursor")/g),
    ).toBeNull();
    expect(document.info["contact"]).toMatchObject({ name: expect.any(String), url: expect.any(String) });
    const byId = new Map(operations(document).map(({ operation }) => [operation.operationId, operation]));
    let links = 0;
    for (const { operation } of operations(document)) {
      for (const response of Object.values(operation.responses)) {
        for (const { operationId, parameters } of Object.values(response.links ?? {})) {
          links++;
          const names = byId.get(operationId)?.parameters?.map((parameter) => parameter.name) ?? [];
          for (const parameter of Object.keys(parameters)) expect(names).toContain(parameter);
        }
      }
    }
    expect(links).toBeGreaterThan(5);
  });
});

test("the public document has the path where users begin", () => {
  const authorize = operations(documentOf("public")).find(({ name }) => name === "GET /oauth/authorize");
  const names = authorize?.operation.parameters?.map(({ name }) => name);
  expect(names).toContainValues(["response_type", "client_id", "code_challenge", "code_challenge_method"]);
  expect(Object.keys(authorize?.operation.responses ?? {})).toContainValues(["303", "400"]);
});
