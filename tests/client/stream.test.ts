import { expect, test } from "bun:test";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createClient, type Session, stream } from "../../src/client/onair.ts";
import { serverSentEvents } from "../../src/client/stream.ts";
import { afterTests } from "../support/after-tests.ts";
import { ownListener } from "../support/listener.ts";
import { unusedPort } from "../support/ports.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownDirectory, ownServer, startServer, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

async function read(text: string, size = text.length): Promise<unknown[]> {
  const bytes = new TextEncoder().encode(text);
  async function* chunks() {
    for (let i = 0; i < bytes.length; i += Math.max(1, size)) yield bytes.subarray(i, i + Math.max(1, size));
  }
  const events = [];
  for await (const event of serverSentEvents(chunks())) events.push(event);
  return events;
}

const eventOf = (data: string | null, more: object = {}) => ({
  type: "message",
  data,
  lastId: "",
  retryMs: null,
  ...more,
});

test.each<[string, string, unknown[]]>([
  ["nothing", "", []],
  ["one line", "data: a\n\n", [eventOf("a")]],
  [
    "lines that end otherwise",
    "data: a\r\n\r\ndata: b\r\rdata: c\n\n",
    [eventOf("a"), eventOf("b"), eventOf("c")],
  ],
  ["lines that belong together", "data: a\ndata: b\n\n", [eventOf("a\nb")]],
  ["only the first space belongs to the colon", "data:a\n\ndata:  b\n\n", [eventOf("a"), eventOf(" b")]],
  ["a name", "event: x\ndata: a\n\n", [eventOf("a", { type: "x" })]],
  [
    "an event name applies to one event, an id to all that follow",
    "id: 1\nevent: x\ndata: a\n\ndata: b\n\n",
    [eventOf("a", { type: "x", lastId: "1" }), eventOf("b", { lastId: "1" })],
  ],
  ["an id without data", "id: 7\n\n", [eventOf(null, { lastId: "7" })]],
  ["an id with NUL is none", "id: a\0b\ndata: a\n\n", [eventOf("a")]],
  [
    "retry",
    "retry: 250\ndata: a\n\nretry: soon\ndata: b\n\n",
    [eventOf("a", { retryMs: 250 }), eventOf("b")],
  ],
  ["comments and unknown fields", ": hello\n\ndata: a\nfoo: bar\nfoo\n\n", [eventOf(null), eventOf("a")]],
  ["empty data", "data\n\n", [eventOf("")]],
  ["what no blank line ends does not count", "data: a\n\ndata: b\n", [eventOf("a")]],
  ["characters of several bytes", "data: 星🎉\n\n", [eventOf("星🎉")]],
  ["a byte order mark", "\ufeffdata: a\n\n", [eventOf("a")]],
])("%s, however the stream is divided", async (_, text, events) => {
  for (const size of [text.length * 4, 1, 2, 3, 7]) expect(await read(text, size)).toEqual(events);
});

test("an endless line is an error", async () => {
  await expect(read(`data: ${"x".repeat(9_000_000)}`)).rejects.toThrow("that is too long");
});

test("an endless frame is an error", async () => {
  await expect(read(`data: ${"x".repeat(1_000)}\n`.repeat(9_000))).rejects.toThrow("that is too long");
});

test("as many lines in complete frames are accepted", async () => {
  expect(await read(`data: ${"x".repeat(1_000)}\n\n`.repeat(9_000), 65_536)).toHaveLength(9_000);
});

test("a line that arrives in many pieces takes time in proportion to its length", async () => {
  const leastMs = async (length: number) => {
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 3; i++) {
      const startedAt = performance.now();
      await read(`data: ${"x".repeat(length)}\n\n`, 100);
      least = Math.min(least, performance.now() - startedAt);
    }
    return least;
  };
  await leastMs(100_000);
  // Work that grows with the square would take sixteen times as long.
  expect(await leastMs(2_000_000)).toBeLessThan(10 * (await leastMs(500_000)));
});

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
      random: () => 0.25,
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
  expect([connections, interruptions]).toEqual([2, [250]]);
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
  const args = ["--port", `${await unusedPort()}`];
  const first = await startServer({ data, args });
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
  await first.stop();
  const second = await ownServer({ data, args });
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
