import { afterAll, expect, test } from "bun:test";
import type { Later } from "../../src/wire/answerer.ts";
import type { Head } from "../../src/wire/head.ts";
import type { Reply } from "../../src/wire/reply.ts";
import { readAnswers } from "../support/http-answers.ts";
import { RequestFuzz } from "../support/http-fuzz.ts";
import { RawClient } from "../support/raw-client.ts";
import { SmallListener } from "../support/small-listener.ts";
import { until } from "../support/until.ts";
import { FakeConnection, get, nextTurn } from "../support/wire.ts";

/** Whatever comes, in whatever pieces: no exception, one well-formed answer to each request, and an end. */

const seed = 20_260_114;

/** Of every kind, by what was asked for. */
function answer({ method, target }: Head): Reply | Later {
  const reply = { status: 200, head: "x-answer: yes\r\n", body: Buffer.from(`${method} ${target}`) };
  if (target.startsWith("/late")) return (send) => void nextTurn().then(() => send(reply));
  if (target.startsWith("/none")) return { ...reply, status: 204 };
  if (target.startsWith("/large")) return { ...reply, body: Buffer.alloc(300_000, "x") };
  if (target.startsWith("/stream")) return { ...reply, body: new Response("streamed").body };
  return reply;
}

/** What was asked for on a connection on which this came, and what was answered. */
async function converse(pieces: readonly string[], fuzz: RequestFuzz | null) {
  const asked: string[] = [];
  const methods: string[] = [];
  const fake = new FakeConnection((head, body) => {
    methods.push(head.method);
    const text = body === null ? "" : Buffer.from(body).toString("latin1");
    asked.push(JSON.stringify([head.method, head.target, head.fields.entries, text]));
    return answer(head);
  });
  if (fuzz) fake.socket.room = fuzz.int(1_000);
  for (const piece of pieces) {
    fake.receive(piece);
    if (fuzz?.chance(0.3)) fake.drain(fuzz.int(1_000));
    if (fuzz?.chance(0.2)) await nextTurn();
  }
  // Its last answers, as if there were nothing more to come.
  let turns = 0;
  for (let idle = 0; idle < 8 && fake.socket.ending === "none"; turns++) {
    const before = `${asked.length} ${fake.socket.text.length}`;
    fake.drain(100_000);
    await nextTurn();
    idle = before === `${asked.length} ${fake.socket.text.length}` ? idle + 1 : 0;
  }
  fake.connection.ended();
  for (; fake.socket.ending === "none"; turns++) {
    if (turns > 1_000) throw new Error("the connection does not end");
    fake.drain(100_000);
    await nextTurn();
  }
  return { asked, methods, sent: fake.socket.text, ending: fake.socket.ending };
}

test("on a fake socket that takes what it likes, when it likes", async () => {
  const fuzz = new RequestFuzz(seed);
  const seen = new Map<number, number>();
  let requests = 0;
  for (let i = 0; i < 4_000; i++) {
    const input = fuzz.input();
    const whole = await converse([input], null);
    const divided = await converse(fuzz.divide(input, fuzz.chance(0.1) ? input.length : 6), fuzz);
    // What is found depends on the bytes alone.
    expect([input, divided.asked]).toEqual([input, whole.asked]);
    for (const { asked, methods, sent, ending } of [whole, divided]) {
      expect(["end", "shutdown"]).toContain(ending);
      // One answer to each request, and at most one more, the last, to what was none.
      const { answers, rest } = readAnswers(sent, [...methods, "GET"]);
      const final = answers.filter(({ status }) => status >= 200);
      const refused = final.at(asked.length);
      expect([input, rest, final.slice(0, asked.length).length]).toEqual([input, "", asked.length]);
      for (const one of final.slice(0, asked.length)) expect(one.headers.get("x-answer")).toBe("yes");
      if (refused) {
        expect(refused.headers.get("connection")).toBe("close");
        expect(refused.status).toBeOneOf([400, 417, 431, 501, 505]);
        seen.set(refused.status, (seen.get(refused.status) ?? 0) + 1);
      }
      requests += asked.length;
    }
  }
  // It is of use only if much of it is understood, and much is not.
  expect(requests).toBeGreaterThan(4_000);
  expect([...seen.keys()].sort()).toEqual([400, 417, 501, 505]);
  expect(seen.get(400)).toBeGreaterThan(1_000);
});

const server = new SmallListener();
afterAll(() => server.listening.stop(0));

test("on real sockets, with clients that leave in any way", async () => {
  const fuzz = new RequestFuzz(seed + 1);
  const converse = async () => {
    const client = new RawClient(server.url);
    // Without HEAD, because nobody knows how many of them are understood.
    const input = fuzz.input().replaceAll("HEAD", "GET").replaceAll("/none", "/nothing");
    for (const piece of fuzz.divide(input, 4)) {
      client.send(piece);
      if (fuzz.chance(0.3)) await Bun.sleep(0);
    }
    const leave = fuzz.pick([() => client.reset(), () => client.socket.destroy(), () => client.socket.end()]);
    leave();
    await until(() => client.isClosed || client.hasEnded);
    client.socket.destroy();
    // Not all of it, where the client has left.
    readAnswers(client.text, Array(20).fill("GET"));
  };
  for (let i = 0; i < 100; i++) await Promise.all(Array.from({ length: 8 }, converse));
  const after = new RawClient(server.url).send(get("/hello"));
  expect((await after.answers())[0]?.body).toBe('"hello"');
  after.reset();
});
