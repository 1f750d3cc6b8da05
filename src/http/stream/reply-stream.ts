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
 * Answers with server-sent events. The idle timeout is switched off. HEAD gets only the headers.
 * @param open opens the stream; `cut` closes the connection soon, even if the client does not read
 */
export async function replyStream(
  requestContext: RequestContext,
  open: (cut: () => void) => Stream | Promise<Stream>,
): Promise<Response> {
  if (requestContext.method === "HEAD") return reply(requestContext, 200, new ReadableStream(), headers);
  const { listener, request } = requestContext;
  const { server, streams } = listener;
  const stream = await open(() => server?.timeout(request, 1));
  server?.timeout(request, 0);
  if (server) streams.add(request, server);
  return reply(requestContext, 200, stream, headers);
}

/**
 * Like `replyStream`, for a stream that ends by itself within seconds. The idle timeout stays on: otherwise a client
 * that does not read would keep the connection open for ever.
 */
export function replyShortStream(requestContext: RequestContext, stream: Stream): Response {
  return reply(requestContext, 200, stream, headers);
}
