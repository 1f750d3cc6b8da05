import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { openStream, streamPath } from "../support/event-stream.ts";
import { redirectUri, signInServer } from "../support/oauth.ts";
import { event, publish, subscribe, subscriptionsPath } from "../support/publishing.ts";
import { ownReceiver } from "../support/receiver.ts";
import { Clock, json, startServer, type TestApplication, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * Whatever changes an application takes effect on everything that was made of it before: callers that were remembered,
 * open event streams, deliveries. Each change is one row of the table, each thing that was made one column.
 */

const followed = "channel.followed";

const { server, userTokens } = await signInServer({ engineThread: true });

/** An application with everything that is made of one, all of it in use. */
async function inUse() {
  const [receiver, other] = [ownReceiver(), ownReceiver()];
  const app = await server.application({
    delivery: "both",
    webhook_url: receiver.url,
    redirect_uris: [redirectUri],
  });
  const { access_token: userToken } = await userTokens(app);
  await subscribe(server, app, [followed]);
  const streams = [
    await openStream(server, app.token, [followed]),
    await openStream(server, userToken, [followed]),
  ];
  expect((await publish(server, event(followed))).status).toBe(202);
  await receiver.arrived(1);
  for (const stream of streams) await stream.arrived(1);
  for (const token of [app.token, userToken]) expect(await statusOf(token)).toBe(200);
  return { app, userToken, receiver, other, streams };
}

type InUse = Awaited<ReturnType<typeof inUse>>;

const statusOf = async (token: string) => (await server.get(subscriptionsPath, token)).status;

/** Of a request for a stream; one that is let in is closed again. */
async function streamStatus(token: string): Promise<number> {
  const { status, body } = await server.get(streamPath, token);
  await body?.cancel();
  return status;
}

/** By which of two secrets a delivery is signed. */
function signers(sent: { headers: Record<string, string>; body: string }, secrets: Record<string, string>) {
  return Object.entries(secrets)
    .filter(([, secret]) => {
      try {
        new Webhook(secret).verify(sent.body, sent.headers);
        return true;
      } catch {
        return false;
      }
    })
    .map(([name]) => name);
}

interface Change {
  readonly what: string;
  /** Makes the change; gives the webhook secret where there is a new one. */
  make(used: InUse): Promise<string | undefined>;
  /** Status of a caller that was remembered, and of a request for a new stream. */
  readonly caller: number;
  readonly stream: number;
  /** Who gets what is published next: webhook, other webhook, open streams. */
  readonly gets: readonly ("webhook" | "other webhook" | "streams")[];
  /** Secrets that sign it. */
  readonly signedBy?: readonly ("old" | "new")[];
}

const patch = (app: TestApplication, changes: object) => async () => {
  const response = await server.admin("PATCH", `/admin/v1/applications/${app.id}`, changes);
  expect(response.status).toBe(200);
  return undefined;
};
const rotate = async (app: TestApplication, overlap_seconds: number) => {
  const path = `/admin/v1/applications/${app.id}/webhook-secret`;
  const response = await server.admin("POST", path, { overlap_seconds });
  return (await json<{ webhook_secret: string }>(response)).webhook_secret;
};

const changes: Change[] = [
  {
    what: "a new webhook secret",
    make: ({ app }) => rotate(app, 0),
    caller: 200,
    stream: 200,
    gets: ["webhook", "streams"],
    signedBy: ["new"],
  },
  {
    what: "a new webhook secret with an overlap",
    make: ({ app }) => rotate(app, 3600),
    caller: 200,
    stream: 200,
    gets: ["webhook", "streams"],
    signedBy: ["old", "new"],
  },
  {
    what: "a scope that was taken away",
    make: ({ app }) => patch(app, { scopes: ["users:read"] })(),
    caller: 403,
    stream: 403,
    gets: ["webhook"],
  },
  {
    what: "disabled",
    make: ({ app }) => patch(app, { disabled: true })(),
    caller: 401,
    stream: 401,
    gets: [],
  },
  {
    what: "delivery by webhook only",
    make: ({ app }) => patch(app, { delivery: "webhook" })(),
    caller: 200,
    stream: 403,
    gets: ["webhook"],
  },
  {
    what: "delivery by stream only",
    make: ({ app }) => patch(app, { delivery: "stream" })(),
    caller: 200,
    stream: 200,
    gets: ["streams"],
  },
  {
    what: "another webhook URL",
    make: ({ app, other }) => patch(app, { webhook_url: other.url })(),
    caller: 200,
    stream: 200,
    gets: ["other webhook", "streams"],
  },
  {
    what: "deleted",
    async make({ app }) {
      expect((await server.admin("DELETE", `/admin/v1/applications/${app.id}`)).status).toBe(204);
      return undefined;
    },
    caller: 401,
    stream: 401,
    gets: [],
  },
  {
    what: "its tokens revoked",
    async make({ app }) {
      const path = `/admin/v1/applications/${app.id}/tokens`;
      expect((await server.admin("DELETE", path)).status).toBe(200);
      return undefined;
    },
    caller: 401,
    stream: 401,
    gets: ["webhook"],
  },
];

describe("tokens, streams and deliveries of before follow a change of their application", () => {
  test.each(changes.map((change) => [change.what, change] as const))("%s", async (_, change) => {
    const used = await inUse();
    const { app, userToken, receiver, other, streams } = used;
    const secret = await change.make(used);
    // Remembered callers, at once.
    for (const token of [app.token, userToken]) expect(await statusOf(token)).toBe(change.caller);
    expect((await publish(server, event(followed))).status).toBe(202);
    const gets = (who: Change["gets"][number]) => change.gets.includes(who);
    // What arrives, and by whom it is signed.
    const secrets: Record<string, string> = secret
      ? { old: app.webhook_secret, new: secret }
      : { old: app.webhook_secret };
    const check = (sent: { headers: Record<string, string>; body: string } | undefined) => {
      if (!sent) throw new Error("nothing was sent");
      expect(signers(sent, secrets)).toEqual([...(change.signedBy ?? (["old"] as const))]);
    };
    if (gets("webhook")) check((await receiver.arrived(2))[1]);
    if (gets("other webhook")) check((await other.arrived(1))[0]);
    for (const stream of streams) {
      if (gets("streams")) check((await stream.arrived(2))[1]?.data);
      // An EventSource comes back and is then refused.
      else await stream.until(({ errors }) => errors.includes(change.stream));
    }
    for (const token of [app.token, userToken]) expect(await streamStatus(token)).toBe(change.stream);
    // And nothing beyond.
    expect(receiver.received.length).toBe(gets("webhook") ? 2 : 1);
    expect(other.received.length).toBe(gets("other webhook") ? 1 : 0);
    for (const stream of streams) {
      expect(stream.events.length).toBe(gets("streams") ? 2 : 1);
      stream.close();
    }
  });
});

describe("a changed rate limit holds from the next request on", () => {
  let limited: TestServer;
  const clock = new Clock();
  beforeAll(async () => {
    limited = await startServer({ clock, args: ["--rate-limit", "8"] });
  });
  afterAll(() => limited.stop());

  const ask = async (token: string) => {
    const { status, headers } = await limited.get(subscriptionsPath, token);
    return [status, headers.get("ratelimit-limit"), headers.get("ratelimit-remaining")];
  };
  const cases: [string, number | null, (string | number | null)[]][] = [
    ["raised: what was taken stays taken, the rest is there at once", 10, [200, "10", "5"]],
    ["lowered below what was taken", 2, [429, "2", "0"]],
    ["the server's own", null, [200, "8", "3"]],
    ["none at all", 0, [200, null, null]],
  ];
  test.each(cases)("%s", async (_, rate_limit, expected) => {
    const app = await limited.application({ rate_limit: 4 });
    for (let i = 0; i < 4; i++) await ask(app.token);
    expect(await ask(app.token)).toEqual([429, "4", "0"]);
    const path = `/admin/v1/applications/${app.id}`;
    expect((await limited.admin("PATCH", path, { rate_limit })).status).toBe(200);
    expect(await ask(app.token)).toEqual(expected);
  });

  test("a lower limit is full again after a minute, whatever was taken of the higher one", async () => {
    const app = await limited.application({ rate_limit: 100 });
    for (let i = 0; i < 50; i++) await ask(app.token);
    await limited.admin("PATCH", `/admin/v1/applications/${app.id}`, { rate_limit: 6 });
    expect(await ask(app.token)).toEqual([429, "6", "0"]);
    clock.advance(10_000);
    expect(await ask(app.token)).toEqual([200, "6", "0"]);
    clock.advance(60_000);
    expect(await ask(app.token)).toEqual([200, "6", "5"]);
  });
});

test("a stream's frames that are read while the secret is rotated are signed with the new one", async () => {
  const app = await server.application({ delivery: "stream" });
  await subscribe(server, app, [followed]);
  const stream = await openStream(server, app.token, [followed]);
  const { deliveries } = server.app.store;
  const { streamed } = deliveries;
  const rotated = Promise.withResolvers<string>();
  let reads = 0;
  Object.assign(deliveries, {
    async streamed(...args: Parameters<typeof streamed>) {
      const found = await streamed(...args);
      if (found.deliveries.length > 0 && reads++ === 0) rotated.resolve(await rotate(app, 0));
      return found;
    },
  });
  try {
    await publish(server, event(followed));
    const secret = await rotated.promise;
    const [first] = await stream.arrived(1);
    if (!first) throw new Error("nothing arrived");
    expect(signers(first.data, { old: app.webhook_secret, new: secret })).toEqual(["new"]);
  } finally {
    Object.assign(deliveries, { streamed });
    await until(() => stream.events.length === 1);
    stream.close();
  }
});
