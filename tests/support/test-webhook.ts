import { minute, second } from "../../src/domain/time.ts";
import { users } from "./real-data.ts";
import { type Received, testReceiver } from "./receiver.ts";
import { Clock, json, testServer } from "./server.ts";

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
