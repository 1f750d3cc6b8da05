/*
 * The receivers of the benchmark of sending: bun receivers.ts <how many> <milliseconds to wait> <http | https>
 *
 * Each listens on a port of its own and answers every request with 204. It prints one line: ready <port>,<port>,…
 */
import { join } from "node:path";

const [count, waitMs, scheme] = process.argv.slice(2);
const fixture = (name: string) => Bun.file(join(import.meta.dir, "../../webhooks/fixtures", name));
const tls = { cert: fixture("hook.test.cert.pem"), key: fixture("hook.test.key.pem") };
const answer = () => new Response(null, { status: 204 });
const wait = Number(waitMs);

const servers = Array.from({ length: Number(count) }, () =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    reusePort: false,
    development: false,
    idleTimeout: 60,
    ...(scheme === "https" ? { tls } : {}),
    fetch: wait === 0 ? answer : () => Bun.sleep(wait).then(answer),
  }),
);
process.stdout.write(`ready ${servers.map(({ port }) => port).join(",")}\n`);
