import type { Break, Promised } from "./promises.ts";

/*
 * Compares two OpenAPI documents of one API. What a client sends has to be accepted by the later one: its schemas may
 * only widen. What a client gets has to be what the earlier one describes: its schemas may only narrow, but for new
 * fields, and for new values of the open lists of docs/stability.md.
 */

export type Json = Readonly<Record<string, unknown>>;

/** `takes`: the client sends it. `gives`: the client gets it. */
type Side = "takes" | "gives";

/**
 * Lists of values that grow, by the name of the field. Clients have to expect values that they do not know; see
 * docs/stability.md.
 */
export const openLists: readonly string[] = ["code", "error"];

const objectOf = (value: unknown): Json =>
  typeof value === "object" && value !== null ? (value as Json) : {};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const jsonOf = (value: unknown) => JSON.stringify(value);

/** Returns the differences that break a promise. */
export function compareDocuments(earlier: Json, later: Json): Break[] {
  return new Comparison(earlier, later).run();
}

/** Returns the differences between two schemas without a document around them, such as those of an event. */
export function compareSchemas(earlier: Json, later: Json, side: Side, at: string): Break[] {
  const comparison = new Comparison({}, {});
  comparison.schemas(earlier, later, side, at);
  return comparison.breaks;
}

const methods = ["get", "put", "post", "delete", "patch"];

class Comparison {
  breaks: Break[] = [];
  readonly #earlier: Json;
  readonly #later: Json;
  /** The pairs of named schemas that are being compared, because a schema may contain itself. */
  readonly #open = new Set<string>();
  /** The pairs of named schemas that were compared. Their differences are told once. */
  readonly #compared = new Set<string>();
  /** How many forms of unions are being tried. */
  #tries = 0;

  constructor(earlier: Json, later: Json) {
    this.#earlier = earlier;
    this.#later = later;
  }

