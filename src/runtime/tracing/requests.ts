import type { Log } from "../log.ts";
import type { Collector } from "./collector.ts";
import { PublishTraces } from "./publishing.ts";
import { startTracing } from "./start.ts";
import { type ActiveSpan, readTraceparent, type Tracer } from "./tracer.ts";

/** Starts the tracing of the main thread. */
export function startRequestTracing(settings: Collector, log: Log) {
  const { tracer, ...tracing } = startTracing(settings, log);
  return {
    publishing: new PublishTraces(tracer),
    requestsOf: (isTrusted: boolean) => new RequestTraces(tracer, isTrusted),
    ...tracing,
  };
}

/** A request that was answered. */
interface AnsweredRequest {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly status: number;
  /** The operation id in the OpenAPI document; null if the request matched none. */
  readonly operation: string | null;
  readonly requestId: string;
  readonly applicationId: string | null;
}

/** Paths that only monitor the server, and are not traced. */
const probes = new Set(["/healthz", "/readyz", "/metrics"]);

/** The most characters of a path in a span. */
const maxPathLength = 1_024;

/** The spans of the requests of one listener. */
export class RequestTraces {
  /** @param isTrusted whether callers may decide that their traces are sampled */
  constructor(
    readonly tracer: Tracer,
    readonly isTrusted: boolean,
  ) {}

  /** @param header `traceparent` */
  begin(path: string, header: string | null): ActiveSpan | null {
    if (probes.has(path)) return null;
    return this.tracer.begin(readTraceparent(header), this.isTrusted);
  }

  end(
    span: ActiveSpan,
    { method, url, path, status, operation, requestId, applicationId }: AnsweredRequest,
  ): void {
    this.tracer.end(span, {
      name: operation === null ? method : `${method} ${operation}`,
      kind: "server",
      attributes: {
        "http.request.method": method,
        "url.scheme": url.startsWith("https:") ? "https" : "http",
        "url.path": path.slice(0, maxPathLength),
        "http.response.status_code": status,
        "error.type": status >= 500 ? String(status) : null,
        "onair.operation": operation,
        "onair.request_id": requestId,
        "onair.application_id": applicationId,
      },
      error: status >= 500 ? `The answer was ${status}.` : null,
    });
  }
}
