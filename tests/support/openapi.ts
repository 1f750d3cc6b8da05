import { join } from "node:path";
import { temporaryDirectory } from "./server.ts";

interface MediaType {
  schema: object;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}
export interface ResponseObject {
  $ref?: string;
  description: string;
  headers?: Record<string, { $ref?: string; example?: unknown }>;
  content?: Record<string, MediaType>;
  links?: Record<string, { operationId: string; parameters: Record<string, string> }>;
}
interface ParameterObject {
  $ref?: string;
  name: string;
  in: string;
  description?: string;
}
export interface OperationObject {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters?: ParameterObject[];
  requestBody?: { $ref?: string; required?: boolean; content: Record<string, MediaType> };
  responses: Record<string, ResponseObject>;
}
export interface OpenApiDocument {
  openapi: string;
  info: Record<string, unknown>;
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  webhooks: Record<string, { post: OperationObject }>;
  /** The webhooks in OpenAPI 3.0. */
  "x-webhooks"?: Record<string, { post: OperationObject }>;
  components: {
    schemas: Record<string, object>;
    responses: Record<string, ResponseObject>;
    parameters?: Record<string, ParameterObject>;
    securitySchemes: Record<
      string,
      { flows?: Record<"clientCredentials" | "authorizationCode", { tokenUrl: string; scopes: object }> }
    >;
  };
}

/** The document of a listener. */
export async function documentOf(url: string): Promise<OpenApiDocument> {
  return (await fetch(`${url}/openapi.json`)).json() as Promise<OpenApiDocument>;
}

/** The operations of a document, named like `GET /path`. */
export function operations(document: OpenApiDocument): { name: string; operation: OperationObject }[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
}

/** The operation of this name. */
export function find(document: OpenApiDocument, name: string): OperationObject {
  const found = operations(document).find((one) => one.name === name);
  if (!found) throw new Error(`${name} is not in the document`);
  return found.operation;
}

/** The parameters of an operation, with references resolved. */
export function parameters(document: OpenApiDocument, operation: OperationObject): ParameterObject[] {
  return (operation.parameters ?? []).map((one) => {
    if (!one.$ref) return one;
    const found = document.components.parameters?.[one.$ref.split("/").at(-1) ?? ""];
    if (!found) throw new Error(`${one.$ref} is not in the document`);
    return found;
  });
}

/** An operation's response for this status, with references resolved. */
export function response(
  document: OpenApiDocument,
  operation: OperationObject,
  status: number,
): ResponseObject {
  const found = operation.responses[status];
  if (!found) throw new Error(`${operation.operationId} has no ${status}`);
  return found.$ref ? (document.components.responses[found.$ref.split("/").at(-1) ?? ""] ?? found) : found;
}

/** A path that only redirects. Redocly's rules require a 2xx response of every operation. */
const redirecting = "operation-2xx-response #/paths/~1oauth~1authorize/get/responses";

/** Redocly's complaints about a document under its recommended rules. */
export async function lint(document: OpenApiDocument): Promise<string[]> {
  const directory = temporaryDirectory();
  try {
    const file = join(directory.path, "openapi.json");
    await Bun.write(file, JSON.stringify(document));
    const cli = join(import.meta.dir, "../../node_modules/@redocly/cli/bin/cli.js");
    const run = Bun.spawn(
      [process.execPath, cli, "lint", file, "--extends", "recommended", "--format", "json"],
      {
        cwd: directory.path,
        env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true" },
        stderr: "pipe",
      },
    );
    const [text, complaints] = await Promise.all([run.stdout.text(), run.stderr.text(), run.exited]);
    if (text === "") throw new Error(complaints);
    const { problems } = JSON.parse(text) as {
      problems: { ruleId: string; message: string; location: { pointer: string }[] }[];
    };
    return problems
      .map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer}: ${message}`)
      .filter((problem) => !problem.startsWith(redirecting));
  } finally {
    directory.remove();
  }
}
