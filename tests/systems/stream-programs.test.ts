import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { newWebhookSecret } from "../../src/delivery/signature.ts";
import { metric } from "../support/metrics.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { startServer, temporaryDirectory } from "../support/server.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

/* The programs in docs/stream.md are run unchanged, if their language is installed. */

const root = join(import.meta.dir, "../..");
const docs = await Bun.file(join(root, "docs/stream.md")).text();

/** The program in this language. */
function program(language: string): string {
  const found = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "m").exec(docs)?.[1];
  if (!found) throw new Error(`docs/stream.md has no program in ${language}`);
  return found;
}

async function command(language: string, directory: string): Promise<string[]> {
  const file = join(directory, `main.${language === "python" ? "py" : language}`);
  await Bun.write(file, program(language));
  if (language === "python") return ["python3", file];
  if (language === "js") {
    symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
    return [process.execPath, file];
  }
  const built = join(directory, "main");
  const env = { ...process.env, GOFLAGS: "-mod=mod", GO111MODULE: "off" };
  const { exitCode, stderr } = Bun.spawnSync(["go", "build", "-o", built, file], { env, stderr: "pipe" });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return [built];
}

const languages = [
  ["js", "bun"],
  ["python", "python3"],
  ["go", "go"],
] as const;

test.each(languages)(
  "the program in %s ends with the reason when its token is refused",
  async (language, tool) => {
    if (tool !== "bun" && Bun.which(tool) === null) return;
    const directory = temporaryDirectory();
    const server = await startServer();
    try {
      const env = {
        ...process.env,
        TOKEN: "bad",
        SECRET: newWebhookSecret(),
        ONAIR_URL: server.publicUrl,
      };
      const child = Bun.spawn(await command(language, directory.path), { env, stderr: "pipe" });
      expect(await new Response(child.stderr).text()).toMatch(/401|invalid_token/);
      expect(await child.exited).toBe(1);
    } finally {
      await server.stop();
      directory.remove();
    }
  },
);

test.each(languages)(
  "the program in %s verifies events and resumes after the server was away",
  async (language, tool) => {
    // Skipped if the tool is not installed.
    if (tool !== "bun" && Bun.which(tool) === null) return;
    const directory = temporaryDirectory();
    const data = join(directory.path, "data");
    mkdirSync(data);
    const run = await command(language, directory.path);
    let server = await startServer({ data });
    const way = await tcpProxy(Number(new URL(server.publicUrl).port));
    let refused = 0;
    const busy = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch() {
        refused++;
        return new Response("", { status: 503, headers: { "retry-after": "1" } });
      },
    });
    // While it restarts, a proxy in front of it answers 503.
    const restart = async () => {
      const before = refused;
      way.lead(busy.port ?? 0);
      await server.stop();
      await until(() => refused > before);
      server = await startServer({ data });
      way.lead(Number(new URL(server.publicUrl).port));
    };
    await server.load("users", users);
    const app = await server.application({ delivery: "stream" });
    await subscribe(server, app, ["channel.followed", "chat.message.sent"]);
    const child = Bun.spawn(run, {
      env: {
        ...process.env,
        TOKEN: app.token,
        SECRET: app.webhook_secret,
        ONAIR_URL: `http://127.0.0.1:${way.port}`,
      },
      stderr: "inherit",
    });
    let output = "";
    const reading = (async () => {
      for await (const part of child.stdout) output += new TextDecoder().decode(part);
    })();
    const lines = (count: number) =>
      until(
        () => output.split("\n").length > count,
        () => `${count} lines did not come, but ${output}`,
      );
    try {
      await until(async () => (await metric(server, "onair_event_streams_open")) === 1);
      await restart();
      // It has received no event yet and is not connected again.
      await publish(server, event("channel.followed"));
      await lines(1);
      await restart();
      await publish(server, event("channel.followed"));
      await lines(2);
    } finally {
      child.kill();
      await Promise.all([child.exited, reading]);
      way.stop();
      await busy.stop(true);
      await server.stop();
      directory.remove();
    }
    const printed = output.trim().split("\n");
    expect(printed).toHaveLength(2);
    for (const line of printed) expect(line).toMatch(/^channel\.followed \{.*"follower"/);
  },
);
