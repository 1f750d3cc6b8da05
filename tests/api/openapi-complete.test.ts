import { beforeAll, describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { answer, file, ndjsonLines, noContent, notModified } from "../../src/api/http/answers.ts";
import { component, describeRoute, errorCodes } from "../../src/api/http/openapi.ts";
import { IntegerParameter, TextParameter } from "../../src/api/http/parameters.ts";
import { listener } from "../../src/api/http/server.ts";
import { complete, type ListenerRules, type WrittenDocument } from "../../src/api/openapi/document.ts";
import { openApiRoutes } from "../../src/api/openapi/routes.ts";
import { createLog } from "../../src/runtime/log.ts";
import { find, lint, type OpenApiDocument } from "../support/openapi.ts";

// What the swagger plugin writes of routes, and what becomes of it.

const Thing = Type.Object(
  { id: Type.Integer(), note: Type.Union([Type.String(), Type.Null()]) },
  { $id: "Thing", description: "A thing.", additionalProperties: false },
);
const one = { id: 1, note: null };

const rules: ListenerRules = {
  headers: { "X-Request-Id": component("headers/X-Request-Id", { schema: { type: "string" } }) },
  errorResponses: ({ codes, body, hasParameters }) => ({
    400: {
      description: `${body} ${hasParameters} ${codes.join(", ")}`,
      content: { "application/json": { schema: { type: "object" } } },
    },
  }),
};

const about = (operationId: string) => ({
  operationId,
  tags: ["Things"],
  summary: operationId,
  description: "About a thing.",
  security: [],
});

function sampleApp() {
  const app = listener({ log: createLog("off"), headers: {} });
  const get = {
    params: Type.Object({ id: IntegerParameter({ minimum: 1, maximum: 9, examples: [7] }) }),
    query: Type.Object({
      name: Type.Optional(TextParameter({ trim: true, allowEmptyValue: true, description: "Its name." })),
    }),
    headers: Type.Object({ Range: Type.Optional(TextParameter({ description: "A part of it." })) }),
    response: {
      200: answer(
        { thing: Thing },
        {
          name: "ThingAnswer",
          description: "The thing.",
          example: { thing: one },
          headers: { Age: { description: "Its age.", schema: { type: "integer" } } },
        },
      ),
      304: notModified(60),
      400: file("A page.", "text/html"),
    },
    detail: about("getThing"),
  };
  describeRoute(get, { [errorCodes]: ["not_found"] });
  app.get("/things/:id", () => ({ thing: one }), get);
  app.post("/things", () => {}, {
    body: Type.Object(
      { note: Type.String() },
      {
        $id: "ThingForm",
        contentMediaType: "application/x-www-form-urlencoded",
        examples: [{ note: "new" }],
      },
    ),
    response: { 200: noContent("It is made.") },
    detail: about("makeThing"),
  });
  app.put("/things", () => "", {
    body: Type.Optional(Type.Object({ note: Type.String() }, { $id: "NewThing", examples: [{ note: "" }] })),
    response: { 200: ndjsonLines("All of them.", [one]) },
    detail: { ...about("putThings"), ndjson: { description: "One on each line.", example: [one] } },
  });
  app.get("/hidden", () => "", { detail: { hide: true } });
  return app;
}

let written: WrittenDocument;
let document: OpenApiDocument;
const url = "https://on.example";
const words = {
  api: "public" as const,
  title: "Things",
  summary: "Things.",
  introduction: "All about things.",
  tags: [{ name: "Things" }],
  securitySchemes: {},
};

beforeAll(async () => {
  const app = sampleApp();
  openApiRoutes(app, {
    title: "Things",
    url: () => "https://on.example",
    async complete(given) {
      written = given;
      return JSON.stringify(complete(given, rules, { ...words, url, webhooks: {} }));
    },
    page: async () => new Response(),
  });
  const found = await app.handle(new Request("http://on.example/openapi.json"));
  document = (await found.json()) as OpenApiDocument;
});

describe("the plugin's document", () => {
  test("is no valid document by itself, and valid once it is completed", async () => {
    const alone = JSON.parse(JSON.stringify({ ...written, servers: [{ url }] })) as OpenApiDocument;
    expect((await lint(alone)).length).toBeGreaterThan(10);
    // There is no more than the one license, and these errors are those of the sample.
    const problems = await lint(document);
    expect(problems.filter((problem) => !/^(info-license|tag-description)/.test(problem))).toEqual([]);
  });

  test("has the routes that are not hidden", () => {
    expect(Object.keys(document.paths)).toEqual(["/things/{id}", "/things"]);
    expect(document.openapi).toBe("3.1.0");
  });
});

describe("a completed operation", () => {
  test("has its parameters in the order path, query, header, without the keywords of our readers", () => {
    const parameters = find(document, "GET /things/{id}").parameters ?? [];
    expect(parameters).toEqual([
      {
        name: "id",
        in: "path",
        required: true,
        schema: { type: "integer", minimum: 1, maximum: 9 },
        example: 7,
      },
      {
        name: "name",
        in: "query",
        required: false,
        description: "Its name.",
        allowEmptyValue: true,
        schema: { type: "string" },
      },
      {
        name: "Range",
        in: "header",
        required: false,
        description: "A part of it.",
        schema: { type: "string" },
      },
      { $ref: "#/components/parameters/If-None-Match" },
    ] as unknown as typeof parameters);
  });

  test("names answers and their parts, and closes them like their schemas", () => {
    expect(document.components.schemas).toMatchObject({
      ThingAnswer: {
        type: "object",
        description: "The thing.",
        additionalProperties: false,
        properties: { thing: { $ref: "#/components/schemas/Thing" } },
      },
      Thing: { description: "A thing.", properties: { note: { type: ["string", "null"] } } },
    });
    expect(find(document, "GET /things/{id}").responses["200"]).toMatchObject({
      description: "The thing.",
      headers: { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" }, Age: {}, ETag: {} },
      content: {
        "application/json": { schema: { $ref: "#/components/schemas/ThingAnswer" }, example: { thing: one } },
      },
    });
  });

  test("unites an answer and an error of the same status, and gives the rules the options of the route", () => {
    const { responses } = find(document, "GET /things/{id}");
    expect(responses["400"]?.description).toBe("null true not_found");
    expect(Object.keys(responses["400"]?.content ?? {})).toEqual(["application/json", "text/html"]);
    expect(responses["304"]?.headers).toMatchObject({ "Cache-Control": { example: "public, max-age=60" } });
    expect(find(document, "POST /things").responses["400"]?.description).toBe("form false ");
    expect(find(document, "PUT /things").responses["400"]?.description).toBe("json false ");
  });

  test("has bodies by their media types", () => {
    const form = find(document, "POST /things");
    expect(form.requestBody).toEqual({
      required: true,
      content: {
        "application/x-www-form-urlencoded": {
          schema: { $ref: "#/components/schemas/ThingForm" },
          example: { note: "new" },
        },
      },
    });
    expect(form.responses["200"]).not.toHaveProperty("content");
    const batch = find(document, "PUT /things");
    expect(batch.requestBody?.required).toBe(false);
    expect(Object.keys(batch.requestBody?.content ?? {})).toEqual([
      "application/json",
      "application/x-ndjson",
    ]);
    expect(batch.responses["200"]?.content).toEqual({
      "application/x-ndjson": {
        schema: { type: "string", description: "One object on each line." },
        example: '{"id":1,"note":null}\n',
      },
    });
  });
});

test("two parts with one name are a mistake", () => {
  const part = (type: string) => component("schemas/Same", { type });
  const webhooks = { first: part("string"), second: part("integer") };
  expect(() => complete({ paths: {} }, rules, { ...words, url, webhooks })).toThrow(
    "Two components are schemas/Same",
  );
});
