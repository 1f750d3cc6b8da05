import { beforeAll, describe, expect, test } from "bun:test";
import { event, publish, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { testServer } from "../support/server.ts";

const server = await testServer({ users });
const receiver = testReceiver((_, number) => new Response(null, { status: number === 1 ? 410 : 204 }));

describe("GET /metrics", () => {
  let text: string;
  beforeAll(async () => {
    const gone = await server.application({ webhook_url: receiver.url });
    await subscribe(server, gone, ["kicks.gifted"]);
    await publish(server, event("kicks.gifted"));
    await receiver.arrived(1);
    await settled(server);
    const well = await server.application({ webhook_url: receiver.url });
    await subscribe(server, well, ["channel.followed"]);
    await publish(server, event("channel.followed"));
    await receiver.arrived(2);
    await settled(server);
    await server.get("/public/v1/categories");
    await server.get("/nowhere");
    const response = await fetch(`${server.app.adminUrl}/metrics`);
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4");
    text = await response.text();
  });
  test.each([
    'onair_attempts_total{outcome="ok"} 1',
    'onair_attempts_total{outcome="status"} 1',
    'onair_deliveries_finished_total{status="delivered"} 1',
    'onair_deliveries_finished_total{status="failed"} 1',
    'onair_endpoint_notices_total{notice="endpoint.disabled"} 1',
    "onair_attempts_in_flight 0",
    "onair_endpoints_held_up 1",
    "onair_log_lines_left_out_total 0",
    'onair_http_requests_total{listener="public",status="404"} 1',
  ])("tells %s", (line) => {
    expect(text.split("\n")).toContain(line);
  });

  test("counts every request of a listener once, in buckets that add up", () => {
    const value = (line: RegExp) => Number(line.exec(text)?.[1]);
    const statuses = [
      ...text.matchAll(/^onair_http_requests_total\{listener="public",status="\d+"\} (\d+)$/gm),
    ];
    const total = statuses.reduce((sum, [, count]) => sum + Number(count), 0);
    expect(total).toBeGreaterThan(4);
    expect(value(/_count\{listener="public"\} (\d+)/)).toBe(total);
    expect(value(/_bucket\{listener="public",le="\+Inf"\} (\d+)/)).toBe(total);
  });

  test("is in the form that Prometheus reads: each line a comment or a sample, each name with its type", () => {
    const typed = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name));
    for (const line of text.trimEnd().split("\n")) {
      if (line.startsWith("# ")) continue;
      const name = /^([a-z_]+)(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})? [0-9.e+-]+$/.exec(line)?.[1];
      expect(name).toBeString();
      expect(typed).toContain(name?.replace(/_(bucket|sum|count)$/, ""));
    }
  });

  test("is not on the public listener", async () => {
    expect((await server.get("/metrics")).status).toBe(404);
  });
});
