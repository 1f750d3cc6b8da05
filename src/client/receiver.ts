import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { type AnyEvent, eventOf, isSample, type PlatformEvent, type ReceivedEvent } from "./events.ts";
import { chunksOf } from "./http.ts";

/** The secret that verifies deliveries, and the handlers of their events. */
export interface ReceiverOptions<Event> {
  /** The application's webhook secret, `whsec_…`. */
  readonly secret: string;
  /**
   * Called once for each delivery. The receiver answers the platform when `onEvent` is done. The platform waits at most
   * 15 seconds: for longer work, return early and continue in the background. After an error of `onEvent`, the platform
   * sends the event again.
   */
  onEvent(event: ReceivedEvent<Event>): unknown;
  /** Called with an error of `onEvent`; by default errors are written to the console. */
  onError?(error: unknown, event: ReceivedEvent<Event>): void;
  /**
   * Whether samples of the platform (`POST /public/v1/events/test`) are passed to `onEvent`, too, with
   * `delivery.isTest`. By default samples are refused, because every user of the application can request one.
   */
  readonly acceptTests?: boolean;
  /** The number of delivery ids to remember, to ignore repetitions; by default 10,000. */
  readonly remember?: number;
}

/** Receives webhooks: a handler for `Request` and `Response`, and one for Express and Node's `http`. */
export interface WebhookReceiver {
  (request: Request): Promise<Response>;
  /** For Express, before any parser of bodies, and for `http.createServer`. */
  readonly node: (request: NodeRequest, response: NodeResponse) => Promise<void>;
}

/** The part of Node's `IncomingMessage` and of an Express request that is used here. */
interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body as parsed by an earlier middleware. */
  readonly body?: unknown;
}

/** The part of Node's `ServerResponse` that is used here. */
interface NodeResponse {
  writeHead(status: number, headers?: Record<string, string>): unknown;
  end(body?: string): unknown;
}

/** The answer to a delivery. */
interface Reply {
  readonly status: number;
  readonly text?: string;
}

/** A delivery as it arrived. */
interface Arrived {
  readonly method: string | undefined;
  header(name: string): string | null | undefined;
  chunks(): AsyncIterable<Uint8Array>;
}

/** The reason for refusing a sample. The platform recognises this answer by `test_`. */
const sampleRefused =
  "The signature is valid, but this is a sample (test_), and this receiver has not set acceptTests";
const maxBodyBytes = 1024 * 1024;
const defaultRemembered = 10_000;

/**
 * Creates a receiver that verifies webhooks (Standard Webhooks) and passes their events to `onEvent`, each delivery
 * once as long as its id is remembered. Answers 204, 401 to an invalid signature, 403 to a sample unless `acceptTests`
 * is set, and 500 when `onEvent` fails. `Own` are event types that the platform registered. Throws a `TypeError` for an
 * invalid secret.
 */
export function receiver<Own extends AnyEvent = never>(
  options: ReceiverOptions<PlatformEvent | NoInfer<Own>>,
): WebhookReceiver {
  const { secret, onEvent, onError = logError, acceptTests = false, remember = defaultRemembered } = options;
  const webhook = verifierOf(secret);
  const handleOnce = remembering(remember);

  const receive = async ({ method, header, chunks }: Arrived): Promise<Reply> => {
    if (method !== "POST") return { status: 405, text: "Webhooks are sent with POST" };
    const body = await textOf(chunks());
    if (body === null) return { status: 413, text: "The body is too large" };
    const refusal = refusalOf(webhook, body, header);
    if (refusal !== null) return { status: 401, text: refusal };
    if (!acceptTests && isSample(header("webhook-id") ?? "")) return { status: 403, text: sampleRefused };
    let event: ReceivedEvent<PlatformEvent | Own>;
    try {
      event = eventOf<PlatformEvent | Own>(body, header);
    } catch {
      return { status: 400, text: "The body is not an event" };
    }
    const isDone = await handleOnce(event.delivery.id, async () => {
      try {
        await onEvent(event);
        return true;
      } catch (error) {
        onError(error, event);
        return false;
      }
    });
    return isDone ? { status: 204 } : { status: 500, text: "The event could not be handled" };
  };

  const web = async (request: Request): Promise<Response> => {
    const { status, text } = await receive({
      method: request.method,
      header: (name) => request.headers.get(name),
      chunks: () => chunksOf(request.body ?? new Blob().stream()),
    });
    return new Response(text ?? null, { status });
  };
  const node = async (request: NodeRequest, response: NodeResponse): Promise<void> => {
    const { status, text } = await receive({
      method: request.method,
      header: (name) => request.headers[name]?.toString(),
      chunks: () => unparsed(request),
    }).catch((error): Reply => {
      // Express 4 ignores rejected promises.
      logError(error);
      return { status: 500, text: "The receiver is not set up correctly; see its log" };
    });
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8" });
    response.end(text);
  };
  return Object.assign(web, { node });
}

function verifierOf(secret: string): Webhook {
  try {
    if (/^whsec_./.test(secret)) return new Webhook(secret);
  } catch {
    // The secret is not base64.
  }
  throw new TypeError("secret must be the webhook secret, whsec_…");
}

/** Returns why a delivery is not genuine; null for a genuine delivery. */
function refusalOf(webhook: Webhook, body: string, header: Arrived["header"]): string | null {
  const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
  const headers = Object.fromEntries(names.map((name) => [name, header(name) ?? ""]));
  try {
    webhook.verify(body, headers, { jsonParse: false });
    return null;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.message;
    throw error;
  }
}

/** Returns a function that does work once for each id. A repetition gets the same result, or does the failed work. */
function remembering(most: number) {
  const done = new Map<string, Promise<boolean>>();
  return async (id: string, work: () => Promise<boolean>): Promise<boolean> => {
    const known = done.get(id);
    if (known) return known;
    const result = work();
    done.set(id, result);
    for (const oldest of done.keys()) {
      if (done.size <= most) break;
      done.delete(oldest);
    }
    const isDone = await result;
    if (!isDone && done.get(id) === result) done.delete(id);
    return isDone;
  };
}

/** Reads the body as text; null when it is longer than any webhook. */
async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string | null> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let bytes = 0;
  let text = "";
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) return null;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Returns the bytes of a Node request, also if a middleware has read them. Throws if a middleware has parsed them. */
function unparsed(request: NodeRequest): AsyncIterable<Uint8Array> {
  const { body } = request;
  if (body === undefined) return request;
  if (body instanceof Uint8Array) return single(body);
  if (typeof body === "string") return single(new TextEncoder().encode(body));
  throw new Error(
    "The body was parsed before it could be verified: mount the receiver before express.json()",
  );
}

async function* single(chunk: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield chunk;
}

function logError(error: unknown): void {
  console.error(error);
}
