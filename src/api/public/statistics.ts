import { type Static, Type } from "@sinclair/typebox";
import { type ApplicationRequests, addedRequests, requestLimits } from "../../domain/requests.ts";
import {
  allSubjects,
  deliveryOutcomes,
  type PeriodCounts,
  quantile,
  type StatisticPeriod,
  type StatisticRow,
  statisticPeriods,
  sumOfAll,
} from "../../domain/statistics.ts";
import type { Store } from "../../domain/store.ts";
import { day, hour, isoTime, second } from "../../domain/time.ts";
import { about, nullable } from "../../domain/validation/fields.ts";
import { dataOf, eventStream } from "../http/answers.ts";
import { replyLargeJson } from "../http/content.ts";
import { ChoiceParameter, IsoTimestamp, named } from "../http/parameters.ts";
import { frame, opening, replyStream } from "../stream/event-stream.ts";
import type { PublicDeps, TokenListener } from "./listener.ts";

/*
 * The application's deliveries over time. The admin API uses the same schemas and counts.
 */

/** The available ranges, with their length and the length of a step. */
const ranges = {
  hour: { ms: hour, period: "minute" },
  day: { ms: day, period: "hour" },
  week: { ms: 7 * day, period: "hour" },
} as const satisfies Record<string, { ms: number; period: StatisticPeriod }>;
type StatisticRange = keyof typeof ranges;

const rangeNames = Object.keys(ranges) as StatisticRange[];
export const defaultRange = "hour";

export const RangeParameter = Type.Optional(
  ChoiceParameter(rangeNames, {
    default: defaultRange,
    description: "`hour`: the last 60 minutes. `day`: the last 24 hours. `week`: the last 168 hours.",
  }),
);

const count = (description: string) => Type.Integer({ description });
const ms = (description: string) =>
  nullable(Type.Number(), { description: `${description} Null if there were none.` });

const outcomes = {
  delivered: count("Deliveries that succeeded."),
  retried: count("Failed attempts that are followed by a retry."),
  failed: count("Deliveries that failed for good."),
  expired: count("Deliveries that expired before they could be sent."),
  canceled: count("Deliveries that were canceled when they were due."),
  streamed: count("Deliveries that were made available on the event stream."),
  filtered: count("Events that made no delivery, because they did not match the application's filter."),
  arrival_p50_ms: ms(
    "Median time from publishing to success, in milliseconds, of deliveries whose first attempt succeeded.",
  ),
  arrival_p99_ms: ms("99th percentile of the same time, in milliseconds."),
};

export const DeliveryCounts = named("DeliveryCounts", "Deliveries by result.", outcomes);

export const DeliveryStep = named("DeliveryStep", "Deliveries by result within a step of time.", {
  at: about(IsoTimestamp, "Start of the step."),
  ...outcomes,
});

export const spanFields = {
  range: Type.String({ description: "Requested range." }),
  from: about(IsoTimestamp, "Start of the first step."),
  to: about(IsoTimestamp, "End of the last step, which is still in progress."),
  step_seconds: Type.Integer({ description: "Length of a step, in seconds." }),
};

/** Returns the times that a range covers: whole steps, the last of which is in progress. */
export function spanOf(range: StatisticRange, now: number) {
  const { ms: length, period } = ranges[range];
  const { ms: step } = statisticPeriods[period];
  const to = Math.floor(now / step) * step + step;
  const from = to - length;
  const fields = { range, from: isoTime(from), to: isoTime(to), step_seconds: step / second };
  return { from, to, step, period, fields };
}
export type StatisticSpan = ReturnType<typeof spanOf>;

/** Returns one item for each step of a span, including steps without any counts. */
export function steps<Shown>(
  span: StatisticSpan,
  rows: readonly StatisticRow[],
  toStep: (period: PeriodCounts, at: string) => Shown,
) {
  const byTime = Map.groupBy(rows, ({ at }) => at);
  const result: Shown[] = [];
  for (let at = span.from; at < span.to; at += span.step) {
    result.push(toStep(sumOfAll(byTime.get(at) ?? []), isoTime(at)));
  }
  return result;
}

