import type { Static, TSchema } from "@sinclair/typebox";
import { DomainError, invalidFields } from "../../domain/errors.ts";
import { timesInUtc } from "../../domain/validation/fields.ts";
import { parseJson } from "../../domain/validation/json.ts";
import { problems } from "../../domain/validation/problems.ts";
import type { RequestContext } from "./context.ts";

/*
 * Reads request bodies in place of Elysia's parser, which runs before the token is checked, has no limit of depth, and
 * repeats the JSON parser's message; its schemas accept `"5"` for an integer.
 */

export const publicBodyBytes = 64 * 1024;

/** Reads a JSON body of at most `maxBytes` that matches the schema. Throws a `DomainError`. */
export async function readJson<T extends TSchema>(
  request: Request,
  schema: T,
  maxBytes: number = publicBodyBytes,
): Promise<Static<T>> {
  requireMediaType(request, "application/json");
  return fitting(schema, parseJson(await readBytes(request, maxBytes)));
}

/** Reads an optional JSON body, with or without a Content-Type; a missing body is an empty object. */
export async function readOptionalJson<T extends TSchema>(
  request: Request,
  schema: T,
  maxBytes: number = publicBodyBytes,
): Promise<Static<T>> {
  const bytes = await readBytes(request, maxBytes);
  if (bytes.byteLength === 0) return fitting(schema, {});
  requireMediaType(request, "application/json");
  return fitting(schema, parseJson(bytes));
}

/** Returns the value with its times in UTC. Throws `invalid_parameter`. */
function fitting<T extends TSchema>(schema: T, value: unknown): Static<T> {
  const wrong = problems(schema, value, { in: "body" });
  if (wrong.length > 0) throw invalidFields(wrong);
  return timesInUtc(schema, value as Static<T>);
}

/** The media type of a request in lower case, without parameters; "" when absent. */
export function mediaType(request: Request): string {
  const header = request.headers.get("content-type") ?? "";
  return (header.split(";")[0] ?? "").trim().toLowerCase();
}

export function requireMediaType(request: Request, ...accepted: readonly string[]): void {
  if (accepted.includes(mediaType(request))) return;
  throw new DomainError(
    "unsupported_media_type",
    `The body must be sent with Content-Type: ${accepted.join(" or ")}`,
  );
}

/** Refuses compressed bodies with a clear error; otherwise their JSON, or each of their lines, would be invalid. */
function requireUncompressed({ headers }: Request): void {
  if (/^(identity)?$/i.test(headers.get("content-encoding") ?? "")) return;
  throw new DomainError("unsupported_media_type", "The body must be sent without Content-Encoding");
}

/** Reads the whole body. Throws as soon as it exceeds `maxBytes`. @param limit the message of that error */
export async function readBytes(
  message: Request | Response,
  maxBytes: number,
  limit = `The body must be at most ${maxBytes} bytes`,
): Promise<Uint8Array> {
  if (message instanceof Request) requireUncompressed(message);
  const tooLarge = () => new DomainError("body_too_large", limit);
  const length = message.headers.get("content-length");
  if (Number(length ?? 0) > maxBytes) throw tooLarge();
  // Bun reads at most Content-Length bytes, and `bytes()` is cheaper than a stream.
  if (length !== null && message instanceof Request) return message.bytes().catch(throwClientClosed);
  // A list of chunks would take a hundred times as much memory if each has one byte.
  const read = new Bun.ArrayBufferSink();
  read.start({ asUint8Array: true });
  let size = 0;
  for await (const chunk of bodyStream(message)) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge();
    read.write(chunk);
  }
  return read.end() as Uint8Array;
}

/** Returns the body as a stream, which is empty if there is none. */
async function* bodyStream(message: Request | Response): AsyncGenerator<Uint8Array> {
  if (!message.body) return;
  try {
    yield* message.body;
  } catch (error) {
    if (message instanceof Request) throwClientClosed(error);
    throw error;
  }
}

/**
 * Returns the body of a request that takes effect while it is received. The client controls how long that takes, so the
 * key is checked again for each chunk.
 *
 * @param isAtomic whether nothing takes effect unless the body is complete
 */
export async function* longBodyStream(
  { request, longBody }: Pick<RequestContext, "request" | "longBody">,
  isAtomic: boolean,
): AsyncGenerator<Uint8Array> {
  requireUncompressed(request);
  let isOpen = false;
  try {
    for await (const chunk of bodyStream(request)) {
      await longBody?.requireAllowed();
      isOpen = true;
      yield chunk;
    }
    isOpen = false;
  } finally {
    if (isOpen && !isAtomic) await longBody?.noteBrokenOff();
  }
}

/** Reading a request body fails for one reason only: the client closed the connection. */
function throwClientClosed(cause: unknown): never {
  throw new ClientClosedRequest("The client closed the connection before its request was complete", {
    cause,
  });
}

/** The client closed the connection before its request was complete. */
export class ClientClosedRequest extends Error {
  override name = "ClientClosedRequest";
}
