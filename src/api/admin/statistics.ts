import { type Static, Type } from "@sinclair/typebox";
import {
  allSubjects,
  type PeriodCounts,
  quantile,
  type StatisticPeriod,
  sumOfAll,
} from "../../domain/statistics.ts";
import type { Store } from "../../domain/store.ts";
import { about, nullable } from "../../domain/validation/fields.ts";
import { hasBearer } from "../http/access.ts";
import { answer } from "../http/answers.ts";
import { replyLargeJson } from "../http/content.ts";
import { IsoTimestamp, named } from "../http/parameters.ts";
import {
  DeliveryCounts,
  DeliveryStep,
  defaultRange,
  deliveryStatistics,
  exampleStatistics,
  Outcomes,
  outcomesDescription,
  RangeParameter,
  type StatisticSpan,
  spanFields,
  spanOf,
  steps,
} from "../public/statistics.ts";
import { replyStream } from "../stream/event-stream.ts";
import { ApplicationIdParameter, requireApplication } from "./application-fields.ts";
import { type AdminDeps, type AdminListener, readers } from "./listener.ts";
import type { OperatorSessions } from "./operator-keys.ts";

const counted = {
  requests: Type.Integer({ description: "Number of requests." }),
  client_errors: Type.Integer({ description: "Requests with a 4xx response." }),
  server_errors: Type.Integer({ description: "Requests with a 5xx response." }),
  p50_ms: nullable(Type.Number(), {
    description: "Median time to the response, in milliseconds; null if there were no requests.",
  }),
  p99_ms: nullable(Type.Number(), {
    description: "99th percentile of the same time, in milliseconds; null if there were no requests.",
  }),
};

const RequestStep = named("RequestStep", "Requests within a step of time.", {
  at: about(IsoTimestamp, "Start of the step."),
  ...counted,
});

const OperationCounts = named("OperationCounts", "Requests of one operation.", {
  listener: Type.String({ description: "Listener of the operation: `public` or `admin`." }),
  operation: Type.String({
    description: "The `operationId` in the listener's document; `other` for all other paths.",
  }),
  ...counted,
});

const ApplicationRequests = named("ApplicationRequests", "Requests of one application.", {
  application_id: Type.String({ description: "ID of the application." }),
  name: nullable(Type.String(), { description: "Name of the application; null if it was deleted." }),
  requests: Type.Integer({ description: "Requests with its tokens." }),
  rate_limited: Type.Integer({ description: "Those of them beyond a rate limit (429)." }),
});

const exampleRequests = { requests: 9120, client_errors: 31, server_errors: 0, p50_ms: 0.21, p99_ms: 1.83 };

export const Statistics = answer(
  {
    ...spanFields,
    deliveries: Type.Array(DeliveryStep, { description: "Steps, the oldest first." }),
    totals: DeliveryCounts,
    requests: Type.Array(RequestStep, {
      description: "Requests of both listeners, the oldest step first; empty with `application_id`.",
    }),
    operations: Type.Array(OperationCounts, {
      description: "Operations, those with the most requests first; empty with `application_id`.",
    }),
    applications: Type.Array(ApplicationRequests, {
      description:
        "The 20 applications with the most requests, the most first; empty with `application_id`. Of every ten seconds, each server counts the 20 applications with the most.",
    }),
  },
  {
    name: "Statistics",
    description: "Deliveries and requests over time.",
    example: {
      ...exampleStatistics,
      requests: [{ at: exampleStatistics.from, ...exampleRequests }],
      operations: [{ listener: "public", operation: "getUser", ...exampleRequests }],
      applications: [
        { application_id: "01KATHZX5M9S3E6R8B2D4F7G1H", name: "Clip Bot", requests: 7410, rate_limited: 212 },
      ],
    },
  },
);