/** Returns the deliveries of an application, or of all (null), by result: for each step, and in total. */
export async function deliveryStatistics(
  store: Pick<Store, "statistics">,
  span: StatisticSpan,
  application: string | null,
) {
  const { period, from, to } = span;
  const subject = application ?? allSubjects;
  const rows = await store.statistics.read({ kind: "deliveries", subject, period, from, to });
  return {
    deliveries: steps(span, rows, (period, at) => ({ at, ...shownDeliveries(period) })),
    totals: shownDeliveries(sumOfAll(rows)),
  };
}

function shownDeliveries(period: PeriodCounts): Static<typeof DeliveryCounts> {
  const counted = Object.fromEntries(deliveryOutcomes.map((name) => [name, period.counts[name] ?? 0]));
  const arrival = { arrival_p50_ms: quantile(period, 0.5), arrival_p99_ms: quantile(period, 0.99) };
  // The type of Object.fromEntries does not keep the names.
  return { ...(counted as Record<(typeof deliveryOutcomes)[number], number>), ...arrival };
}

const exampleCounts: Static<typeof DeliveryCounts> = {
  delivered: 411,
  retried: 3,
  failed: 1,
  expired: 0,
  canceled: 0,
  streamed: 0,
  filtered: 3160,
  arrival_p50_ms: 12.4,
  arrival_p99_ms: 87.5,
};

export const exampleStatistics = {
  range: "hour",
  from: "2026-01-14T15:09:00.000Z",
  to: "2026-01-14T16:09:00.000Z",
  step_seconds: 60,
  deliveries: [{ at: "2026-01-14T15:09:00.000Z", ...exampleCounts }],
  totals: exampleCounts,
};

const StatisticsSchema = named(
  "ApplicationStatistics",
  "Deliveries of an application by result, over time.",
  {
    ...spanFields,
    deliveries: Type.Array(DeliveryStep, { description: "Steps, the oldest first." }),
    totals: DeliveryCounts,
  },
);
const Statistics = dataOf(StatisticsSchema, {
  name: "StatisticsAnswer",
  description: "The statistics.",
  example: exampleStatistics,
});

/** Get Statistics: the application's deliveries by result, over time. */
export function statisticRoutes(app: TokenListener, { store, now }: PublicDeps): void {
  app.get(
    "/public/v1/application/statistics",
    async ({ query: { range = defaultRange }, caller: { application }, requestContext }) => {
      const span = spanOf(range, now());
      const counted = await deliveryStatistics(store, span, application.id);
      return replyLargeJson(requestContext, { data: { ...span.fields, ...counted }, message: "OK" });
    },
    {
      application: "reads",
      query: Type.Object({ range: RangeParameter }),
      response: { 200: Statistics },
      detail: {
        operationId: "getOwnStatistics",
        tags: ["Application"],
        summary: "Get Statistics",
        description:
          "Returns the number of the calling application's deliveries by result, for each minute or hour. The counts are about ten seconds behind, and a crash of the server may lose those of its last seconds. Get Deliveries is exact.",
      },
    },
  );
}

const RefusedSchema = named("RefusedRequest", "A request that was refused.", {
  at: about(IsoTimestamp, "Time of the response."),
  operation: nullable(Type.String(), {
    description: "Its `operationId` in this document; null if there is none.",
  }),
  status: Type.Integer({ description: "HTTP status of the response, from 400 to 499." }),
  code: Type.String({
    description: 'Error code of the response, such as `rate_limited`; "" if it had none.',
  }),
  request_id: Type.String({ description: "Id of the request: its `X-Request-Id`." }),
});

const RequestsSchema = named("ApplicationRequests", "What an application asked in the last 24 hours.", {
  total: count("Requests."),
  refused_total: count("Requests that were refused (4xx)."),
  rate_limited: count("Requests beyond the rate limit (429)."),
  operations: Type.Array(
    named("OperationRequests", "Requests by operation and status.", {
      operation: Type.String({ description: "The `operationId` in this document, or `other`." }),
      status: Type.Integer({ description: "HTTP status of the responses." }),
      count: count("Requests."),
    }),
    { description: "The most frequent first." },
  ),
  refused: Type.Array(RefusedSchema, {
    description: `The last ${requestLimits.refused} that were refused, the newest first.`,
  }),
});
const exampleRequests: Static<typeof RequestsSchema> = {
  total: 5_214,
  refused_total: 3,
  rate_limited: 2,
  operations: [
    { operation: "getUser", status: 200, count: 5_211 },
    { operation: "getUser", status: 429, count: 2 },
    { operation: "createSubscriptions", status: 400, count: 1 },
  ],
  refused: [
    {
      at: "2026-01-14T16:08:06.123Z",
      operation: "getUser",
      status: 429,
      code: "rate_limited",
      request_id: "01KEYN2Q9HAVJ4W6C0B9RZ5T1M",
    },
  ],
};
const Requests = dataOf(RequestsSchema, {
  name: "RequestsAnswer",
  description: "The requests.",
  example: exampleRequests,
});

