import fc from "fast-check";
import { event } from "../publishing.ts";
import type { Documented, DocumentedBody, JsonSchema, Parameter } from "./documented.ts";
import { faultsOf } from "./faults.ts";
import { type Input, kindOf, mark } from "./input.ts";
import { fieldsNamed, valuesNamed } from "./vocabulary.ts";

/** Types of which requests register, change and remove versions. */
const builtIn = ["channel.followed", "chat.message.sent", "kicks.gifted"];
export const registered = ["raffle.won", "raffle.lost", "quiz.ended"];
const ofRegistered: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  version: fc.integer({ min: 1, max: 2 }),
  schema: fc
    .tuple(fc.constantFrom("string", "integer"), fc.boolean())
    .map(([type, additionalProperties]) => ({
      type: "object",
      properties: { winner: { type } },
      additionalProperties,
    })),
  example: fc.constantFrom({}, {}, {}, { winner: null }),
};

/**
 * Requests to any of the operations: valid ones, one of twenty that is wrong in one place, and nonsense.
 * @param options.weights of operations by their names; 1 of others
 * @param options.valid how many requests of twenty are meant to be accepted
 */
export function inputs(
  operations: readonly Documented[],
  { weights = {}, valid = 5 }: { weights?: Readonly<Record<string, number>>; valid?: number } = {},
): fc.Arbitrary<Input> {
  return fc.oneof(
    ...operations.map((operation) => {
      const faulty = faultsOf(operation).map(({ input }) => ({ ...input, isFaulty: true }));
      const arbitrary = fc.oneof(
        { weight: valid, arbitrary: inputOf(operation, true) },
        { weight: 19 - valid, arbitrary: inputOf(operation, false) },
        ...faulty.slice(0, 1).map(() => ({ weight: 1, arbitrary: fc.constantFrom(...faulty) })),
      );
      return { weight: weights[operation.name] ?? 1, arbitrary };
    }),
  );
}

function inputOf(operation: Documented, isValid: boolean): fc.Arbitrary<Input> {
  const of = (place: Parameter["in"]) => operation.parameters.filter((parameter) => parameter.in === place);
  const values = (parameter: Parameter) => parameterValues(parameter, operation, isValid);
  const path = fc.record(
    Object.fromEntries(of("path").map((parameter) => [parameter.name, values(parameter)])),
  );
  const query = fc.tuple(
    ...of("query").map((parameter) =>
      entriesOf(parameter, values(parameter), isValid ? 0 : 1, of("query").length),
    ),
  );
  const headers = fc.record(
    Object.fromEntries<fc.Arbitrary<string>>([
      ...of("header").map(
        (parameter) => [parameter.name.toLowerCase(), values(parameter).map(printable)] as const,
      ),
      ["x-request-id", fc.constantFrom("a-request", "x".repeat(300), "0")],
      ["if-none-match", fc.constantFrom("*", '"x"', 'W/"0"')],
      ["accept", fc.constantFrom("*/*", "text/html", "application/json;q=0")],
    ]),
    { requiredKeys: [] },
  );
  return fc
    .record({
      path,
      query: fc.tuple(query, isValid ? fc.constant([]) : fc.option(entries, { freq: 15, nil: [] })),
      headers: oftenNothing(headers),
      content: contentOf(operation, isValid),
      as: fc.oneof(
        { weight: 12, arbitrary: fc.constant("owner" as const) },
        { weight: operation.listener === "public" ? 3 : 0, arbitrary: fc.constant("user" as const) },
        { weight: isValid ? 0 : 1, arbitrary: fc.constantFrom("nobody" as const, "stranger" as const) },
      ),
    })
    .map(({ path, query: [query, more], headers, content, as }) => ({
      operation,
      path: { ...path },
      query: [...query.flat(), ...more],
      headers: { ...headers, ...content.headers } as Record<string, string>,
      body: content.body,
      as,
    }));
}

const oftenNothing = <T extends object>(values: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant({} as Partial<T>) }, { weight: 1, arbitrary: values });

const entries = fc.array(fc.tuple(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 })), {
  maxLength: 2,
});

/** Only what a header can carry. */
const printable = (text: string) => text.replace(/[^\x20-\x7e]/g, "?").trim();

