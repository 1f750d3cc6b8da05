import { builtInEventTypes } from "../../src/domain/events/built-in.ts";
import { minute, second } from "../../src/domain/time.ts";
import { afterThisTest } from "./after-tests.ts";
import { users } from "./real-data.ts";
import { type Answer, ownReceiver, type Received, testReceiver } from "./receiver.ts";
import {
  Clock,
  json,
  ndjson,
  type ServerClient,
  type TestApplication,
  type TestServer,
  testServer,
} from "./server.ts";
import { until, untilSettled } from "./until.ts";

export const subscriptionsPath = "/public/v1/events/subscriptions";

/** The catalogue's sample payload of an event type. */
export const example = (name: string) => builtInEventTypes.find((type) => type.name === name)?.example;

/** An event of broadcaster 1001 as the platform publishes it. */
export const event = (name: string, more: object = {}) => ({
  name,
  version: 1,
  broadcaster_user_id: 1001,
  data: example(name),
  ...more,
});

/** Subscribes an application to events of a broadcaster. Returns the ids of the subscriptions. */
export async function subscribe(
  server: ServerClient,
  app: Pick<TestApplication, "token">,
  names: string[],
  broadcaster = 1001,
): Promise<string[]> {
  const events = names.map((name) => ({ name, version: 1 }));
  const response = await server.post(
    subscriptionsPath,
    { events, broadcaster_user_id: broadcaster },
    app.token,
  );
  const { data } = await json<{ data: { subscription_id: string }[] }>(response);
  return data.map(({ subscription_id }) => subscription_id);
}

/**
 * Creates an application that subscribes to an event of these broadcasters. Returns the subscriptions' ids in order.
 */
export async function subscriber(
  server: ServerClient,
  {
    event,
    broadcasters,
    ...webhook
  }: {
    webhook_url: string;
    webhook_concurrency?: number;
    event: string;
    broadcasters: readonly number[];
  },
): Promise<TestApplication & { readonly subscriptions: readonly string[] }> {
  const app = await server.application(webhook);
  const subscriptions: string[] = [];
  for (const one of broadcasters) subscriptions.push(...(await subscribe(server, app, [event], one)));
  return { ...app, subscriptions };
}

/** In a test: an application with its own receiver, subscribed to events; removed after the test. */
export async function subscribedReceiver(
  server: TestServer,
  names: string[],
  { broadcaster = 1001, answer }: { broadcaster?: number; answer?: Answer } = {},
) {
  const receiver = ownReceiver(answer);
  const app = await server.application({ webhook_url: receiver.url });
  afterThisTest(() => server.admin("DELETE", `/admin/v1/applications/${app.id}`));
  return { app, receiver, subscriptions: await subscribe(server, app, names, broadcaster) };
}

export async function publish(server: ServerClient, body: object) {
  const response = await server.admin("POST", "/admin/v1/events", body);
  return { status: response.status, body: await json<Record<string, unknown>>(response) };
}

/** Publishes many events in one request. */
export async function publishAll(server: ServerClient, events: readonly object[]): Promise<void> {
  const response = await server.admin("POST", "/admin/v1/events", ndjson(events));
  const report = await json<{ accepted: number }>(response);
  if (report.accepted !== events.length) throw new Error(`refused: ${JSON.stringify(report)}`);
}

/**
 * Triggers all deliveries of an application that are due by the test's clock, which the server's timers do not follow.
 * Any update of an application, even without a change, makes the dispatcher look at its queue.
 */
export async function sendDue(server: TestServer, { id }: Pick<TestApplication, "id">): Promise<void> {
  const answer = await server.admin("PATCH", `/admin/v1/applications/${id}`, {});
  if (answer.status !== 200) throw new Error(await answer.text());
  await settled(server);
}

/** Resolves when all started attempts are recorded and no other is about to start. */
export const settled = (server: TestServer): Promise<void> => untilSettled(() => server.app.engine.stats());

/** Resolves when the engine is idle and the store has nothing pending for this application. */
export async function nothingPending(server: TestServer, { id }: Pick<TestApplication, "id">): Promise<void> {
  const pending = async () =>
    (await server.app.store.deliveries.pending()).some(({ application_id }) => application_id === id);
  await until(async () => {
    await settled(server);
    return !(await pending());
  });
}

export const testWebhookPath = "/public/v1/events/test";

export interface Exchange {
  delivered: boolean;
  problem: string | null;
  outcome: string;
  error: string | null;
  request: { url: string; headers: Record<string, string>; body: string };
  response: { status: number; headers: Record<string, string>; body: string } | null;
  duration_ms: number;
  timings: Record<string, number | null>;
}

/** At the top of a file: a server on a clock, and an application whose receiver answers as the test says. */
export async function testedWebhook() {
  const clock = new Clock(Date.now() - 4 * minute);
  const webhook = {
    answer: (): Response | Promise<Response> => new Response(null, { status: 204 }),
  };
  const receiver = testReceiver(() => webhook.answer());
  const server = await testServer({ clock, users });
  const app = await server.application({ webhook_url: receiver.url });
  return Object.assign(webhook, {
    clock,
    receiver,
    server,
    app,
    /** Sends a test, at a time at which the rate limit allows it. */
    async tested(body: object = {}, token = app.token) {
      clock.advance(6 * second);
      const response = await server.post(testWebhookPath, body, token);
      const { data, ...rest } = await json<{ data: Exchange; code?: string; errors?: { field: string }[] }>(
        response,
      );
      return { status: response.status, data, ...rest };
    },
    /** The latest. */
    received: () => receiver.received.at(-1) as Received,
  });
}

interface Registered {
  readonly code?: string;
  readonly message: string;
  readonly errors?: readonly { in: string; field: string; message: string }[];
  readonly event_type?: Record<string, unknown>;
}

/** Registers a type of events, and gives what the server answers. */
export async function register(server: Pick<TestServer, "admin">, name: string, body: unknown) {
  const answer = await server.admin("PUT", `/admin/v1/event-types/${name}`, body);
  return { status: answer.status, body: await json<Registered>(answer) };
}

/** A type of events with required fields and a list, as it is registered. */
export const raffle = {
  version: 1,
  schema: {
    type: "object",
    properties: {
      winner: { type: "string", minLength: 1 },
      tickets: { type: "integer", minimum: 1 },
      prizes: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } },
    },
    required: ["winner", "tickets"],
    additionalProperties: false,
  },
  example: { winner: "ninja_fox", tickets: 3 },
};
