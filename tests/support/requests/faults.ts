import type { Documented, JsonSchema, Parameter } from "./documented.ts";
import { type Input, validInput } from "./input.ts";

/** A request that is valid but for one parameter or field, and what its answer must say. */
interface Faulty {
  readonly input: Input;
  /** What is wrong. */
  readonly how: string;
  readonly status: 400 | 415;
  /** The only item of `errors`. `message` is null where the document does not determine it; all is null for a whole body. */
  readonly error: {
    readonly in: Parameter["in"] | "body";
    readonly field: string;
    readonly message: string | null;
  } | null;
}

type Wrong = readonly [how: string, value: string, message: string | null];
type WrongValue = readonly [how: string, json: string, message: string | null];

const noDate = "2026-02-30T00:00:00Z";
const noRealDate = "is not a date that exists";
const characters = (count: number) => `${count} character${count === 1 ? "" : "s"}`;

/** Every request to an operation that is wrong in one place of its parameters or its body, one for each kind of fault. */
export function faultsOf(operation: Documented): Faulty[] {
  return [...parameterFaults(operation), ...bodyFaults(operation)];
}

function parameterFaults(operation: Documented): Faulty[] {
  return operation.parameters.flatMap((parameter) => {
    const schema = operation.resolved(parameter.schema);
    const { name, required = false } = parameter;
    const place = parameter.in;
    const valid = validInput(operation);
    const faulty = (how: string, message: string | null, input: Partial<Input>): Faulty => {
      return { input: { ...valid, ...input }, how, status: 400, error: { in: place, field: name, message } };
    };
    // The header of an HTTP condition has a form of its own, and a cursor a code of its own.
    if (place === "header") return [];
    if (place === "path")
      return wrongTexts(schema, operation)
        .filter(([, value]) => value !== "")
        .map(([how, value, message]) => faulty(how, message, { path: { ...valid.path, [name]: value } }));
    const others = valid.query.filter(([other]) => other !== name);
    const set = (...values: string[]) => ({
      query: [...others, ...values.map((value) => [name, value] as const)],
    });
    const wrong = wrongTexts(schema, operation).filter(
      ([, value]) => value !== "" || parameter.allowEmptyValue !== true,
    );
    return [
      ...wrong.map(([how, value, message]) => faulty(how, message, set(value))),
      ...(required ? [faulty("left out", "is required", set())] : []),
      ...(schema.type === "array" ? [] : [faulty("given twice", "must be given only once", set("1", "1"))]),
    ];
  });
}

/** Wrong values of a parameter. */
function wrongTexts(given: JsonSchema, operation: Documented): readonly Wrong[] {
  const schema = operation.resolved(given);
  const { minimum, maximum, minLength = 0, maxLength } = schema;
  if (schema.type === "array") {
    const items = wrongTexts(schema.items ?? {}, operation).filter(([, value]) => value !== "");
    const { minItems, maxItems = 0 } = schema;
    const message = `must have ${minItems} to ${maxItems} values, repeated or separated by commas`;
    return [...items, ["no item", "", message], ["too many items", "1,".repeat(maxItems + 1), message]];
  }
  if (schema.type === "integer") {
    const message = `must be an integer from ${minimum} to ${maximum}`;
    const texts = ["", "1e2", "0x10", " 5", "+5", "5.0", "05", "x", "5\0"];
    const outside = [String(BigInt(minimum ?? 0) - 1n), String(BigInt(maximum ?? 0) + 1n)];
    return [...texts, ...outside].map((text) => [`"${text}"`, text, message]);
  }
  const nul: Wrong = ["a NUL", "abc\0", "must not contain a NUL character"];
  if (schema.enum) {
    const words = schema.enum.join(", ");
    const message = words === "true, false" ? "must be true or false" : `must be one of ${words}`;
    const [value = ""] = schema.enum.map(String);
    const upper = value.toUpperCase();
    const other: Wrong =
      upper === value ? ["a longer value", `${value}0`, message] : ["another case", upper, message];
    return [nul, ["empty", "", message], other];
  }
  const isTime = schema.pattern?.startsWith("^[0-9]{4}-") === true;
  return [
    nul,
    ["empty", "", minLength > 0 ? `must be at least ${characters(minLength)}` : null],
    ...(isTime ? [["no date", noDate, noRealDate] as const, ["no time", "yesterday", null] as const] : []),
    ...(maxLength === undefined
      ? []
      : [["too long", "x".repeat(maxLength + 1), `must be at most ${characters(maxLength)}`] as const]),
    ...(minLength > 1
      ? [["too short", "é".repeat(minLength - 1), `must be at least ${characters(minLength)}`] as const]
      : []),
  ];
}

