import { type RequestContext, reply } from "../request-context.ts";

const headers = {
  "content-type": "text/event-stream",
  // nginx must not buffer the stream.
  "x-accel-buffering": "no",
  // A connection that outlived its stream would have no idle timeout.
  connection: "close",
};

type Stream = ReadableStream<Uint8Array>;

/**
 * Answers with server-sent events, which the idle timeout must not close; HEAD gets the headers alone.
 * @param open is given what closes the connection soon, although its peer does not read
 */
export async function replyStream(
  requestContext: RequestContext,
  open: (cut: () => void) => Stream | Promise<Stream>,
): Promise<Response> {
  if (requestContext.method === "HEAD") return reply(requestContext, 200, new ReadableStream(), headers);
  const { listener, request } = requestContext;
  const stream = await open(() => listener.server?.timeout(request, 1));
  listener.server?.timeout(request, 0);
  return reply(requestContext, 200, stream, headers);
}

/**
 * The same with a stream that ends by itself within seconds. The idle timeout stays: a client that does not read would else
 * keep the connection for ever.
 */
export function replyShortStream(requestContext: RequestContext, stream: Stream): Response {
  return reply(requestContext, 200, stream, headers);
}
