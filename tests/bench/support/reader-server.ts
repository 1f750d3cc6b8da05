/*
 * Asks for users at a fixed rate and tells how long the answers took: bun reader-server.ts <url> <token> <names…>
 * `/?seconds=N` measures for so long.
 */
import { percentile } from "./rounds.ts";
import { atRate, Wire } from "./wire.ts";

const [url = "", token = "", ...names] = process.argv.slice(2);
const requestsPerSecond = 500;
const wire = new Wire(url, { authorization: `Bearer ${token}` });

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  reusePort: false,
  idleTimeout: 0,
  async fetch(request) {
    const seconds = Number(new URL(request.url).searchParams.get("seconds"));
    const took: number[] = [];
    await atRate(requestsPerSecond, seconds, async (n) => {
      const { status, body, ms } = await wire.get(`/public/v1/users/${names[n % names.length]}`);
      if (status !== 200) throw new Error(`Get User answers ${status}: ${body}`);
      took.push(ms);
    });
    return Response.json({
      p50Ms: percentile(took, 0.5),
      p99Ms: percentile(took, 0.99),
      maxMs: percentile(took, 1),
    });
  },
});
process.stdout.write(`ready http://127.0.0.1:${server.port}\n`);
