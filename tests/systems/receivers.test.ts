import { expect, test } from "bun:test";
import { connect } from "node:net";
import { sign } from "../../src/delivery/signature.ts";
import { startWebhookProxy, type WebhookFault } from "../../src/dev/faults.ts";
import { newId } from "../../src/domain/ids.ts";
import { snippets } from "../../src/web/pages/portal/snippets.ts";
import { afterThisTest } from "../support/after-tests.ts";
import { scriptedFaults } from "../support/dev.ts";
import {
  codeOf,
  commandOf,
  documentedPages,
  documentedPrograms,
  expectedBlocks,
  pagesWithCode,
  programEnvironment,
} from "../support/documented.ts";
import { isListening, unusedPort } from "../support/ports.ts";
import { run } from "../support/process.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownDirectory, ownServer } from "../support/server.ts";

interface Target {
  readonly url: string;
  readonly port: number;
  readonly secret: string;
}

/**
 * Sends hostile requests to a receiver of webhooks; afterwards a genuine one must be accepted, also in chunks, and one
 * that comes twice.
 */
async function withstands({ url, port, secret }: Target): Promise<void> {
  const send = (body: string, changes: Record<string, string> = {}, chunked = false) => {
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const id = changes["webhook-id"] ?? newId();
    const headers = {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(timestampSeconds),
      "webhook-signature": sign({ id, timestampSeconds, body, secrets: [secret] }),
      ...changes,
    };
    const stream = chunked ? inPieces(body) : body;
    return fetch(url, { method: "POST", headers, body: stream, signal: AbortSignal.timeout(20_000) });
  };
  // A server may close the connection at a header that is not ASCII, before its program sees the request.
  const refusal = async (changes: Record<string, string>) => {
    try {
      return (await send("{}", changes)).status;
    } catch (error) {
      const isAscii = Object.values(changes).every((value) => /^[ -~]*$/.test(value));
      if (!isAscii && (error as { code?: string }).code === "ECONNRESET") return 401;
      throw error;
    }
  };
  for (const time of ["soon", "\u00b2", "-", "1e9", "9".repeat(5_000), ""])
    expect([time.slice(0, 9), await refusal({ "webhook-timestamp": time })]).toEqual([time.slice(0, 9), 401]);
  expect(await refusal({ "webhook-signature": "v1,\u00e9 v1" })).toBe(401);
  expect((await fetch(url, { method: "POST" })).status).toBe(401);
  // Genuine, but not what a handler expects.
  for (const body of ["null", "{}", '{"type":"chat.message.sent","data":{}}']) await send(body);
  // The body breaks off.
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = connect(port, "127.0.0.1", () => {
    socket.end("POST /webhook HTTP/1.1\r\nHost: a.example\r\nContent-Length: 100\r\n\r\n{");
    socket.destroySoon();
  });
  socket.once("close", () => resolve()).on("error", () => {});
  await promise;
  const event = (content: string) =>
    JSON.stringify({
      type: "chat.message.sent",
      version: 1,
      timestamp: "2026-01-14T16:08:06.123Z",
      data: { content, sender: { username: "maya" } },
    });
  // In chunks that divide characters.
  expect((await send(event("星🎉é"), {}, true)).ok).toBe(true);
  const twice = { "webhook-id": newId() };
  for (let i = 0; i < 2; i++) expect((await send(event("Hello"), twice)).ok).toBe(true);
}

/** A body that is sent byte by byte. */
function inPieces(text: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let i = 0;
  return new ReadableStream({
    async pull(controller) {
      // Each piece has a packet of its own.
      await Bun.sleep(1);
      if (i === bytes.length) controller.close();
      else controller.enqueue(bytes.subarray(i, ++i));
    },
  });
}

/*
 * The receivers of README and docs/, some of them also shown in the portal, are run unchanged: against hostile requests,
 * and against deliveries with the faults of `onair dev --faults`.
 */

/** The time for compilers on a slow and busy machine. */
const longestMs = 300_000;

test("every block of code of README and docs/ is in the table of programs", async () => {
  expect(await pagesWithCode()).toEqual(documentedPages);
  for (const page of documentedPages) {
    const languages = (await codeOf(page)).map(({ language }) => language);
    expect([page, languages]).toEqual([page, expectedBlocks(page).map(([language]) => language)]);
  }
});

const receivers = await documentedPrograms("receiver");

test("the portal shows receivers of docs/verifying.md, which are tested here", () => {
  const tested = receivers.filter(({ page }) => page === "docs/verifying.md").map(({ text }) => text.trim());
  expect(snippets.map(({ text }) => text)).toEqual(tested);
});

/** Waits until the condition holds, however slow the machine is. Throws if the program has ended. */
async function soon(
  holds: () => Promise<boolean>,
  program: { readonly exitCode: number | null },
): Promise<void> {
  while (!(await holds())) {
    if (program.exitCode !== null) throw new Error(`The program ended with ${program.exitCode}`);
    await Bun.sleep(20);
  }
}

test.each(receivers)(
  "$name withstands hostile requests, accepts deliveries on a bad day, and refuses forged and old ones",
  async (receiver) => {
    const [directory, port] = [ownDirectory(), await unusedPort()];
    const command = commandOf(receiver, directory, port);
    if (command === null) return;
    const webhooks: WebhookFault[] = [
      { kind: "overtaken", ms: 500 },
      { kind: "twice", ms: 50 },
      { kind: "late", ms: 100 },
      { kind: "twice", ms: 50 },
    ];
    const injected: string[] = [];
    const badDay = await startWebhookProxy({
      plan: scriptedFaults({ webhooks }),
      tell: (what) => void injected.push(what),
    });
    afterThisTest(() => badDay.stop());
    const server = await ownServer({ engineThread: true, args: ["--webhook-proxy", badDay.url] });
    await server.load("users", users);
    const url = `http://127.0.0.1:${port}/webhook`;
    const app = await server.application({ webhook_url: url });
    const program = Bun.spawn([...command], {
      cwd: directory,
      env: { ...programEnvironment, PORT: String(port), WEBHOOK_SECRET: app.webhook_secret },
      stdout: "pipe",
      stderr: "pipe",
    });
    try {
      await soon(() => isListening(port), program);
      await withstands({ url, port, secret: app.webhook_secret });
      expect(program.exitCode).toBeNull();
      const types = ["channel.followed", "chat.message.sent"];
      await subscribe(server, app, types);
      for (const type of [...types, ...types]) await publish(server, event(type));
      const deliveries = "/public/v1/events/deliveries";
      const answered = async () => {
        const { data } = (await (await server.get(deliveries, app.token)).json()) as {
          data: { status: string }[];
        };
        return data.map(({ status }) => status);
      };
      await soon(async () => !(await answered()).includes("pending"), program);
      expect(await answered()).toEqual(Array(4).fill("delivered"));
      expect(injected).toHaveLength(4);
      const args = ["channel.followed", "--forward", url, "--secret", app.webhook_secret];
      expect(await run(["trigger", ...args])).toMatchObject({ code: 0 });
    } finally {
      program.kill("SIGKILL");
      await program.exited;
    }
    const printed = (await program.stdout.text()) + (await program.stderr.text());
    // Handlers of guides print only one of the two.
    expect(printed).toMatch(/channel\.followed|chat\.message\.sent|Welcome, |: /);
  },
  longestMs,
);
