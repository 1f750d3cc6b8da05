import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { newWebhookSecret } from "../../src/delivery/signature.ts";
import { type ApiFault, startApiProxy } from "../../src/dev/faults.ts";
import { afterThisTest } from "../support/after-tests.ts";
import { scriptedFaults } from "../support/dev.ts";
import {
  commandOf,
  type DocumentedProgram,
  documentedPrograms,
  programEnvironment,
} from "../support/documented.ts";
import { metric } from "../support/metrics.ts";
import { RunningCommand } from "../support/process.ts";
import { event, example, publish, subscribe } from "../support/publishing.ts";
import { ownDirectory, startServer, type TestApplication, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * The programs of docs/ that read the event stream are run unchanged, if their language is installed: with the faults of
 * `onair dev --faults`, and with restarts in the middle of a stream.
 */

const programs = await documentedPrograms("stream");
const longestMs = 300_000;

/** Builds a program once. Gives what starts it with the credentials of an application; null without its language. */
function builtFor(program: DocumentedProgram) {
  const directory = ownDirectory();
  const command = commandOf(program, directory, 0);
  if (command === null) return null;
  return (url: string, app: Partial<TestApplication>): RunningCommand => {
    const running = new RunningCommand([], {
      command,
      cwd: directory,
      env: {
        ...(programEnvironment as Record<string, string>),
        ONAIR_URL: url,
        TOKEN: app.token ?? "bad",
        SECRET: app.webhook_secret ?? newWebhookSecret(),
        CLIENT_ID: app.client_id ?? "bad",
        CLIENT_SECRET: app.client_secret ?? "bad",
      },
    });
    afterThisTest(() => running.kill("SIGKILL"));
    return running;
  };
}

const luna = { id: 1001, username: "LunaBytes", followers_count: 7 };

/** Publishes a follow and a command in the chat, both with this name. */
async function happen(server: TestServer, name: string): Promise<void> {
  const of = { broadcaster_user_id: luna.id };
  const { follower, ...followed } = example("channel.followed") as { follower: object };
  await publish(
    server,
    event("channel.followed", { ...of, data: { ...followed, follower: { ...follower, username: name } } }),
  );
  const message = { ...(example("chat.message.sent") as object), content: `!${name}` };
  await publish(server, event("chat.message.sent", { ...of, data: message }));
}

const busy = (status: 429 | 503): ApiFault => ({ kind: "busy", status, retryAfterSeconds: 1 });

test.each(programs)(
  "$name ends with the reason when its token or its secret is refused, and misses nothing on a bad day, and when the server restarts",
  async (program) => {
    const start = builtFor(program);
    if (start === null) return;
    const data = join(ownDirectory(), "data");
    mkdirSync(data);
    const begin = () => startServer({ data });
    let server = await begin();
    afterThisTest(() => server.stop());
    const { stderr, code } = await start(server.publicUrl, {}).ended();
    expect([code, stderr]).toEqual([1, expect.stringMatching(/401|invalid_token|invalid_client/)]);

    await server.load("users", [luna]);
    const app = await server.application({ delivery: "stream" });
    await subscribe(server, app, ["channel.followed", "chat.message.sent"], luna.id);
    const injected: string[] = [];
    // A program with the credentials of its application can get another token.
    const lost: ApiFault[] = program.text.includes("CLIENT_ID") ? [{ kind: "revoked" }] : [];
    const badDay = startApiProxy({
      host: "127.0.0.1",
      port: 0,
      plan: scriptedFaults({
        api: [busy(429), { kind: "slow", ms: 100 }, null, busy(503), busy(503), null, busy(429), ...lost],
        streams: [300, 1_000, 1_000, 1_000],
      }),
      tell: (what) => void injected.push(what),
    });
    afterThisTest(() => badDay.stop());
    const connect = () => badDay.connect({ url: server.publicUrl, tokens: server.app.store.tokens });
    connect();
    const running = start(badDay.url, app);
    const isOpen = () => until(async () => (await metric(server, "onair_event_streams_open")) === 1);
    // Meanwhile the proxy in front answers 502.
    const restart = async () => {
      await server.stop();
      server = await begin();
      connect();
    };
    await isOpen();
    await restart();
    // It may have received no event yet, and not be connected again.
    await happen(server, "fox_1");
    await running.shows("fox_1");
    await until(() => injected.filter((what) => what.startsWith("cut off")).length > 0);
    for (const name of ["fox_2", "fox_3"]) await happen(server, name);
    await running.shows("fox_3");
    await isOpen();
    await restart();
    await happen(server, "fox_4");
    for (let i = 1; i <= 4; i++) await running.shows(`fox_${i}`);
    expect(injected.length).toBeGreaterThan(2);
    if (lost.length > 0) expect(injected).toContain("its token is revoked");
    running.kill("SIGTERM");
  },
  longestMs,
);
