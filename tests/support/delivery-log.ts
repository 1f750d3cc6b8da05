import { beforeEach } from "bun:test";
import { hour } from "../../src/domain/time.ts";
import { afterThisTest } from "./after-tests.ts";
import { loginUrl, redirectUri } from "./oauth.ts";
import { event, publishAll, settled, subscribe } from "./publishing.ts";
import { users } from "./real-data.ts";
import { testReceiver } from "./receiver.ts";
import { Clock, json, type TestApplication, testDirectory, testServer } from "./server.ts";
import { changeStored, forgetBody } from "./store.ts";

export const deliveriesPath = "/public/v1/events/deliveries";

export interface Attempt {
  at: string;
  outcome: string;
  status: number | null;
  error: string | null;
  response: string;
  duration_ms: number;
  timings: Record<string, number | null>;
  /** Only of a single delivery, as the next two. */
  url?: string | null;
  response_headers?: Record<string, string>;
  signature?: string | null;
}
export interface Delivery {
  id: string;
  status: string;
  type: string;
  event_id: string;
  subscription_id: string;
  created_at: string;
  next_attempt_at: string | null;
  attempts: Attempt[];
  /** Only of a single delivery. */
  request?: { method: string; url: string | null; headers: Record<string, string>; body: string | null };
}
export interface List {
  data: Delivery[];
  pagination: { cursor: string; has_more: boolean };
  message: string;
  code?: string;
  errors?: { field: string; message: string }[];
}

/**
 * At the top of a file: a server with an injected clock, a receiver whose answers the test sets, and for each test a
 * new application with two subscriptions.
 *
 * @param answering awaited by the receiver before each answer
 */
export async function deliveryLog(answering: () => Promise<void> | undefined = () => undefined) {
  const clock = new Clock();
  const data = testDirectory();
  const now = {
    /** The receiver's answer. */
    status: 204,
    headers: {} as Record<string, string>,
    app: undefined as unknown as TestApplication,
    /** To `kicks.gifted` and `channel.followed` of broadcaster 1001. */
    subscriptions: [] as string[],
  };
  const receiver = testReceiver(async () => {
    await answering();
    return new Response("what the receiver says", { status: now.status, headers: now.headers });
  });
  const server = await testServer({ clock, data, args: ["--login-url", loginUrl], users });
  beforeEach(async () => {
    now.status = 204;
    now.headers = {};
    now.app = await server.application({ webhook_url: receiver.url, redirect_uris: [redirectUri] });
    afterThisTest(() => server.admin("DELETE", `/admin/v1/applications/${now.app.id}`));
    now.subscriptions = await subscribe(server, now.app, ["kicks.gifted", "channel.followed"]);
    clock.advance(hour);
  });
  const list = async (query = "", token = now.app.token): Promise<List & { status: number }> => {
    const response = await server.get(`${deliveriesPath}${query}`, token);
    return { status: response.status, ...(await json<List>(response)) };
  };
  return Object.assign(now, {
    clock,
    server,
    receiver,
    list,
    /** Publishes events of broadcaster 1001 and waits until each was attempted, successfully or not. */
    async sent(count: number, name = "kicks.gifted", more: object = {}): Promise<void> {
      const events = Array.from({ length: count }, () => event(name, more));
      await publishAll(server, events);
      await settled(server);
    },
    async first(query = ""): Promise<Delivery> {
      const found = (await list(query)).data[0];
      if (!found) throw new Error("there is no delivery");
      return found;
    },
    get: (id: string, token = now.app.token) => server.get(`${deliveriesPath}/${id}`, token),
    retry: (id: string, token = now.app.token) =>
      server.get(`${deliveriesPath}/${id}/retry`, token, { method: "POST" }),
    /** Changes stored data by SQL. */
    change: (sql: string, ...values: (string | number)[]) => changeStored(data, sql, values),
    /** Removes the body of a delivery's event. */
    forgetBody: (id: string) => forgetBody(data, id),
  });
}