  run(): Break[] {
    for (const [path, item] of Object.entries(objectOf(this.#earlier["paths"]))) {
      for (const method of methods.filter((one) => one in objectOf(item))) {
        const before = objectOf(objectOf(item)[method]);
        const after = objectOf(objectOf(this.#later["paths"])[path])[method];
        const at = `${method.toUpperCase()} ${path}`;
        if (after === undefined) this.#say("operations", `${at} is removed`);
        else this.#operations(before, objectOf(after), at);
      }
    }
    this.#schemes();
    for (const [name, item] of Object.entries(objectOf(this.#earlier["webhooks"]))) {
      const before = objectOf(objectOf(item)["post"]);
      const after = objectOf(objectOf(this.#later["webhooks"])[name])["post"];
      if (after === undefined) this.#say("events", `the webhook ${name} is removed`);
      else this.#webhooks(before, objectOf(after), `webhook ${name}`);
    }
    return this.breaks;
  }

  /** Compares how tokens and keys are sent, and where tokens are got. Descriptions may change. */
  #schemes(): void {
    const schemesOf = (document: Json) =>
      objectOf(objectOf(document["components"])["securitySchemes"]) as Readonly<Record<string, Json>>;
    for (const [name, { description: _, ...before }] of Object.entries(schemesOf(this.#earlier))) {
      const { description: __, ...after } = schemesOf(this.#later)[name] ?? {};
      const missing = partsMissing(before, after);
      for (const part of missing) this.#say("access", `the security scheme ${name} is without ${part}`);
    }
  }

  #say(promise: Promised, what: string): void {
    this.breaks.push({ promise, what });
  }

  #operations(before: Json, after: Json, at: string): void {
    const id = before["operationId"];
    if (id !== after["operationId"]) this.#say("operations", `${at} is no longer called ${id}`);
    this.#access(before, after, at);
    this.#parameters(before, after, "takes", at);
    this.#requests(before, after, at);
    const [answers, later] = [objectOf(before["responses"]), objectOf(after["responses"])];
    const isSuccess = (status: string) => /^[23]/.test(status);
    for (const [status, answer] of Object.entries(answers)) {
      if (status in later) this.#answers(this.#old(answer), this.#new(later[status]), `${at}: ${status}`);
      else if (isSuccess(status)) this.#say("statuses", `${at} no longer answers ${status}`);
    }
    for (const status of Object.keys(later).filter((one) => isSuccess(one) && !(one in answers)))
      this.#say("statuses", `${at} answers ${status}`);
  }

  /** Who may call an operation: schemes with scopes, of which one suffices, and roles. */
  #access(before: Json, after: Json, at: string): void {
    const ways = listOf(after["security"]).map(objectOf);
    const suffices = (given: Json) =>
      ways.some((way) =>
        Object.entries(way).every(([scheme, scopes]) => {
          const own = given[scheme];
          return own !== undefined && listOf(scopes).every((scope) => listOf(own).includes(scope));
        }),
      );
    for (const given of listOf(before["security"]).map(objectOf))
      if (!suffices(given) && ways.length > 0) this.#say("access", `${at} does not accept ${jsonOf(given)}`);
    if (listOf(before["security"]).length === 0 && ways.length > 0 && !suffices({}))
      this.#say("access", `${at} needs ${jsonOf(ways)}`);
    const roles = after["x-roles"] as readonly string[] | undefined;
    const lost = listOf(before["x-roles"]).filter((role) => roles && !roles.includes(String(role)));
    for (const role of lost) this.#say("access", `${at} does not accept the role ${role}`);
  }

  /** Parameters of an operation (`takes`), or the headers of a webhook (`gives`). */
  #parameters(before: Json, after: Json, side: Side, at: string): void {
    const [earlier, later] = [
      listOf(before["parameters"]).map((one) => this.#old(one)),
      listOf(after["parameters"]).map((one) => this.#new(one)),
    ];
    const keyOf = ({ in: where, name }: Json) => `${where} ${name}`;
    const byKey = new Map(later.map((one) => [keyOf(one), one]));
    for (const one of earlier) {
      const other = byKey.get(keyOf(one));
      const name = `${at}: ${keyOf(one)}`;
      if (!other) {
        this.#say(side === "takes" ? "effect" : "answers", `${name} is removed`);
        continue;
      }
      if (side === "gives" && one["required"] === true && other["required"] !== true)
        this.#say("answers", `${name} may be missing`);
      if (one["allowEmptyValue"] === true && other["allowEmptyValue"] !== true)
        this.#say("accepts", `${name} may no longer be empty`);
      this.schemas(objectOf(one["schema"]), objectOf(other["schema"]), side, name);
    }
    const known = new Map(earlier.map((one) => [keyOf(one), one]));
    for (const one of later)
      if (side === "takes" && one["required"] === true && known.get(keyOf(one))?.["required"] !== true)
        this.#say("accepts", `${at}: ${keyOf(one)} is required`);
  }

  #requests(before: Json, after: Json, at: string): void {
    const [earlier, later] = [before["requestBody"], after["requestBody"]].map((one, i) =>
      one === undefined ? null : i === 0 ? this.#old(one) : this.#new(one),
    );
    if (later?.["required"] === true && earlier?.["required"] !== true)
      this.#say("accepts", `${at}: a body is required`);
    for (const [type, content] of Object.entries(objectOf(earlier?.["content"]))) {
      const other = objectOf(later?.["content"])[type];
      if (other === undefined) this.#say("accepts", `${at} does not accept ${type}`);
      else
        this.schemas(
          objectOf(objectOf(content)["schema"]),
          objectOf(objectOf(other)["schema"]),
          "takes",
          `${at}: body`,
        );
    }
  }

  #answers(before: Json, after: Json, at: string): void {
    for (const [name, header] of Object.entries(objectOf(before["headers"]))) {
      const other = objectOf(after["headers"])[name];
      if (other === undefined) this.#say("answers", `${at}: the header ${name} is removed`);
      else
        this.schemas(
          objectOf(this.#old(header)["schema"]),
          objectOf(this.#new(other)["schema"]),
          "gives",
          `${at}: header ${name}`,
        );
    }
    this.#contents(before, after, at);
  }

  #contents(before: Json, after: Json, at: string): void {
    for (const [type, content] of Object.entries(objectOf(before["content"]))) {
      const other = objectOf(after["content"])[type];
      if (other === undefined) this.#say("statuses", `${at} is no longer ${type}`);
      else
        this.schemas(objectOf(objectOf(content)["schema"]), objectOf(objectOf(other)["schema"]), "gives", at);
    }
  }

  /** A webhook is a request that the client gets. */
  #webhooks(before: Json, after: Json, at: string): void {
    this.#parameters(before, after, "gives", at);
    this.#contents(this.#old(before["requestBody"]), this.#new(after["requestBody"]), at);
  }

  /** Adds the differences between two schemas. */
  schemas(before: Json, after: Json, side: Side, at: string): void {
    const pair = `${side} ${before["$ref"]} ${after["$ref"]}`;
    const isNamed = before["$ref"] !== undefined && after["$ref"] !== undefined;
    if (isNamed && (this.#open.has(pair) || this.#compared.has(pair))) return;
    if (isNamed) this.#open.add(pair);
    const [earlier, later] = [this.#old(before), this.#new(after)];
    if (optionsOf(earlier) || optionsOf(later)) this.#unions(earlier, later, side, at);
    else this.#plain(earlier, later, side, at);
    if (isNamed) this.#open.delete(pair);
    if (isNamed && this.#tries === 0) this.#compared.add(pair);
  }

  /** Each form of the part has to fit a form of the whole. */
  #unions(before: Json, after: Json, side: Side, at: string): void {
    const [earlier, later] = [optionsOf(before) ?? [before], optionsOf(after) ?? [after]];
    const [parts, wholes] = side === "takes" ? [earlier, later] : [later, earlier];
    for (const part of parts) {
      const tried = wholes.map((whole) => {
        const kept = this.breaks;
        this.breaks = [];
        this.#tries++;
        if (side === "takes") this.schemas(part, whole, side, at);
        else this.schemas(whole, part, side, at);
        this.#tries--;
        const found = this.breaks;
        this.breaks = kept;
        return found;
      });
      const [nearest = []] = tried.toSorted((one, other) => one.length - other.length);
      this.breaks.push(...nearest);
    }
    // A form that an answer no longer has removes nothing that a client needs; a whole that lost one is found above.
  }

  /** Compares schemas that are no unions. */
  #plain(before: Json, after: Json, side: Side, at: string): void {
    const [part, whole] = side === "takes" ? [before, after] : [after, before];
    const narrowed: Promised = side === "takes" ? "accepts" : "values";
    const [types, allowed] = [typesOf(part), typesOf(whole)];
    const extra = types?.filter((type) => allowed && !allowed.some((one) => includesType(one, type)));
    if (extra && extra.length > 0) {
      this.#say(narrowed, `${at}: ${side === "takes" ? "not accepted" : "may be"}: ${extra.join(", ")}`);
      return;
    }
    if (types === null && allowed !== null) {
      this.#say(narrowed, `${at}: any type ${arrow(side)} ${allowed}`);
      return;
    }
    this.#values(part, whole, side, at);
    for (const keyword of ["pattern", "format"] as const) {
      const isChanged =
        whole[keyword] !== undefined && valuesOf(part) === null && part[keyword] !== whole[keyword];
      // Clients read a number by its format, so it stays in both directions.
      const isWidened = keyword === "format" && side === "gives" && part[keyword] !== whole[keyword];
      if (isChanged || isWidened)
        this.#say(narrowed, `${at}: ${keyword} ${before[keyword] ?? "none"} → ${after[keyword] ?? "none"}`);
    }
    if (side === "takes" && jsonOf(before["default"]) !== jsonOf(after["default"]))
      this.#say("effect", `${at}: default ${jsonOf(before["default"])} → ${jsonOf(after["default"])}`);
    this.#limits(part, whole, side, at);
    this.#fields(before, after, side, at);
    const [items, laterItems] = [before["items"], after["items"]];
    if (items !== undefined && laterItems !== undefined)
      this.schemas(objectOf(items), objectOf(laterItems), side, `${at}[]`);
    else if ((side === "takes" ? laterItems : items) !== undefined && types?.includes("array"))
      this.#say(narrowed, `${at}: any items ${arrow(side)} some`);
  }

  #values(part: Json, whole: Json, side: Side, at: string): void {
    const [own, all] = [valuesOf(part), valuesOf(whole)];
    if (all === null) return;
    const field =
      at
        .split(/[.\s]+/)
        .at(-1)
        ?.replaceAll("[]", "") ?? "";
    if (side === "gives" && openLists.includes(field)) return;
    const promise = side === "takes" ? "accepts" : "values";
    if (own === null) {
      this.#say(promise, `${at}: any value ${arrow(side)} ${jsonOf(all)}`);
      return;
    }
    const extra = own.filter((value) => !all.includes(value));
    if (extra.length > 0)
      this.#say(promise, `${at}: ${side === "takes" ? "not accepted" : "may be"}: ${extra.join(", ")}`);
  }

  #limits(part: Json, whole: Json, side: Side, at: string): void {
    if (valuesOf(part) !== null) return;
    const promise = side === "takes" ? "accepts" : "values";
    for (const [keyword, isLooser] of limits) {
      const [own, limit] = [part[keyword], whole[keyword]] as (number | boolean | undefined)[];
      if (limit === undefined || limit === false) continue;
      if (own === undefined || isLooser(Number(own), Number(limit)))
        this.#say(
          promise,
          side === "takes" ? `${at}: ${keyword} ${own} → ${limit}` : `${at}: ${keyword} ${limit} → ${own}`,
        );
    }
  }

  #fields(before: Json, after: Json, side: Side, at: string): void {
    const [earlier, later] = [objectOf(before["properties"]), objectOf(after["properties"])];
    for (const [name, schema] of Object.entries(earlier)) {
      const other = later[name];
      const field = at.includes(" › ") ? `${at}.${name}` : `${at} › ${name}`;
      if (other === undefined) this.#say(side === "takes" ? "effect" : "answers", `${field} is removed`);
      else this.schemas(objectOf(schema), objectOf(other), side, field);
    }
    const [required, nowRequired] = [listOf(before["required"]), listOf(after["required"])];
    if (side === "takes")
      for (const name of nowRequired.filter((one) => !required.includes(one)))
        this.#say("accepts", `${at}: ${name} is required`);
    else
      for (const name of required.filter((one) => !nowRequired.includes(one) && String(one) in later))
        this.#say("answers", `${at}: ${name} may be missing`);
    const [rest, laterRest] = [before["additionalProperties"], after["additionalProperties"]];
    if (typeof rest === "object" && typeof laterRest === "object")
      this.schemas(objectOf(rest), objectOf(laterRest), side, `${at}.*`);
    else if (side === "takes" && rest !== false && laterRest === false && isObject(before))
      this.#say("accepts", `${at}: unknown fields are refused`);
    else if (side === "takes" && typeof rest !== "object" && rest !== false && typeof laterRest === "object")
      this.#say("accepts", `${at}: fields of any type → of one type`);
    else if (side === "gives" && typeof rest === "object" && laterRest !== false)
      this.#say("values", `${at}: fields of one type → of any type`);
  }

  #old(part: unknown): Json {
    return resolved(objectOf(part), this.#earlier);
  }

  #new(part: unknown): Json {
    return resolved(objectOf(part), this.#later);
  }
}

const arrow = (side: Side) => (side === "takes" ? "→" : "←");

const isObject = (schema: Json) => typesOf(schema)?.includes("object") ?? "properties" in schema;

const limits: readonly (readonly [keyword: string, isLooser: (own: number, limit: number) => boolean])[] = [
  ["minimum", (own, limit) => own < limit],
  ["exclusiveMinimum", (own, limit) => own < limit],
  ["minLength", (own, limit) => own < limit],
  ["minItems", (own, limit) => own < limit],
  ["minProperties", (own, limit) => own < limit],
  ["maximum", (own, limit) => own > limit],
  ["exclusiveMaximum", (own, limit) => own > limit],
  ["maxLength", (own, limit) => own > limit],
  ["maxItems", (own, limit) => own > limit],
  ["maxProperties", (own, limit) => own > limit],
  ["multipleOf", (own, limit) => own % limit !== 0],
  ["uniqueItems", (own, limit) => own < limit],
];

/** Returns the leaves of a value that another one lacks, like `flows.clientCredentials.tokenUrl: "/x"`. */
function partsMissing(value: unknown, other: unknown, at = ""): string[] {
  if (typeof value !== "object" || value === null) return value === other ? [] : [`${at}: ${jsonOf(value)}`];
  return Object.entries(value).flatMap(([name, inner]) => {
    const place = at === "" ? name : `${at}.${name}`;
    // The descriptions of scopes are texts for people.
    if (/\.scopes\./.test(place)) return name in objectOf(other) ? [] : [place];
    return partsMissing(inner, objectOf(other)[name], place);
  });
}

/** The keywords of schemas that the comparison reads, and those that promise nothing. */
export const comparedKeywords: readonly string[] = [
  ...["$ref", "allOf", "anyOf", "oneOf", "type", "const", "enum", "pattern", "format", "default"],
  ...["properties", "required", "additionalProperties", "items", ...limits.map(([keyword]) => keyword)],
  ...["description", "examples", "example", "title", "deprecated"],
];

/** Returns a part of a document without a reference at its top, and with its `allOf` merged. */
function resolved(part: Json, document: Json): Json {
  const { $ref: reference, allOf, ...rest } = part;
  let whole: Json = rest;
  if (typeof reference === "string") {
    const target = reference
      .slice(2)
      .split("/")
      .reduce<unknown>(
        (value, name) => objectOf(value)[name.replaceAll("~1", "/").replaceAll("~0", "~")],
        document,
      );
    if (target === undefined) throw new Error(`${reference} is nowhere`);
    whole = { ...resolved(objectOf(target), document), ...rest };
  }
  for (const one of listOf(allOf).map((inner) => resolved(objectOf(inner), document)))
    whole = {
      ...whole,
      ...one,
      properties: { ...objectOf(whole["properties"]), ...objectOf(one["properties"]) },
      required: [...listOf(whole["required"]), ...listOf(one["required"])],
    };
  return whole;
}

function optionsOf(schema: Json): readonly Json[] | null {
  const options = schema["anyOf"] ?? schema["oneOf"];
  return options === undefined ? null : listOf(options).map(objectOf);
}

/** The values of a schema that lists them; null for one that does not. */
function valuesOf(schema: Json): readonly unknown[] | null {
  if ("const" in schema) return [schema["const"]];
  return "enum" in schema ? listOf(schema["enum"]) : null;
}

/** The types of a schema; null for any. */
function typesOf(schema: Json): readonly string[] | null {
  const { type } = schema;
  if (type !== undefined) return [type].flat().map(String);
  const values = valuesOf(schema);
  if (values) return [...new Set(values.map(typeOf))];
  return "properties" in schema ? ["object"] : null;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Number.isInteger(value) ? "integer" : typeof value;
}

/** Whether every value of a type is one of another. */
const includesType = (whole: string, part: string) =>
  whole === part || (whole === "number" && part === "integer");
