import { type Static, Type } from "@sinclair/typebox";
import { diagnose } from "../../delivery/diagnosis.ts";
import type { Sample, SampleExchange, UnsignedRequest, WatchSample } from "../../delivery/sample.ts";
import type { PassedStage } from "../../delivery/send/send.ts";
import { invalidField, invalidFields } from "../../domain/errors.ts";
import { checkPayload } from "../../domain/events/catalogue.ts";
import { versionRange } from "../../domain/events/event-type.ts";
import { about, nullable } from "../../domain/validation/fields.ts";
import { type LimitedBy, needsApplication, type RateLimiter, requireWithinLimit } from "../http/access.ts";
import { dataOf, eventStream } from "../http/answers.ts";
import type { Caller } from "../http/context.ts";
import { named, optionalFields, otherFieldsIgnored, WebUrl } from "../http/parameters.ts";
import { frame, replyShortStream } from "../stream/event-stream.ts";
import { exampleSentDelivery, scopeOf, shownTimings, TimingsSchema } from "./deliveries.ts";
import type { PublicDeps, TokenListener } from "./listener.ts";

/** Test requests per minute: with tokens of the application, with those of all its users together, and of each user. */
const testsPerMinute = { application: 10, users: 10, user: 3 };
const defaultEvent = "channel.followed";

const TestBody = Type.Object(
  optionalFields({
    event: Type.String({
      minLength: 1,
      maxLength: 100,
      description: "Event type of the sample.",
      default: defaultEvent,
    }),
    version: Type.Integer({ ...versionRange, description: "Version of the event type.", default: 1 }),
    data: Type.Record(Type.String(), Type.Unknown(), {
      description:
        "Payload to send in place of the example of the event type. Requires a token of the application itself. The sample is then signed only with the application's secret (`v1`), not with the platform's key.",
    }),
  }),
  {
    $id: "TestInput",
    description: "The sample to send.",
    ...otherFieldsIgnored,
    examples: [{ event: "channel.followed" }],
  },
);

const TestSchema = named("TestExchange", "The request and response of a test.", {
  delivered: Type.Boolean({ description: "Whether the receiver accepted the sample." }),
  problem: nullable(Type.String(), {
    description: "Explanation of what the receiver did wrong; null if nothing.",
  }),
  request: named("TestRequest", "The request that was sent.", {
    method: Type.Literal("POST", { description: "The HTTP method." }),
    url: about(
      WebUrl,
      "The webhook URL; with a user token without its path and query, which may contain a secret of the receiver.",
    ),
    headers: Type.Record(Type.String(), Type.String(), {
      description: "Headers, without the signature. Values of the application's own headers are masked.",
    }),
    body: Type.String({ description: "Exact text of the body." }),
  }),
  response: nullable(
    named("TestResponse", "The response of the receiver.", {
      status: Type.Integer({ description: "HTTP status." }),
      headers: Type.Record(Type.String(), Type.String(), {
        description:
          "Headers by lower-case name: the first 40, each value up to 500 characters. Cookies and headers that an egress proxy may have added are omitted. Empty with a user token: a redirect may repeat the webhook URL.",
      }),
      body: Type.String({ description: "First KiB of the body." }),
    }),
    { description: "The response; null if none arrived." },
  ),
  outcome: Type.String({ description: "Result of the test; see `outcome` of an attempt." }),
  error: nullable(Type.String(), { description: "Reason for a failure, in one sentence; null for `ok`." }),
  duration_ms: Type.Integer({ description: "Duration of the test, in milliseconds." }),
  timings: TimingsSchema,
});

const example: Static<typeof TestSchema> = {
  delivered: false,
  problem:
    "It answered 302, a redirect to https://bot.example/login, which is not followed. Set the webhook URL to the receiver's own address.",
  request: {
    method: "POST",
    url: "https://bot.example/webhook",
    headers: {
      ...exampleSentDelivery.request?.headers,
      "webhook-id": `test_${exampleSentDelivery.id}`,
      "onair-test": "true",
    },
    body: exampleSentDelivery.request?.body ?? "",
  },
  response: { status: 302, headers: { location: "/login", "content-length": "0" }, body: "" },
  outcome: "status",
  error: "The answer was 302. Redirects are not followed.",
  duration_ms: 143,
  timings: { dns_ms: 11.2, connect_ms: 24.7, tls_ms: 51.3, first_byte_ms: 55.1 },
};

const Tested = dataOf(TestSchema, {
  name: "TestAnswer",
  description: "The request and the response.",
  example,
});

const StreamedTest = eventStream(
  "The steps of the test as they happen. The stream ends after the event `exchange`.",
  [
    frame("request", example.request),
    frame("stage", { stage: "dns", at_ms: 11.2 }),
    frame("stage", { stage: "connect", at_ms: 35.9 }),
    frame("stage", { stage: "tls", at_ms: 87.2 }),
    frame("stage", { stage: "sent", at_ms: 87.3 }),
    frame("stage", { stage: "first_byte", at_ms: 142.4 }),
    frame("exchange", example),
  ].join(""),
);