/** A parameter that is there, absent, or there twice. */
function entriesOf({ name, required }: Parameter, values: fc.Arbitrary<string>, wrong: 0 | 1, count: number) {
  const one = values.map((value): [string, string][] => [[name, value]]);
  return fc.oneof(
    { weight: 20, arbitrary: one },
    // Of many there are two or three, so that not each request is wrong in one of them.
    { weight: required ? wrong : 10 * count, arbitrary: fc.constant<[string, string][]>([]) },
    { weight: wrong, arbitrary: fc.tuple(one, one).map(([first, second]) => [...first, ...second]) },
  );
}

/** Text that has been trouble elsewhere. */
const nasty = fc.constantFrom(
  ..."|0|-1|1e2|0x10|9007199254740993|1.5|null|true|[]|{}|%|%00|..|../..|';--|<script>|a b|\u0000|\ud800|é|e\u0301|\u202e|😀".split(
    "|",
  ),
  "x".repeat(3000),
);
const anyText = fc.oneof(nasty, fc.string({ unit: "binary", maxLength: 40 }), fc.string({ maxLength: 70 }));

function parameterValues(
  parameter: Parameter,
  operation: Documented,
  isValid: boolean,
): fc.Arbitrary<string> {
  const wrong = isValid ? 0 : 1;
  const kind = kindOf(parameter.name, operation.path);
  const documented = valuesOf(parameter.schema, operation, parameter.name).map((value) =>
    Array.isArray(value) ? value.join(",") : String(value),
  );
  const known = fc.nat({ max: 29 }).map((index) => mark(kind ?? "none", index));
  const isNumber = /integer/.test(String(operation.resolved(parameter.schema).type));
  const example = parameter.example;
  const named = kind === "event-types" ? undefined : fieldsNamed[parameter.name];
  if (named)
    return fc.oneof(
      { weight: 24, arbitrary: named },
      { weight: 2 * wrong, arbitrary: documented },
      { weight: wrong, arbitrary: anyText },
    );
  return fc.oneof(
    { weight: kind === undefined || isNumber ? 0 : 12, arbitrary: known },
    { weight: example === undefined ? 0 : 3, arbitrary: fc.constant(String(example)) },
    { weight: kind === undefined || isNumber ? 8 : 8 * wrong, arbitrary: documented },
    { weight: 2 * wrong, arbitrary: anyText },
  );
}

/** A body with its content type. */
function contentOf(operation: Documented, isValid: boolean) {
  const wrong = isValid ? 0 : 1;
  const { bodies, isBodyRequired } = operation;
  type Content = { readonly headers: Readonly<Record<string, string>>; readonly body: string | null };
  const none = fc.constant<Content>({ headers: {}, body: null });
  const typed = (type: string, texts: fc.Arbitrary<string>): fc.Arbitrary<Content> =>
    texts.map((body) => ({ headers: { "content-type": type }, body }));
  if (bodies.length === 0) {
    return fc.oneof(
      { weight: 20, arbitrary: none },
      { weight: wrong, arbitrary: typed("application/json", anyText) },
    );
  }
  return fc.oneof(
    ...bodies.map((body) => ({ weight: 20, arbitrary: typed(body.type, textsOf(body, operation, isValid)) })),
    { weight: isBodyRequired ? wrong : 8, arbitrary: none },
    { weight: wrong, arbitrary: typed("text/plain", anyText) },
    { weight: wrong, arbitrary: typed("application/json", fc.constant("[".repeat(5000))) },
  );
}