/** Get Statistics: deliveries and requests over time. */
export function statisticRoutes(app: AdminListener, { store, now }: AdminDeps): void {
  app.get(
    "/admin/v1/statistics",
    async ({ query: { range = defaultRange, application_id = null }, requestContext }) => {
      const span = spanOf(range, now());
      const [deliveries, requests, applications] = await Promise.all([
        deliveryStatistics(store, span, application_id),
        application_id === null ? requestStatistics(store, span) : { requests: [], operations: [] },
        application_id === null ? applicationRequests(store, span) : [],
      ]);
      if (Object.values(deliveries.totals).every((count) => !count))
        await requireApplication(store, application_id);
      return replyLargeJson(requestContext, { ...span.fields, ...deliveries, ...requests, applications });
    },
    {
      roles: readers,
      query: Type.Object({ range: RangeParameter, application_id: Type.Optional(ApplicationIdParameter) }),
      response: { 200: Statistics },
      detail: {
        operationId: "getStatistics",
        tags: ["Operations"],
        description:
          "Returns the number of deliveries by result, of all applications or of one, and the number and duration of requests, for each minute or hour. The values are about ten seconds behind, and a crash may lose those of the last seconds. Percentiles are as precise as the buckets of a histogram (1, 2, 5, 10, 20, 50 ms …).",
      },
    },
  );
}

async function requestStatistics(store: Pick<Store, "statistics">, span: StatisticSpan) {
  const { period, from, to } = span;
  // A week is read by day: by hour, each request would read the rows of a hundred operations.
  const isLong = span.fields.range === "week";
  const coarse: StatisticPeriod = isLong ? "day" : period;
  const kind = "requests";
  const [all, each] = await Promise.all([
    store.statistics.read({ kind, subject: allSubjects, period, from, to }),
    store.statistics.read({ kind, subject: null, period: coarse, from, to }),
  ]);
  const bySubject = Map.groupBy(each, ({ subject }) => subject);
  // Sorted by name first, because the store returns them in no particular order.
  const operations = [...bySubject.keys()].sort().map((subject) => {
    const [listener = "", operation = ""] = subject.split(" ");
    return { listener, operation, ...shownRequests(sumOfAll(bySubject.get(subject) ?? [])) };
  });
  return {
    requests: steps(span, all, (period, at) => ({ at, ...shownRequests(period) })),
    operations: operations.sort((a, b) => b.requests - a.requests),
  };
}

/** The most applications in an answer. */
const mostApplications = 20;

async function applicationRequests(
  store: Pick<Store, "statistics" | "applications">,
  { period, from, to }: StatisticSpan,
): Promise<Static<typeof ApplicationRequests>[]> {
  const rows = await store.statistics.read({ kind: "applications", subject: null, period, from, to });
  const sums = [...Map.groupBy(rows, ({ subject }) => subject)].map(([id, each]) => {
    const { requests = 0, rate_limited = 0 } = sumOfAll(each).counts;
    return { application_id: id, requests, rate_limited };
  });
  sums.sort((a, b) => b.requests - a.requests || (a.application_id < b.application_id ? -1 : 1));
  return Promise.all(
    sums.slice(0, mostApplications).map(async ({ application_id, ...counts }) => {
      const application = await store.applications.find(application_id);
      return { application_id, name: application?.name ?? null, ...counts };
    }),
  );
}

function shownRequests(period: PeriodCounts): Omit<Static<typeof RequestStep>, "at"> {
  const { requests = 0, client_errors = 0, server_errors = 0 } = period.counts;
  return {
    requests,
    client_errors,
    server_errors,
    p50_ms: quantile(period, 0.5),
    p99_ms: quantile(period, 0.99),
  };
}

/** Watch Deliveries: a stream of the results of deliveries. */
export function outcomeRoute(
  app: AdminListener,
  { outcomes, operatorKeys, sessions }: AdminDeps & { readonly sessions: Pick<OperatorSessions, "keyOf"> },
): void {
  app.get(
    "/admin/v1/outcomes",
    ({ query: { application_id = null }, requestContext }) => {
      const { operatorKey, request } = requestContext;
      const isSession = !hasBearer(request);
      const isAllowed = async () => {
        const key = isSession ? await sessions.keyOf(request) : operatorKeys.byId(operatorKey?.id ?? "");
        return key !== null && readers.includes(key.role);
      };
      return replyStream(requestContext, (cut) =>
        outcomes.open({ applicationId: application_id, topics: "all", isAllowed, cut }),
      );
    },
    {
      roles: readers,
      query: Type.Object({ application_id: Type.Optional(ApplicationIdParameter) }),
      response: { 200: Outcomes },
      detail: {
        operationId: "watchDeliveries",
        tags: ["Operations"],
        description: `Streams the results of the deliveries of all applications, or of one, ${outcomesDescription} An event \`changed\` also names further data: \`audit\`, \`backups\`, \`findings\`, \`keys\`, \`ranking\`, \`settings\`, \`users\` and others.`,
      },
    },
  );
}