/** Test Webhook and Watch Test Webhook: send a sample, and return the exchange at its end or stream its steps. */
export function testRoutes(app: TokenListener, { access, catalogue, engine }: PublicDeps): void {
  /** Checks the input and takes from the limits. Returns a function that runs the test. */
  const prepared = (body: Partial<Static<typeof TestBody>> | null | undefined, caller: Caller) => {
    const { event = defaultEvent, version = 1, data } = body ?? {};
    // The receiver trusts anything signed with the application's secret, so a user must not choose the payload.
    if (data !== undefined) needsApplication("reads subscriptions")(caller);
    const type = catalogue.find(event, version);
    if (!type) {
      const field = catalogue.has(event) ? "version" : "event";
      const message = "is unknown; GET /public/v1/events/types lists the event types";
      throw invalidField("body", field, message);
    }
    const wrong = data === undefined ? [] : checkPayload(type, data);
    if (wrong.length > 0) throw invalidFields(wrong);
    const { application_id, broadcaster_user_id } = scopeOf(caller);
    takeTest(access.limiter, application_id, broadcaster_user_id);
    const sample: Sample = { name: event, version, data: data ?? type.example, isOwn: data !== undefined };
    const seen = <R extends UnsignedRequest>(request: R): R =>
      broadcaster_user_id === null ? request : { ...request, url: new URL("/", request.url).href };
    return async (watch?: WatchSample) => {
      const watched: WatchSample = (step) =>
        watch?.("request" in step ? { request: seen(step.request) } : step);
      const exchange = seen(await engine.test(application_id, sample, watch && watched));
      // A redirect may repeat the webhook URL.
      return broadcaster_user_id === null
        ? exchange
        : { ...exchange, answer: { ...exchange.answer, headers: {} } };
    };
  };
  const limits = `An application may send at most ${testsPerMinute.application} tests per minute. With user tokens, the limit is ${testsPerMinute.user} for each user and ${testsPerMinute.users} for all users of the application.`;
  app.post(
    "/public/v1/events/test",
    async ({ body, caller }) => ({ data: shownExchange(await prepared(body, caller)()), message: "OK" }),
    {
      scope: "events:subscribe",
      body: Type.Optional(TestBody),
      response: { 200: Tested },
      errors: ["conflict"],
      detail: {
        operationId: "testWebhook",
        tags: ["Deliveries"],
        description: `Sends a sample event to the webhook of the calling application and returns the request and the response. The sample is sent over a new connection, is signed like a delivery, and has the header \`Onair-Test: true\`. Its \`webhook-id\` begins with \`test_\`, which is signed, so that no receiver needs to take it for an event. It belongs to no subscription and is not retried. ${limits}`,
      },
    },
  );
  app.post(
    "/public/v1/events/test/stream",
    async ({ body, caller, requestContext }) =>
      replyShortStream(requestContext, await streamed(prepared(body, caller))),
    {
      scope: "events:subscribe",
      body: Type.Optional(TestBody),
      response: { 200: StreamedTest },
      errors: ["conflict"],
      detail: {
        operationId: "streamTestWebhook",
        tags: ["Deliveries"],
        summary: "Watch Test Webhook",
        description: `Sends a sample event like [Test Webhook](#testWebhook), and streams each step as [server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html). The first event, \`request\`, has the request. An event \`stage\` follows for each completed \`stage\` (\`dns\`, \`connect\`, \`tls\`, \`sent\`: the request is written, \`first_byte\`: the status has arrived), with \`at_ms\`, the milliseconds since the start. The last event, \`exchange\`, has the \`data\` of Test Webhook. A test takes at most 15 seconds. Both operations share their limits. ${limits}`,
      },
    },
  );
}

const encoder = new TextEncoder();

const stageNames: Readonly<Record<PassedStage, string>> = {
  dnsMs: "dns",
  connectMs: "connect",
  tlsMs: "tls",
  sent: "sent",
  firstByteMs: "first_byte",
};

/** Returns a test as a stream once its first step has happened. Rejects if the test fails before that. */
function streamed(
  begin: (watch: WatchSample) => Promise<SampleExchange>,
): Promise<ReadableStream<Uint8Array>> {
  return new Promise((resolve, reject) => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    // Rejects when the client has disconnected.
    writer.closed.catch(() => {});
    const send = (event: string, data: object): void => {
      writer.write(encoder.encode(frame(event, data))).catch(() => {});
      resolve(readable);
    };
    const watch: WatchSample = (step) => {
      if ("request" in step) send("request", shownRequest(step.request));
      else send("stage", { stage: stageNames[step.stage], at_ms: step.atMs });
    };
    begin(watch).then(
      (exchange) => {
        send("exchange", shownExchange(exchange));
        writer.close().catch(() => {});
      },
      (error) => {
        reject(error);
        writer.abort(error).catch(() => {});
      },
    );
  });
}

/** Takes a test from the limits of the caller. Throws `rate_limited`. */
function takeTest(limiter: RateLimiter, applicationId: string, userId: number | null): void {
  const own = `tests of ${applicationId}`;
  const shares: LimitedBy[] =
    userId === null
      ? [[own, testsPerMinute.application]]
      : [
          [`${own} by ${userId}`, testsPerMinute.user],
          [`${own} by users`, testsPerMinute.users],
        ];
  requireWithinLimit(limiter.takeEach(shares), "tests");
}

function shownRequest({ url, headers, body }: UnsignedRequest) {
  return { method: "POST" as const, url, headers, body };
}

function shownExchange({ result, answer: { status, ...answered }, ...request }: SampleExchange) {
  const { class: outcome, error, durationMs, timings } = result;
  return {
    delivered: outcome === "ok",
    problem: diagnose({ ...result, url: request.url, location: answered.headers["location"] ?? null }),
    request: shownRequest(request),
    response: status === null ? null : { status, ...answered },
    outcome,
    error,
    duration_ms: durationMs,
    timings: shownTimings(timings),
  };
}
