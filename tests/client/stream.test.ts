import { expect, test } from "bun:test";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createClient, type Session, stream } from "../../src/client/onair.ts";
import { afterTests } from "../support/after-tests.ts";
import { ownListener } from "../support/listener.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownDirectory, ownServer, startServer, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const server = await testServer();
await server.load("users", users);

/** A new application for each test, because a stream may begin with events that were just published. */
async function subscribed() {
  const app = await server.application({ delivery: "stream" });
  await subscribe(server, app, ["channel.followed", "chat.message.sent"]);
  return { app, credentials: { clientId: app.client_id, clientSecret: app.client_secret } };
}

/** Reads a stream in the background. */
function reading(source: ReturnType<typeof stream<never>>) {
  const types: string[] = [];
  const ids: string[] = [];
  const positions: string[] = [];
  const state = { types, ids, positions, failure: null as unknown, isOver: false };
  void (async () => {
    try {
      for await (const one of source) {
        types.push(one.type);
        positions.push(one.position);
        if (one.type !== "gap") ids.push(one.delivery.id);
      }
    } catch (error) {
      state.failure = error;
    }
    state.isOver = true;
  })();
  return state;
}

/** A proxy to a server whose connections can be cut. */
async function cuttable(target: string) {
  const sockets = new Set<Socket>();
  const { hostname, port } = new URL(target);
  const listener = createServer((socket) => {
    const onward = connect(Number(port), hostname);
    for (const one of [socket, onward]) {
      sockets.add(one);
      one.on("error", () => {}).on("close", () => sockets.delete(one));
    }
    socket.on("close", () => onward.destroy()).pipe(onward);
    onward.on("close", () => socket.destroy()).pipe(socket);
  }).listen(0, "127.0.0.1");
  const cut = () => {
    for (const one of sockets) one.destroy();
  };
  afterTests(() => {
    cut();
    listener.close();
  });
  await until(() => listener.listening);
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    cut,
    open: () => sockets.size,
  };
}

test("resumes after the connection was cut, without gaps or repetitions", async () => {
  const { credentials } = await subscribed();
  const proxy = await cuttable(server.publicUrl);
  const stop = new AbortController();
  let connections = 0;
  const interruptions: number[] = [];
  const read = reading(
    stream(createClient({ ...credentials, url: proxy.url }), {
      signal: stop.signal,
      connected: () => void connections++,
      interrupted: (_, retryMs) => void interruptions.push(retryMs),
    }),
  );
  await until(() => connections === 1);
  await publish(server, event("channel.followed", { id: "one" }));
  await until(() => read.types.length === 1);
  proxy.cut();
  await publish(server, event("chat.message.sent", { id: "two" }));
  await publish(server, event("channel.followed", { id: "three" }));
  await until(() => read.types.length === 3);
  expect(read.types).toEqual(["channel.followed", "chat.message.sent", "channel.followed"]);
  expect(new Set(read.ids).size).toBe(3);
  expect([connections, interruptions]).toEqual([2, [1_000]]);
  stop.abort();
  await until(() => read.isOver);
  expect(read.failure).toBeNull();
  const later = new AbortController();
  const rest = reading(
    stream(createClient({ ...credentials, url: server.publicUrl }), {
      from: read.positions[1],
      signal: later.signal,
    }),
  );
  await until(() => rest.types.length === 1);
  expect(rest.ids).toEqual(read.ids.slice(2));
  later.abort();
});

test("a revoked token is renewed, and the stream continues", async () => {
  const { app, credentials } = await subscribed();
  const stop = new AbortController();
  const sessions: Session[] = [];
  let connections = 0;
  const onair = createClient({
    ...credentials,
    url: server.publicUrl,
    saveSession: (session) => void sessions.push(session),
  });
  const read = reading(stream(onair, { signal: stop.signal, connected: () => void connections++ }));
  await until(() => connections === 1);
  await server.admin("DELETE", `/admin/v1/applications/${app.id}/tokens`);
  await until(() => connections === 2);
  await publish(server, event("channel.followed"));
  await until(() => read.types.length === 1);
  expect(sessions).toHaveLength(2);
  stop.abort();
});

test("waits for a server that is down", async () => {
  const data = ownDirectory();
  const first = await startServer({ data: data });
  await first.load("users", users);
  const mine = await first.application({ delivery: "stream" });
  await subscribe(first, mine, ["channel.followed"]);
  const stop = new AbortController();
  let connections = 0;
  const options = { signal: stop.signal, connected: () => void connections++ };
  const onair = createClient({
    url: first.publicUrl,
    clientId: mine.client_id,
    clientSecret: mine.client_secret,
  });
  const read = reading(stream(onair, options));
  await until(() => connections === 1);
  const { port } = new URL(first.publicUrl);
  await first.stop();
  const second = await ownServer({ data: data, args: ["--port", port] });
  await publish(second, event("channel.followed"));
  await until(() => read.types.length === 1);
  stop.abort();
});

test("a permanent refusal is an error, and the signal ends the stream", async () => {
  const webhooks = await server.application();
  const url = server.publicUrl;
  const refused = reading(stream(createClient({ url, token: webhooks.token })));
  await until(() => refused.isOver);
  expect(refused.failure).toMatchObject({ name: "OnairError", status: 403, code: "stream_disabled" });
  const mine = await server.application({ delivery: "stream" });
  const forged = reading(stream(createClient({ url, token: mine.token }), { from: "forged" }));
  await until(() => forged.isOver);
  expect(forged.failure).toMatchObject({ status: 400, code: "invalid_cursor" });
  const ended = reading(stream(createClient({ url, token: "x" }), { signal: AbortSignal.abort() }));
  await until(() => ended.isOver);
  expect(ended.failure).toBeNull();
});

test("leaving the loop closes the connection", async () => {
  const way = await cuttable(server.publicUrl);
  const mine = await server.application({ delivery: "stream" });
  await subscribe(server, mine, ["channel.followed"]);
  const onair = createClient({ url: way.url, token: mine.token });
  const connected = () => void publish(server, event("channel.followed"));
  for await (const one of stream(onair, { connected })) {
    expect([one.type, way.open()]).toEqual(["channel.followed", 2]);
    break;
  }
  await until(() => way.open() === 0);
});

test("the signal ends it while it waits for a token", async () => {
  let asked = 0;
  const silent = ownListener(() => {
    asked++;
    return new Promise<Response>(() => {});
  });
  const stop = new AbortController();
  const client = createClient({ url: silent.url, clientId: "x", clientSecret: "y" });
  const read = reading(stream(client, { signal: stop.signal }));
  await until(() => asked === 1);
  stop.abort();
  await until(() => read.isOver);
  expect([read.failure, asked]).toEqual([null, 1]);
});

test("a shard has the events of its broadcasters, and `after` is a time to start at", async () => {
  const { app, credentials } = await subscribed();
  await subscribe(server, app, ["chat.message.sent"], 1002);
  const start = new Date();
  await publish(server, event("chat.message.sent"));
  await publish(server, event("chat.message.sent", { broadcaster_user_id: 1002 }));
  const stop = new AbortController();
  const read = (shard?: string) =>
    reading(
      stream(createClient({ url: server.publicUrl, ...credentials }), {
        shard,
        after: start,
        signal: stop.signal,
      }),
    );
  const [whole, even, odd] = [read(), read("1/2"), read("2/2")];
  await until(() => whole.ids.length === 2 && even.ids.length === 1 && odd.ids.length === 1);
  expect([...odd.ids, ...even.ids]).toEqual(whole.ids);
  stop.abort();
});