function textsOf(
  { type, schema, example }: DocumentedBody,
  operation: Documented,
  isValid: boolean,
): fc.Arbitrary<string> {
  const wrong = isValid ? 0 : 1;
  if (type === "application/x-ndjson") {
    const row = JSON.parse(String(example).split("\n")[0] ?? "") as object;
    const rows = operation.path.endsWith("/events") ? events : rowsLike(row);
    const line = fc
      .oneof({ weight: 12, arbitrary: rows }, { weight: wrong, arbitrary: changed(rows) })
      .map((row) => JSON.stringify(row));
    const odd = fc.oneof(
      anyText,
      fc.constantFrom("{", "[]", "", '{"id":1e2}', '{"id":1,"id":2}', "\ufeff{}", "null"),
    );
    const lines = fc.array(fc.oneof({ weight: 30, arbitrary: line }, { weight: wrong, arbitrary: odd }), {
      maxLength: 12,
    });
    return fc.tuple(lines, fc.constantFrom("\n", "\r\n", "\n\n")).map(([all, end]) => all.join(end));
  }
  const valid = fc.oneof(
    { weight: 1, arbitrary: fc.constant(example) },
    { weight: 2, arbitrary: valuesOf(schema, operation) },
    { weight: operation.path === "/admin/v1/events" ? 12 : 0, arbitrary: events },
  );
  const values = fc.oneof({ weight: 3, arbitrary: valid }, { weight: wrong, arbitrary: changed(valid) });
  if (type === "application/x-www-form-urlencoded") {
    return fc.oneof(
      {
        weight: 12,
        arbitrary: values.map((value) => {
          const fields = Object.entries(value ?? {}).map(([name, given]) => [name, String(given)]);
          return new URLSearchParams(Object.fromEntries(fields)).toString();
        }),
      },
      { weight: wrong, arbitrary: anyText },
    );
  }
  return fc.oneof(
    { weight: 20, arbitrary: values.map((value) => JSON.stringify(value)) },
    { weight: wrong, arbitrary: fc.json() },
    { weight: wrong, arbitrary: anyText },
  );
}

/** Events whose data fit their type: a built-in one, or one of those that requests register. */
const events = fc
  .record(
    {
      id: fc.nat({ max: 29 }).map((index) => mark("event-ids", index)),
      name: fc.constantFrom(...builtIn, ...registered),
      broadcaster_user_id: fc.integer({ min: 1, max: 8 }),
      version: fc.constantFrom(1, 1, 1, 2),
      winner: fc.oneof(
        fieldsNamed["name"] ?? fc.string(),
        fc.constantFrom<unknown>(5, 1e21, "\u0000", undefined),
      ),
    },
    { requiredKeys: ["name", "broadcaster_user_id", "version", "winner"] },
  )
  .map(({ winner, name, version, ...rest }) =>
    registered.includes(name) ? { ...rest, name, version, data: { winner } } : { ...event(name), ...rest },
  );

/** Rows with the fields of an example, each of which may be left out: ids are few, so that rows meet. */
function rowsLike(row: object): fc.Arbitrary<unknown> {
  const fields = Object.entries(row).map(([name, value]) => [name, valuesLike(name, value)] as const);
  const names = fields
    .map(([name]) => name)
    .filter((name) => /^(id|\w+_id|username|name|slug|viewers)$/.test(name));
  return fc.record(Object.fromEntries(fields), { requiredKeys: names });
}

function valuesLike(name: string, value: unknown): fc.Arbitrary<unknown> {
  const named = fieldsNamed[name];
  if (Array.isArray(value)) {
    const ids = fc.record({ id: fc.integer({ min: 1, max: 5 }), name: named ?? fc.string() });
    return fc.array(fc.oneof(named ?? fc.string(), ids), { maxLength: 3 });
  }
  if (/(^|_)id$/.test(name)) return fc.integer({ min: 1, max: 12 });
  if (typeof value === "number") return fc.constantFrom(0, 1, 7, 7, 8, 2 ** 31, 2 ** 53 - 1);
  if (typeof value === "boolean") return fc.boolean();
  return named ?? fc.constant(value);
}

const junk = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 2 ** 53, 1e300, "", [], {}, [[]], { a: { b: null } }),
  anyText,
  fc.jsonValue({ maxDepth: 3 }),
);

/** A value with one of its parts replaced, left out, or added. */
function changed(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.tuple(values, junk, fc.nat(), fc.constantFrom("replace", "leave out", "add", "same")).map(change);
}

type Change = [value: unknown, junk: unknown, place: number, how: "replace" | "leave out" | "add" | "same"];

function change([value, junk, place, how]: Change): unknown {
  if (how === "same") return value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return junk;
  const fields = Object.entries(value);
  const [name = "", inner] = fields[place % Math.max(fields.length, 1)] ?? [];
  if (how === "add") return { ...value, [typeof junk === "string" ? junk : "more"]: junk };
  if (how === "leave out") return Object.fromEntries(fields.filter(([other]) => other !== name));
  const isDeeper = typeof inner === "object" && inner !== null && place % 2 === 0;
  return { ...value, [name]: isDeeper ? change([inner, junk, place >> 1, how]) : junk };
}

