import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { newWebhookSecret, sign } from "../../src/delivery/signature.ts";
import { newId } from "../../src/domain/ids.ts";
import { snippets } from "../../src/web/pages/portal/snippets.ts";
import { isListening, unusedPort } from "../support/ports.ts";
import { run } from "../support/process.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownDirectory, ownServer } from "../support/server.ts";

/* The programs of docs/verifying.md, also shown in the portal, are run unchanged. */

const root = join(import.meta.dir, "../..");
/** The time for compilers on a slow and busy machine. */
const longestMs = 300_000;

/** The commands that build and start each program; null, with a warning, if that is impossible here. */
const languages: Readonly<
  Record<string, (directory: string, text: string, port: number) => readonly string[] | null>
> = {
  TypeScript: (directory, text) => {
    symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
    return [process.execPath, written(directory, "receiver.ts", text)];
  },
  Python: (directory, text) => tool("python3") && ["python3", written(directory, "receiver.py", text)],
  Go: (directory, text) => {
    const file = written(directory, "receiver.go", text);
    return tool("go") && built(["go", "build", "-o", join(directory, "receiver"), file], directory);
  },
  PHP: (directory, text, port) =>
    tool("php") && ["php", "-S", `127.0.0.1:${port}`, written(directory, "receiver.php", text)],
  Rust: (directory, text) => {
    if (!tool("cargo")) return null;
    const [, crates = ""] = /^\/\/ cargo add (.+)$/m.exec(text) ?? [];
    mkdirSync(join(directory, "src"));
    written(directory, "Cargo.toml", '[package]\nname = "receiver"\nversion = "0.0.0"\nedition = "2021"\n');
    written(directory, "src/main.rs", "fn main() {}");
    // Fetches the libraries first: without the Internet, or with an old compiler, they are not available.
    const isThere =
      succeeds(["cargo", "add", "--quiet", ...crates.split(" ")], directory) &&
      succeeds(["cargo", "build", "--quiet"], directory);
    if (!isThere) return skipped(`way to get ${crates}`);
    written(directory, "src/main.rs", text);
    const program = join(directory, "target/debug/receiver");
    return built(["cargo", "build", "--quiet"], directory) && [program];
  },
};

const tool = (name: string): true | null => (Bun.which(name) === null ? skipped(name) : true);

function skipped(name: string): null {
  console.warn(`\n*** No ${name} here: a program of docs/verifying.md is NOT TRIED. ***\n`);
  return null;
}

function written(directory: string, name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

/** True when the command succeeds. */
function succeeds(command: string[], cwd: string): boolean {
  const env = { ...process.env, CARGO_NET_RETRY: "0", CARGO_HTTP_TIMEOUT: "20" };
  return Bun.spawnSync(command, { cwd, env, timeout: 120_000 }).exitCode === 0;
}

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

function built(command: string[], cwd: string): readonly string[] {
  const env = { ...process.env, GO111MODULE: "off" };
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd, env, stderr: "pipe" });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return [join(cwd, "receiver")];
}

interface Target {
  readonly url: string;
  readonly port: number;
  readonly secret: string;
}

/** Sends hostile requests; afterwards a genuine one must be accepted, also in chunks. */
async function withstands({ url, port, secret }: Target): Promise<void> {
  const send = (body: string, changes: Record<string, string> = {}, chunked = false) => {
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const id = newId();
    const headers = {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(timestampSeconds),
      "webhook-signature": sign({ id, timestampSeconds, body, secrets: [secret] }),
      ...changes,
    };
    const stream = chunked ? new Blob([body]).stream() : body;
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
  const body = '{"type":"channel.followed","version":1,"data":{}}';
  for (const chunked of [true, false]) expect((await send(body, {}, chunked)).ok).toBe(true);
}

/** The receivers of other pages. */
const guides = ["first-webhook", "from-kick", "from-twitch"];

test.each(guides)("the receiver of docs/%s.md withstands hostile requests", async (page) => {
  const text = await Bun.file(join(root, `docs/${page}.md`)).text();
  const [, source = ""] = /^```js file receiver\.mjs\n([\s\S]*?)^```$/m.exec(text) ?? [];
  const [directory, port] = [ownDirectory(), await unusedPort()];
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
  const file = written(directory, "receiver.mjs", source.replace("listen(3000)", `listen(${port})`));
  const secret = newWebhookSecret();
  const node = Bun.which("node") ?? process.execPath;
  const env = { ...process.env, WEBHOOK_SECRET: secret };
  const program = Bun.spawn([node, file], { env, stdout: "ignore", stderr: "pipe" });
  try {
    await soon(() => isListening(port), program);
    await withstands({ url: `http://127.0.0.1:${port}/webhook`, port, secret });
    expect(program.exitCode).toBeNull();
  } finally {
    program.kill("SIGKILL");
    await program.exited;
  }
});

test("there is a program for each language, which the portal shows", () => {
  expect(snippets.map(({ name }) => name)).toEqual(Object.keys(languages));
});

test.each(snippets)(
  "the program in $name accepts deliveries, and refuses forged and old ones",
  async ({ name, text }) => {
    const [directory, port] = [ownDirectory(), await unusedPort()];
    const command = languages[name]?.(directory, text, port) ?? null;
    if (command === null) return;
    const server = await ownServer({ engineThread: true });
    await server.load("users", users);
    const url = `http://127.0.0.1:${port}/webhook`;
    const app = await server.application({ webhook_url: url });
    const program = Bun.spawn([...command], {
      cwd: directory,
      env: { ...process.env, PORT: String(port), WEBHOOK_SECRET: app.webhook_secret },
      stdout: "pipe",
      stderr: "pipe",
    });
    try {
      await soon(() => isListening(port), program);
      await withstands({ url, port, secret: app.webhook_secret });
      expect(program.exitCode).toBeNull();
      await subscribe(server, app, ["channel.followed"]);
      await publish(server, event("channel.followed"));
      const deliveries = "/public/v1/events/deliveries";
      const answered = async () => {
        const { data } = (await (await server.get(deliveries, app.token)).json()) as {
          data: { status: string }[];
        };
        return data.map(({ status }) => status);
      };
      await soon(async () => !(await answered()).includes("pending"), program);
      expect(await answered()).toEqual(["delivered"]);
      const args = ["channel.followed", "--forward", url, "--secret", app.webhook_secret];
      expect(await run(["trigger", ...args])).toMatchObject({ code: 0 });
    } finally {
      program.kill("SIGKILL");
      await program.exited;
    }
    const printed = (await program.stdout.text()) + (await program.stderr.text());
    expect(printed).toContain("channel.followed");
  },
  longestMs,
);
