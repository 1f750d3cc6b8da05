import { ownListener } from "./listener.ts";
import { until } from "./until.ts";

/** A span as a collector receives it, with its attributes as an object. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code: number; readonly message: string };
  readonly attributes: Readonly<Record<string, string | number>>;
}

interface Attribute {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly intValue?: string;
    readonly doubleValue?: number;
  };
}

interface TraceRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<CollectedSpan, "attributes"> & {
        readonly attributes: readonly Attribute[];
      })[];
    }[];
  }[];
}

/** In a test: a trace collector that accepts OTLP over HTTP and is stopped after the test. */
export function ownCollector(answer: () => Response | Promise<Response> = () => Response.json({})) {
  const spans: CollectedSpan[] = [];
  const requests: { readonly path: string; readonly headers: Headers; readonly body: TraceRequest }[] = [];
  const { url } = ownListener(async (request) => {
    const body = (await request.json()) as TraceRequest;
    requests.push({ path: new URL(request.url).pathname, headers: request.headers, body });
    const found = body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((one) => one.spans));
    spans.push(...found.map((span) => ({ ...span, attributes: valuesOf(span.attributes) })));
    return answer();
  });
  return {
    url,
    spans,
    requests,
    /** Resolves to the first span that matches. */
    async span(isIt: (span: CollectedSpan) => boolean): Promise<CollectedSpan> {
      await until(
        () => spans.some(isIt),
        () => `it is not among ${spans.map(({ name }) => name).join(", ")}`,
      );
      const found = spans.find(isIt);
      if (!found) throw new Error("a span has gone");
      return found;
    },
  };
}

export function valuesOf(attributes: readonly Attribute[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? (value.intValue === undefined ? (value.doubleValue ?? 0) : Number(value.intValue)),
    ]),
  );
}