function bodyFaults(operation: Documented): Faulty[] {
  const body = operation.bodies.find(({ type }) => type === "application/json");
  if (!body) return [];
  const schema = operation.resolved(body.schema);
  const { properties = {}, required = [], additionalProperties } = schema;
  const valid = validInput(operation);
  const fields = Object.entries((body.example ?? {}) as object);
  const faulty = (how: string, text: string | null, error: Faulty["error"] = null): Faulty => {
    return { input: { ...valid, body: text }, how, status: 400, error };
  };
  /** The example with a field of this JSON; without it for null. */
  const withField = (name: string, json: string | null) => {
    const others = fields.filter(([other]) => other !== name);
    const texts = others.map(([other, value]) => `${JSON.stringify(other)}:${JSON.stringify(value)}`);
    return `{${[...texts, ...(json === null ? [] : [`${JSON.stringify(name)}:${json}`])].join()}}`;
  };
  const of = (name: string, [how, json, message]: WrongValue) =>
    faulty(how, withField(name, json), { in: "body", field: name, message });
  const half = "must not contain half of a surrogate pair";
  return [
    ...Object.entries(properties).flatMap(([name, property]) =>
      wrongValues(property, operation).map((wrong) => of(name, wrong)),
    ),
    ...required.map((field) =>
      faulty("left out", withField(field, null), { in: "body", field, message: "is required" }),
    ),
    ...(additionalProperties === false ? [of("wbhook_url", ["unknown", "1", "is not a known field"])] : []),
    faulty("half a surrogate", withField("more", '["\\ud83d"]'), {
      in: "body",
      field: "more[0]",
      message: half,
    }),
    faulty("half a name", withField("more", '{"\\udc4d":1}'), { in: "body", field: "more", message: null }),
    faulty("white space", " "),
    faulty("not JSON", "{"),
    faulty("no object", "[1]"),
    {
      ...faulty("a text", "{}"),
      input: { ...valid, body: "{}", headers: { "content-type": "text/plain" } },
      status: 415,
    },
    ...(operation.isBodyRequired
      ? [
          faulty("empty", ""),
          { ...faulty("absent", null), input: { ...valid, body: null, headers: {} }, status: 415 as const },
        ]
      : []),
  ];
}

/** Wrong values of a field of a body, as JSON. */
function wrongValues(given: JsonSchema, operation: Documented): WrongValue[] {
  const schema = operation.resolved(given);
  const choices = (schema.anyOf ?? [schema]).map((choice) => operation.resolved(choice));
  const types = choices.flatMap(({ type }) => type ?? []);
  const orNull = types.includes("null") ? " or null" : "";
  const main = choices.filter(({ type }) => type !== "null");
  const [one = {}] = main;
  if (main.length !== 1) return [];
  const { minimum, maximum, maxLength } = one;
  const [type] = [one.type ?? []].flat();
  if (one.const !== undefined) return [["another value", "5", `must be ${one.const}`]];
  if (one.enum) {
    const message = `must be one of ${one.enum.join(", ")}${orNull}`;
    return [
      ["another value", '"no such"', message],
      ["another type", "5", message],
    ];
  }
  switch (type) {
    case "integer": {
      const message = `must be an integer from ${minimum} to ${maximum}${orNull}`;
      const outside = [String(BigInt(minimum ?? 0) - 1n), String(BigInt(maximum ?? 0) + 1n)];
      return ['"5"', "1.5", "true", "[]", ...outside].map((json) => [json, json, message]);
    }
    case "boolean":
      return [
        ["a text", '"true"', `must be a boolean${orNull}`],
        ["a number", "1", `must be a boolean${orNull}`],
      ];
    case "string":
      return [
        ["a number", "5", `must be a string${orNull}`],
        ...(maxLength === undefined
          ? []
          : [
              [
                "too long",
                `"${"x".repeat(maxLength + 1)}"`,
                `must be at most ${characters(maxLength)}${orNull}`,
              ] as const,
            ]),
        ...(one.format === "date-time" ? [["no date", `"${noDate}"`, noRealDate] as const] : []),
      ];
    case "array":
      return [["a text", '"x"', `must be an array${orNull}`]];
    case "object":
      return [["a text", '"x"', `must be an object${orNull}`]];
    default:
      return [];
  }
}
