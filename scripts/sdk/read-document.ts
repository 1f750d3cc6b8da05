/*
 * Reads what the clients for Python and Go need from an OpenAPI document: the types of answers, bodies and events, and
 * the calls. Both clients have the same names.
 */

/** The part of JSON Schema that the documents use. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly minLength?: number;
  readonly description?: string;
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
  readonly required?: boolean;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

/** An OpenAPI document. */
export interface SdkDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** A type of a field. `lenient` times come from the platform, which may write them with an offset. */
export type Type =
  | { readonly kind: "string"; readonly values: readonly string[] }
  | { readonly kind: "integer" | "number" | "boolean" | "any" | "time" | "lenient time" }
  | { readonly kind: "list" | "map"; readonly of: Value }
  | { readonly kind: "named"; readonly name: string };

/** A type, and whether null is a value of it. */
export interface Value {
  readonly type: Type;
  readonly nullable: boolean;
}

export interface Field extends Value {
  readonly name: string;
  readonly doc: string;
  readonly optional: boolean;
  /** Whether 0, "" and false need not be distinguished from a field that is left out. */
  readonly zeroIsAbsent: boolean;
}

/** An object with fields. */
export interface Model {
  readonly name: string;
  readonly doc: string;
  readonly fields: readonly Field[];
  /** Whether it is a part of what a client sends. */
  readonly isInput: boolean;
}

/** A named set of strings. */
export interface Names {
  readonly name: string;
  readonly doc: string;
  readonly values: readonly string[];
}

/** A call of the API. */
export interface Call {
  /** The operation id, like `getUser`. */
  readonly id: string;
  readonly doc: string;
  readonly method: string;
  readonly path: string;
  readonly pathParameters: readonly Field[];
  readonly query: readonly Field[];
  readonly body: { readonly model: string; readonly optional: boolean } | null;
  /** The model of the answer; null for an answer without a body. */
  readonly answer: string | null;
  /** For a list with pages: its name like `Categories`, and the field of the answer with the items. */
  readonly pages: { readonly name: string; readonly field: string; readonly item: string } | null;
}

/** An event, or a notice of the event stream. */
export interface EventModel {
  /** Like `channel.followed`. */
  readonly type: string;
  /** The model of its payload. */
  readonly data: string;
  readonly doc: string;
  /** Whether it is a notice about the endpoint, which only the stream has. */
  readonly isNotice: boolean;
}

/** What a client has. */
export interface Sdk {
  readonly models: readonly Model[];
  readonly names: readonly Names[];
  readonly calls: readonly Call[];
  readonly events: readonly EventModel[];
}