/** Values of a schema. Fields that name something name mostly what is known. */
function valuesOf(given: JsonSchema, operation: Documented, name = ""): fc.Arbitrary<unknown> {
  const schema = operation.resolved(given);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const special = operation.path.includes("/event-types/") ? ofRegistered[name] : valuesNamed[name];
  if (special) return special;
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((choice) => valuesOf(choice, operation, name)));
  const types = [schema.type ?? []].flat();
  if (types.length === 0) return fc.jsonValue({ maxDepth: 2 });
  return fc.oneof(...types.map((type) => valuesOfType(type, schema, operation, name)));
}

function valuesOfType(
  type: string,
  schema: JsonSchema,
  operation: Documented,
  name: string,
): fc.Arbitrary<unknown> {
  switch (type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
    case "number":
      return integers(schema, name);
    case "string":
      return texts(schema, operation, name);
    case "array": {
      const { minItems = 0, maxItems = 10, items = {} } = schema;
      const size = { minLength: minItems, maxLength: Math.max(minItems, Math.min(maxItems, 3)) };
      return fc.array(valuesOf(items, operation, name), size);
    }
    default:
      return objects(schema, operation);
  }
}

function integers({ minimum = -(2 ** 53) + 1, maximum = 2 ** 53 - 1 }: JsonSchema, name: string) {
  const few = { min: Math.max(minimum, Math.min(1, maximum)), max: Math.min(maximum, 12) };
  return fc.oneof(
    // There are no others yet.
    { weight: name === "version" ? 20 : 0, arbitrary: fc.constant(1) },
    // Numbers that meet those of other requests.
    {
      weight: /(^|_)id$/.test(name) ? 20 : 3,
      arbitrary: few.min <= few.max ? fc.integer(few) : fc.constant(minimum),
    },
    { weight: 1, arbitrary: fc.integer({ min: minimum, max: maximum }) },
    { weight: 1, arbitrary: fc.constantFrom(minimum, maximum) },
  );
}

function texts(schema: JsonSchema, operation: Documented, name: string): fc.Arbitrary<string> {
  const { minLength = 0, maxLength = 100, pattern, format } = schema;
  const kind = kindOf(name, operation.path);
  const length = { minLength, maxLength: Math.max(minLength, Math.min(maxLength, 200)) };
  const known = fc.nat({ max: 29 }).map((index) => mark(kind ?? "none", index));
  const named = kind === "event-types" ? undefined : fieldsNamed[name];
  const text =
    format === "date-time"
      ? fc
          .date({ min: new Date("1990-01-01"), max: new Date("2090-01-01"), noInvalidDate: true })
          .map((date) => date.toISOString())
      : pattern === undefined
        ? fc.oneof(fc.string(length), fc.string({ ...length, unit: "grapheme" }))
        : fc.oneof(fc.stringMatching(new RegExp(pattern)), fc.string(length));
  if (named) return fc.oneof({ weight: 12, arbitrary: named }, { weight: 1, arbitrary: text });
  return fc.oneof({ weight: kind === undefined ? 0 : 12, arbitrary: known }, { weight: 1, arbitrary: text });
}

function objects(schema: JsonSchema, operation: Documented): fc.Arbitrary<object> {
  const { properties = {}, required = [], additionalProperties } = schema;
  const fields = Object.fromEntries(
    Object.entries(properties)
      // Must be the id of the path.
      .filter(([name]) => name !== "id" || !operation.path.endsWith("/{id}"))
      .map(([name, property]) => [name, valuesOf(property, operation, name)]),
  );
  const known = fc.record(fields, { requiredKeys: required.filter((name) => name in fields) });
  if (typeof additionalProperties !== "object") return known;
  const more = fc.dictionary(fc.string({ maxLength: 10 }), valuesOf(additionalProperties, operation), {
    maxKeys: 3,
  });
  return fc.tuple(known, more).map(([known, more]) => ({ ...more, ...known }));
}
