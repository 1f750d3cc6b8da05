import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import fc from "fast-check";
import { documentOf, type OpenApiDocument, operations } from "../openapi.ts";

/** A schema as the documents have them: JSON Schema of 2020-12 with references into the document. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly format?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly allowEmptyValue?: boolean;
  readonly required?: boolean;
  readonly schema: JsonSchema;
  readonly example?: unknown;
}

export interface DocumentedBody {
  readonly type: string;
  readonly schema: JsonSchema;
  readonly example: unknown;
  /** Whether a JSON value is what the document asks for. */
  readonly isValid: (value: unknown) => boolean;
}

interface DocumentedAnswer {
  readonly headers: readonly string[];
  /** Its Cache-Control. */
  readonly caching: string;
  /** What is wrong with a body of a media type; null when nothing is. */
  readonly bodies: ReadonlyMap<string, (value: unknown) => string | null>;
}

/** An operation with all that its document says of it. */
export interface Documented {
  readonly listener: "public" | "admin";
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly needsToken: boolean;
  readonly parameters: readonly Parameter[];
  readonly bodies: readonly DocumentedBody[];
  readonly isBodyRequired: boolean;
  readonly answers: ReadonlyMap<number, DocumentedAnswer>;
  /** The schema that a reference leads to. */
  readonly resolved: (schema: JsonSchema) => JsonSchema;
  /** In the report of a request. */
  readonly [fc.toStringMethod]: () => string;
}

type Content = Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>>;

/** The operations of both documents of a server, which are read at the same time. */
export async function documentedOf(server: { readonly publicUrl: string; readonly adminUrl: string }) {
  const [ofPublic, ofAdmin] = await Promise.all([documentOf(server.publicUrl), documentOf(server.adminUrl)]);
  return [...documented("public", ofPublic), ...documented("admin", ofAdmin)];
}

/** Reads the operations of a document, and compiles its schemas when they are first used. */
function documented(listener: Documented["listener"], document: OpenApiDocument): Documented[] {
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateSchema: false });
  ajv.addFormat("uri", (text) => text === "" || URL.canParse(text));
  ajv.addFormat("date-time", (text) => !Number.isNaN(Date.parse(text)));
  ajv.addFormat("binary", true);
  ajv.addFormat("int64", { type: "number", validate: Number.isSafeInteger });
  ajv.addSchema(document, "document");
  const compiled = (pointer: string): (() => ValidateFunction) => {
    let made: ValidateFunction | undefined;
    return () => (made ??= ajv.compile({ $ref: `document#/${pointer}` }));
  };
  /** The part that a reference leads to, and where it is. */
  const follow = <T>(part: T, at: string): [T, string] => {
    const { $ref } = part as { $ref?: string };
    if ($ref === undefined) return [part, at];
    const pointer = $ref.slice("#/".length);
    const found = pointer.split("/").reduce<unknown>((from, key) => {
      return (from as Record<string, unknown>)[
        decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~")
      ];
    }, document);
    return follow(found as T, pointer);
  };
  const schemaAt = (at: string, type: string) => compiled(`${at}/content/${escaped(type)}/schema`);

  return operations(document).map(({ name, operation }) => {
    const [method = "", path = ""] = name.split(" ");
    const at = `paths/${escaped(path)}/${method.toLowerCase()}`;
    const [request, requestAt] = operation.requestBody
      ? follow(operation.requestBody as { required?: boolean; content: Content }, `${at}/requestBody`)
      : [undefined, ""];
    const bodies = Object.entries(request?.content ?? {}).map(([type, { schema, example }]) => {
      const validate = schemaAt(requestAt, type);
      return { type, schema, example, isValid: (value: unknown) => validate()(value) };
    });
    const answers = Object.entries(operation.responses).map(([status, part]) => {
      const [answer, answerAt] = follow(part, `${at}/responses/${status}`);
      const checks = Object.keys(answer.content ?? {}).map((type) => {
        const validate = schemaAt(answerAt, type);
        const complaint = (value: unknown) =>
          validate()(value) ? null : ajv.errorsText(validate().errors, { dataVar: "body" });
        return [type, complaint] as const;
      });
      const headers = Object.keys(answer.headers ?? {});
      const caching = String(answer.headers?.["Cache-Control"]?.example ?? "no-store");
      return [Number(status), { headers, caching, bodies: new Map(checks) }] as const;
    });
    return {
      listener,
      name,
      method,
      path,
      needsToken:
        operation.security.length > 0 && !operation.security.some((way) => Object.keys(way).length === 0),
      parameters: (operation.parameters ?? []).map((part) => follow(part as unknown as Parameter, "")[0]),
      bodies,
      isBodyRequired: request?.required === true,
      answers: new Map(answers),
      resolved: (schema) => follow(schema, "")[0],
      [fc.toStringMethod]: () => name,
    };
  });
}

const escaped = (key: string) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"));
