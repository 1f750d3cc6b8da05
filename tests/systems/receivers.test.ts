import { expect, test } from "bun:test";
import { startWebhookProxy, type WebhookFault } from "../../src/dev/faults.ts";
import { snippets } from "../../src/web/pages/portal/snippets.ts";
import { afterThisTest } from "../support/after-tests.ts";
import {
  codeOf,
  commandOf,
  documentedPages,
  documentedPrograms,
  expectedBlocks,
  pagesWithCode,
  programEnvironment,
} from "../support/documented-programs.ts";
import { withstands } from "../support/hostile-requests.ts";
import { isListening, unusedPort } from "../support/ports.ts";
import { run } from "../support/process.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { scriptedFaults } from "../support/scripted-faults.ts";
import { ownDirectory, ownServer } from "../support/server.ts";

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