/** `channel.followed` and `channel_followed` in Pascal case: `ChannelFollowed`. */
export const pascal = (text: string) =>
  text.replace(/(?:^|[._-])([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** Reads an OpenAPI document. Throws for a schema that it does not know. */
export function readDocument(document: SdkDocument): Sdk {
  const { schemas } = document.components;
  const models = new Map<string, Model>();
  const names = new Map<string, Names>();
  /** Models without a name in the document, by their content, because the document repeats them. */
  const inline = new Map<string, string>();
  const inputs = new Set<string>();
  const begun = new Set<string>();

  const component = (name: string): void => {
    if (begun.has(name)) return;
    begun.add(name);
    const schema = schemas[name];
    if (schema === undefined) throw new Error(`There is no schema ${name}`);
    if (models.has(name)) throw new Error(`Two models would have the name ${name}`);
    const doc = schema.description ?? "";
    if (schema.enum) names.set(name, { name, doc, values: schema.enum.map(String) });
    else models.set(name, { name, doc, fields: fieldsOf(schema, name), isInput: false });
  };

  const fieldsOf = (schema: Schema, owner: string): Field[] => {
    if (schema.$ref !== undefined) return fieldsOf(schemas[nameOf(schema.$ref)] ?? {}, owner);
    if (schema.anyOf) return merged(schema.anyOf.map((one) => fieldsOf(one, owner)));
    const required = new Set(schema.required);
    return Object.entries(schema.properties ?? {}).map(([name, property]) =>
      fieldOf(name, property, !required.has(name), owner),
    );
  };

  const fieldOf = (name: string, schema: Schema, optional: boolean, owner: string): Field => ({
    name,
    ...read(schema, `${owner}${pascal(name)}`),
    doc: schema.description ?? "",
    optional,
    zeroIsAbsent:
      schema.type === "boolean" ||
      (schema.minimum ?? 0) >= 1 ||
      (schema.minLength ?? 0) >= 1 ||
      schema.format === "date-time" ||
      schema.enum !== undefined ||
      schema.const !== undefined ||
      schema.$ref !== undefined,
  });

  const read = (schema: Schema, name: string): Value => {
    if (schema.$ref !== undefined) {
      component(nameOf(schema.$ref));
      return { type: { kind: "named", name: nameOf(schema.$ref) }, nullable: false };
    }
    if (schema.anyOf) {
      const others = schema.anyOf.filter((one) => !isNull(one));
      const nullable = others.length < schema.anyOf.length;
      const [only, ...rest] = others;
      if (only === undefined) return { type: { kind: "any" }, nullable: true };
      if (rest.length === 0) return { ...read(only, name), nullable };
      if (others.some((one) => one.$ref === undefined && !one.properties))
        return { type: { kind: "any" }, nullable };
      return { type: declared(merged(others.map((one) => fieldsOf(one, name))), name, schema), nullable };
    }
    const kinds = [schema.type ?? []].flat();
    const nullable = isNull(schema) || kinds.includes("null");
    const [kind] = kinds.filter((one) => one !== "null");
    return { type: typeOf(kind, schema, name), nullable };
  };

  const typeOf = (kind: string | undefined, schema: Schema, name: string): Type => {
    switch (kind) {
      case undefined:
        return { kind: "any" };
      case "integer":
      case "number":
      case "boolean":
        return { kind };
      case "string": {
        if (schema.format === "date-time") return { kind: schema.pattern ? "lenient time" : "time" };
        if (schema.const !== undefined) return { kind, values: [String(schema.const)] };
        return { kind, values: (schema.enum ?? []).map(String) };
      }
      case "array":
        return { kind: "list", of: read(schema.items ?? {}, name.replace(/s$/, "")) };
      case "object": {
        if (schema.properties) return declared(fieldsOf(schema, name), name, schema);
        const [values] = Object.values(schema.patternProperties ?? {});
        return { kind: "map", of: read(values ?? {}, name) };
      }
      default:
        throw new Error(`${name} has the unknown type ${kind}`);
    }
  };

  /** Gives a model without a name in the document the name that its fields suggest, or that of its place. */
  const declared = (fields: readonly Field[], place: string, { description }: Schema): Type => {
    const content = JSON.stringify(fields.map(({ doc: _, ...field }) => field));
    let name = inline.get(content);
    if (name === undefined) {
      const wanted = suggestedName(fields);
      name = wanted !== null && !models.has(wanted) ? wanted : place;
      if (models.has(name)) throw new Error(`Two models would have the name ${name}`);
      inline.set(content, name);
      models.set(name, {
        name,
        doc: docs[name] ?? description ?? "",
        fields,
        isInput: false,
      });
    }
    return { kind: "named", name };
  };

  const markInputs = (name: string): void => {
    if (inputs.has(name)) return;
    inputs.add(name);
    for (const { type } of models.get(name)?.fields ?? []) {
      const inner = type.kind === "list" || type.kind === "map" ? type.of.type : type;
      if (inner.kind === "named") markInputs(inner.name);
    }
  };

  /** The name of the model with this schema, which may be without a name in the document. */
  const modelOf = (schema: Schema, name: string): string => {
    const { type } = read(schema, name);
    if (type.kind !== "named") throw new Error(`${name} is not an object`);
    return type.name;
  };

  const calls: Call[] = [];
  for (const [path, methods] of Object.entries(document.paths)) {
    if (!path.startsWith("/public/v1/") && path !== "/oauth/userinfo") continue;
    for (const [method, operation] of Object.entries(methods)) {
      const { operationId, summary, description = "", parameters = [], requestBody, responses } = operation;
      const found = Object.entries(responses).find(([status]) => status.startsWith("2"))?.[1] ?? {};
      const { "application/json": json, ...others } = found.content ?? {};
      // Event streams are read by hand-written code.
      if (json === undefined && Object.keys(others).length > 0) continue;
      const answer = json === undefined ? null : modelOf(json.schema, `${pascal(operationId)}Answer`);
      const input = requestBody?.content?.["application/json"]?.schema;
      const body = input && modelOf(input, `${pascal(operationId)}Input`);
      if (body !== undefined) markInputs(body);
      const own = parameters.filter(({ $ref }) => $ref === undefined);
      const placed = (where: string) =>
        own
          .filter((parameter) => parameter.in === where)
          .map(({ name, required = false, schema, description: doc = "" }) => ({
            ...fieldOf(name, schema, !required, pascal(operationId)),
            doc,
          }));
      calls.push({
        id: operationId,
        doc: description === "" ? `${summary}.` : description,
        method: method.toUpperCase(),
        path,
        pathParameters: placed("path"),
        query: placed("query"),
        body: body === undefined ? null : { model: body, optional: !requestBody?.required },
        answer,
        pages: answer === null ? null : pagesOf(operationId, models.get(answer)),
      });
    }
  }

  const events = Object.entries(document.webhooks).map(([type, { post }]): EventModel => {
    const { data = {} } = post.requestBody?.content?.["application/json"]?.schema.properties ?? {};
    return {
      type,
      data: modelOf(data, pascal(type)),
      doc: post.description ?? "",
      isNotice: type.startsWith("endpoint."),
    };
  });
  const byName = (one: { name: string }, other: { name: string }) => (one.name < other.name ? -1 : 1);
  return {
    models: [...models.values()].map((model) => ({ ...model, isInput: inputs.has(model.name) })).sort(byName),
    names: [...names.values()].sort(byName),
    calls,
    events,
  };
}

const nameOf = (ref: string) => ref.slice(ref.lastIndexOf("/") + 1);

const isNull = ({ type, const: only }: Schema) => type === "null" || only === null;

/** The fields of any of several objects. */
function merged(alternatives: readonly (readonly Field[])[]): Field[] {
  const all = new Map<string, Field>();
  for (const field of alternatives.flat()) {
    const known = all.get(field.name);
    const isKnown = known !== undefined && known.type.kind !== "any";
    // Sentences such as "Always false" contradict each other.
    const isEither = known?.type.kind === "boolean" && known.doc !== field.doc;
    all.set(field.name, {
      ...(isKnown ? known : field),
      ...(isEither && { doc: "" }),
      nullable: field.nullable || (known?.nullable ?? false),
      optional: field.optional || (known?.optional ?? false),
    });
  }
  return [...all.values()].map((field) => ({
    ...field,
    optional:
      field.optional || alternatives.some((fields) => !fields.some(({ name }) => name === field.name)),
  }));
}

const docs: Readonly<Record<string, string>> = {
  Person: "A person in an event.",
  NamedPerson: "A person in an event without anonymous people. The platform may leave out optional fields.",
  PersonOrAnonymous: "A person in an event. Of an anonymous person everything but `is_anonymous` is null.",
  Identity: "How a person appears in the chat of a channel.",
  Badge: "A badge before a name in the chat.",
};

/** The name of a model that events have in several places; null for any other. */
function suggestedName(fields: readonly Field[]): string | null {
  const field = (name: string) => fields.find((one) => one.name === name);
  if (field("badges") && field("username_color")) return "Identity";
  if (field("text") && field("type") && fields.length <= 3) return "Badge";
  const username = field("username");
  if (!username || !field("channel_slug") || !field("user_id")) return null;
  if (username.nullable) return "PersonOrAnonymous";
  return field("is_anonymous")?.optional ? "NamedPerson" : "Person";
}

function pagesOf(operationId: string, answer: Model | undefined): Call["pages"] {
  if (!answer?.fields.some(({ name }) => name === "pagination")) return null;
  for (const { name, type } of answer.fields) {
    if (type.kind === "list" && type.of.type.kind === "named")
      return {
        name: pascal(operationId.replace(/^(get|list)/, "")),
        field: name,
        item: type.of.type.name,
      };
  }
  return null;
}
