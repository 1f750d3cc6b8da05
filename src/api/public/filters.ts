import { type Static, Type } from "@sinclair/typebox";
import type { Application } from "../../domain/applications.ts";
import { invalidField, invalidFields } from "../../domain/errors.ts";
import { filterOf, payloadOf, readFilter, typesOfKey, unknownType } from "../../domain/filters.ts";
import { isoTime } from "../../domain/time.ts";
import { about, nullable } from "../../domain/validation/fields.ts";
import { TimeSlice } from "../../runtime/event-loop.ts";
import { dataOf } from "../http/answers.ts";
import { IsoTimestamp, named, otherFieldsIgnored } from "../http/parameters.ts";
import { FilterCondition } from "./application.ts";
import { exampleDelivery } from "./deliveries.ts";
import type { PublicDeps, TokenListener } from "./listener.ts";

/** The most payloads of one test. */
const mostTested = 20;
/** The most pages of the log that are read for the last deliveries. */
const mostPages = 5;

const Payload = Type.Record(Type.String(), Type.Unknown(), { description: "A payload: `data` of an event." });

/** The fields of a request to test a filter, for the public and the admin API. */
export const filterTestFields = {
  type: Type.String({
    minLength: 1,
    maxLength: 120,
    description:
      "Event type, as in `filters`: `chat.message.sent`, or `chat.message.sent@1` for one version.",
  }),
  filter: Type.Optional(
    about(FilterCondition, "The condition to test; by default the application's own filter for the type."),
  ),
  samples: Type.Optional(
    Type.Array(Payload, {
      minItems: 1,
      maxItems: mostTested,
      description:
        "Payloads to test it with; by default those of the application's last deliveries of the type.",
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: mostTested,
      default: mostTested,
      description: "Maximum number of deliveries to test it with.",
    }),
  ),
};

export const filterTestInput = {
  $id: "FilterTestInput",
  description: "The filter to test, and what to test it with.",
  examples: [{ type: "chat.message.sent", filter: { content: { $startsWith: "!" } } }],
};

const FilterTestBody = Type.Object(filterTestFields, { ...filterTestInput, ...otherFieldsIgnored });

const FilterTestResult = named("FilterTestResult", "A payload, and whether the filter lets it through.", {
  passes: Type.Boolean({ description: "Whether the application would get the event." }),
  delivery_id: nullable(Type.String(), { description: "Id of the delivery; null for a sample." }),
  created_at: nullable(IsoTimestamp, {
    description: "Time at which the event was published; null for a sample.",
  }),
  data: about(Payload, "The payload."),
});

export const FilterTestSchema = named("FilterTest", "The effect that a filter would have.", {
  type: Type.String({ description: "The tested event type." }),
  filter: about(FilterCondition, "The tested condition."),
  tested: Type.Integer({ description: "Number of tested payloads." }),
  passed: Type.Integer({ description: "Number of payloads that the filter lets through." }),
  results: Type.Array(FilterTestResult, {
    description: "The payloads: samples in the given order, deliveries the newest first.",
  }),
});
export const filterTestAnswer = {
  description: "What the filter would let through.",
  example: {
    type: "chat.message.sent",
    filter: { content: { $startsWith: "!" } },
    tested: 1,
    passed: 1,
    results: [
      {
        passes: true,
        delivery_id: exampleDelivery.id,
        created_at: exampleDelivery.created_at,
        data: { content: "!uptime" },
      },
    ],
  },
};
const FilterTest = dataOf(FilterTestSchema, filterTestAnswer);

type Tested = Omit<Static<typeof FilterTestResult>, "passes">;

/** What a filter is tested with: the request, in either API. */
type FilterTestRequest = Static<typeof FilterTestBody>;

/**
 * Makes the function that says what a filter would let through for an application. It throws `invalid_parameter` with
 * the places of all mistakes.
 */
export function filterTester({ store, catalogue }: Pick<PublicDeps, "store" | "catalogue">) {
  /** Returns the payloads of the last deliveries of a type that are still stored, the newest first. */
  const lastDeliveries = async ({ id }: Application, key: string, limit: number): Promise<Tested[]> => {
    const types = typesOfKey(key, catalogue);
    const scope = { application_id: id, broadcaster_user_id: null };
    const any = { subscription_id: null, event_id: null, status: null, after: null, before: null };
    const filter = { ...scope, ...any, type: types[0]?.name ?? key };
    const found: Tested[] = [];
    let below: number | null = null;
    for (let page = 0; page < mostPages && found.length < limit; page++) {
      const { deliveries, next } = await store.deliveries.page(filter, below, limit - found.length);
      for (const { id, version } of deliveries) {
        if (!types.some((type) => type.version === version)) continue;
        const sent = await store.deliveries.find(scope, id);
        if (sent === null || sent.body === null) continue;
        const data = payloadOf(sent.body) as Tested["data"];
        found.push({ delivery_id: id, created_at: isoTime(sent.published_at), data });
      }
      if (next === null) break;
      below = next;
    }
    return found;
  };

  return async (
    application: Application,
    body: FilterTestRequest,
  ): Promise<Static<typeof FilterTestSchema>> => {
    const { type, limit = mostTested, samples } = body;
    const [newest] = typesOfKey(type, catalogue).reverse();
    if (!newest) throw invalidField("body", "type", unknownType);
    const { name, version } = newest;
    const filter = body.filter ?? filterOf(application.filters, name, version)?.condition;
    if (filter === undefined) {
      const message = "is required, because the application has no filter for this type";
      throw invalidField("body", "filter", message);
    }
    const read = readFilter(type, filter, catalogue, "filter");
    if ("problems" in read) throw invalidFields(read.problems);
    const tested: readonly Tested[] =
      samples?.map((data) => ({ delivery_id: null, created_at: null, data })) ??
      (await lastDeliveries(application, type, limit));
    const slice = new TimeSlice();
    const results: Static<typeof FilterTestResult>[] = [];
    for (const payload of tested) {
      results.push({ passes: read.condition.matches(payload.data), ...payload });
      if (slice.isOver) await slice.next();
    }
    const passed = results.filter(({ passes }) => passes).length;
    return { type, filter, tested: results.length, passed, results };
  };
}

/** Test Filter: what a filter would let through. */
export function filterRoutes(app: TokenListener, deps: PublicDeps): void {
  const test = filterTester(deps);
  app.post(
    "/public/v1/application/filters/test",
    async ({ body, caller: { application } }) => ({ data: await test(application, body), message: "OK" }),
    {
      application: "reads subscriptions",
      body: FilterTestBody,
      response: { 200: FilterTest },
      detail: {
        operationId: "testOwnFilter",
        tags: ["Application"],
        summary: "Test Filter",
        description: `Says which of the application's last deliveries of a type, or of the given samples, a filter would let through: at most ${mostTested}. It changes nothing. Without \`filter\` it tests the application's own. Events that the application's present filter keeps away make no deliveries, so only \`samples\` can show that another filter lets them through. A wrong filter is refused with its place, such as \`filter.content.$startWith\`. Requires a token of the application itself with the scope \`events:subscribe\`.`,
      },
    },
  );
}
