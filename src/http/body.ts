import type { Static, TSchema } from "@sinclair/typebox";
import { DomainError, invalidFields } from "../domain/errors.ts";
import { parseJson } from "../domain/json.ts";
import { problems } from "../domain/validation.ts";

/*
 * Reads request bodies. Elysia's own parser runs before any check of the token, has no limit of depth, and tells
 * what the JSON parser said; and its schemas take `"5"` for an integer.
 */

export const publicBodyBytes = 64 * 1024;

/** Reads a JSON body of at most `maxBytes` that fits the schema; throws the error to answer with. */
export async function readJson<T extends TSchema>(
  request: Request,
  schema: T,
  maxBytes: number = publicBodyBytes,
): Promise<Static<T>> {
  requireMediaType(request, "application/json");
  return fitting(schema, parseJson(await readBytes(request, maxBytes)));
}

/** The same for a body that may be left out, with or without a Content-Type: it is then an empty object. */
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

function fitting<T extends TSchema>(schema: T, value: unknown): Static<T> {
  const wrong = problems(schema, value, { in: "body" });
  if (wrong.length > 0) throw invalidFields(wrong);
  return value as Static<T>;
}

/** The media type of a request in lower case and without parameters, "" where there is none. */
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

/** The whole body. Stops reading as soon as it is larger than `maxBytes`. */
export async function readBytes(message: Request | Response, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = () => new DomainError("body_too_large", `The body must be at most ${maxBytes} bytes`);
  const length = message.headers.get("content-length");
  if (Number(length ?? 0) > maxBytes) throw tooLarge();
  // Bun reads no more of a request than its length says, and a stream costs 10 µs more.
  if (length !== null && message instanceof Request) return message.bytes().catch(hungUp);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bodyStream(message)) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}

/** The body as it arrives; one that is missing is empty. */
export async function* bodyStream(message: Request | Response): AsyncGenerator<Uint8Array> {
  if (!message.body) return;
  try {
    yield* message.body;
  } catch (error) {
    if (message instanceof Request) hungUp(error);
    throw error;
  }
}

/** The body of a request is not read further for one reason alone: the client has closed the connection. */
function hungUp(cause: unknown): never {
  throw new ClientClosedRequest("The client closed the connection before its request was complete", {
    cause,
  });
}

/** The connection was closed before all of a request had arrived. */
export class ClientClosedRequest extends Error {
  override name = "ClientClosedRequest";
}