function shownRequests({ hours, refused }: ApplicationRequests): Static<typeof RequestsSchema> {
  const counts = sumOfAll(hours.map(({ counts }) => ({ counts, durations: [] }))).counts;
  const operations = Object.entries(counts).map(([name, count]) => {
    const [operation = "", status] = name.split(" ");
    return { operation, status: Number(status), count };
  });
  const sum = (isIt: (status: number) => boolean) =>
    operations.filter(({ status }) => isIt(status)).reduce((sum, { count }) => sum + count, 0);
  return {
    total: sum(() => true),
    refused_total: sum((status) => status >= 400 && status < 500),
    rate_limited: sum((status) => status === 429),
    operations: operations.sort((a, b) => b.count - a.count),
    refused: refused.map((request) => ({ ...request, at: isoTime(request.at) })).reverse(),
  };
}

/** Get Requests: what the application asked in the last day. */
export function requestRoute(app: TokenListener, { store, requests, now }: PublicDeps): void {
  app.get(
    "/public/v1/application/requests",
    async ({ caller: { application }, requestContext }) => {
      const stored = await store.requests.of(application.id);
      const data = shownRequests(addedRequests(stored, requests.of(application.id), now()));
      return replyLargeJson(requestContext, { data, message: "OK" });
    },
    {
      application: "reads",
      response: { 200: Requests },
      detail: {
        operationId: "getOwnRequests",
        tags: ["Application"],
        summary: "Get Requests",
        description: `Returns the calling application's requests of the last 24 hours, by operation and status, and the last that were refused. Requests of its users are included, those of the portal are not. With several servers, those of the others are up to a minute behind. A crash may lose those of the last minute. While more than ${requestLimits.applications} applications send requests within a minute, those of further ones are not counted.`,
      },
    },
  );
}

const exampleOutcome = {
  delivery_id: "01KEYN2Q9HAVJ4W6C0B9RZ5T1M",
  subscription_id: "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
  application_id: "01KATHZX5M9S3E6R8B2D4F7G1H",
  type: "channel.followed",
  at: "2026-01-14T16:08:06.312Z",
  status: "delivered",
  attempt: 1,
  outcome: "ok",
  http_status: 204,
  duration_ms: 38,
  error: null,
};

export const Outcomes = eventStream(
  "The stream.",
  opening + frame("outcomes", { outcomes: [exampleOutcome], left_out: 0 }),
);

export const outcomesDescription =
  "as [server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html), as they happen. It is meant for live views: it may omit results. `data` of an event `outcomes` has `outcomes`, each with the status of its delivery (`pending`: it will be retried), and `left_out`, the number of omitted results. An event has at most 20 results, and there are at most five events per second. A slow reader misses more. Earlier results are not sent; they are in the list of deliveries. `data` of an event `changed` names the other data that has changed, separated by spaces: `applications` (settings, secrets or the endpoint), `subscriptions`, `notices`, `statistics`, `event-types`, `minute` (a minute of the statistics has ended), and `deliveries` (another server that shares the database has sent some, within the last seconds).";

/** Watch Deliveries: a stream of the results of the application's deliveries. */
export function outcomeRoute(app: TokenListener, { access, outcomes }: PublicDeps): void {
  app.get(
    "/public/v1/application/outcomes",
    ({ caller, requestContext }) => {
      const isAllowed = () => access.authenticator.isInForce(caller);
      const applicationId = caller.application.id;
      return replyStream(requestContext, (cut) =>
        outcomes.open({ applicationId, topics: ["minute", "event-types"], isAllowed, cut }),
      );
    },
    {
      application: "reads",
      response: { 200: Outcomes },
      detail: {
        operationId: "watchOwnDeliveries",
        tags: ["Application"],
        summary: "Watch Deliveries",
        description: `Streams the results of the calling application's deliveries ${outcomesDescription}`,
      },
    },
  );
}
