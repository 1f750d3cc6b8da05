import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { afterThisTest } from "../support/after-tests.ts";
import { unusedPort } from "../support/ports.ts";
import { type ServerProcess, serve } from "../support/process.ts";
import { type Change, hasProxy, type ProxyName, startProxy } from "../support/proxies.ts";
import { temporaryDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * Replicas behind the configurations of docs/proxies, of which one is suspended: it takes connections and answers
 * nothing. For the proxies any two servers are replicas.
 */

/** Each proxy with its file, and shorter timeouts of changes and of event streams. */
const proxies: readonly (readonly [name: ProxyName, file: string, timeouts: readonly Change[]])[] = [
  [
    "caddy",
    "Caddyfile-replicas",
    [
      ["import replicas 30s 30s", "import replicas 4s 4s"],
      ["import replicas 3s 20s", "import replicas 3s 4s"],
    ],
  ],
  [
    "nginx",
    "nginx-replicas.conf",
    [
      ["proxy_read_timeout 30s", "proxy_read_timeout 4s"],
      ["proxy_read_timeout 20s", "proxy_read_timeout 4s"],
    ],
  ],
  [
    "haproxy",
    "haproxy-replicas.cfg",
    [
      ["timeout server 30s", "timeout server 4s"],
      ["timeout server 20s", "timeout server 4s"],
    ],
  ],
];

/** The time without an answer after which a GET is sent to the next replica. */
const triedNextMs = 3_000;
const slackMs = 2_000;

const hosts = ["127.0.0.1", "127.0.0.2"];
let directories: ReturnType<typeof temporaryDirectory>[];
let ports: readonly Change[];
let healthPorts: Readonly<Record<ProxyName, readonly Change[]>>;
let replicas: ServerProcess[];

beforeEach(async () => {
  directories = hosts.map(() => temporaryDirectory());
  const [port, adminPort] = [String(await unusedPort()), String(await unusedPort())];
  ports = [
    ["10.0.0.1:8080", `${hosts[0]}:${port}`],
    ["10.0.0.2:8080", `${hosts[1]}:${port}`],
  ];
  const health: Change[] = [
    ["health_port 8081", `health_port ${adminPort}`],
    ["check port 8081", `check port ${adminPort}`],
  ];
  healthPorts = { caddy: health.slice(0, 1), haproxy: health.slice(1), nginx: [] };
  replicas = await Promise.all(
    hosts.map((host, i) => {
      const [data, ...own] = [directories[i]?.path ?? "", "--host", host, "--admin-host", host];
      return serve(["--data", data, ...own, "--port", port, "--admin-port", adminPort, "--rate-limit", "0"]);
    }),
  );
});
afterEach(async () => {
  for (const replica of replicas) await replica.end("SIGKILL");
  for (const directory of directories) directory.remove();
});

/** A request with its status, 0 for a broken connection, and its duration. */
async function timed(url: string, init?: RequestInit) {
  const startedAt = performance.now();
  const status = await fetch(url, { ...init, keepalive: false }).then(
    async (response) => {
      await response.arrayBuffer();
      return response.status;
    },
    () => 0,
  );
  return { status, ms: performance.now() - startedAt };
}

/** Opens an event stream of one replica behind a proxy. The token is unknown to the other one. */
async function streamOf(replica: ServerProcess | undefined, proxyUrl: string): Promise<Response> {
  const { token } = (await replica?.application({ delivery: "stream" })) ?? {};
  const open = () =>
    fetch(`${proxyUrl}/public/v1/events/stream`, { headers: { authorization: `Bearer ${token}` } });
  let response = await open();
  await until(async () => {
    if (response.status !== 200) response = await open();
    return response.status === 200;
  });
  return response;
}

async function timeToEnd({ body }: Response): Promise<number> {
  const startedAt = performance.now();
  const reader = body?.getReader();
  while (!(await reader?.read().catch(() => ({ done: true })))?.done);
  return performance.now() - startedAt;
}

describe.each(proxies)("behind %s", (program, file, timeouts) => {
  test.skipIf(!hasProxy(program))(
    "every GET is answered while a replica is suspended, soon at once; no change is sent twice",
    async () => {
      const proxy = await startProxy(program, file, [...ports, ...healthPorts[program], ...timeouts]);
      afterThisTest(proxy.stop);
      const suspended = replicas[1];
      const get = () => timed(`${proxy.url}/public/v1/categories`);
      // Answered with 401.
      const credentials = { grant_type: "client_credentials", client_id: "a", client_secret: "a" };
      const body = new URLSearchParams(credentials);
      const change = () => timed(`${proxy.url}/oauth/token`, { method: "POST", body });
      try {
        // Both are in use.
        expect((await Promise.all(Array.from({ length: 10 }, get))).map(({ status }) => status)).toEqual(
          Array(10).fill(200),
        );
        const stream = await streamOf(suspended, proxy.url);
        suspended?.kill("SIGSTOP");
        const [gets, changes, streamMs] = await Promise.all([
          Promise.all(Array.from({ length: 20 }, get)),
          Promise.all(Array.from({ length: 4 }, change)),
          timeToEnd(stream),
        ]);
        // The client continues it elsewhere, after its last id.
        expect(streamMs).toBeLessThan(4_000 + slackMs);
        for (const { status, ms } of gets) {
          expect(status).toBe(200);
          expect(ms).toBeLessThan(triedNextMs + slackMs);
        }
        // Those that the suspended replica got may have taken effect: nobody else gets them.
        const statuses = changes.map(({ status }) => status);
        expect(statuses.filter((status) => status === 401)).not.toHaveLength(4);
        for (const status of statuses) expect([0, 401, 502, 503, 504]).toContain(status);
        for (const { ms } of changes) expect(ms).toBeLessThan(4_000 + slackMs);
        // From then on requests go elsewhere, but for one now and then that tries whether the replica is back.
        const later = [];
        for (let i = 0; i < 30; i++) later.push(await get());
        expect(later.map(({ status }) => status)).toEqual(Array(30).fill(200));
        expect(later.filter(({ ms }) => ms > 500).length).toBeLessThanOrEqual(1);
        expect((await change()).status).toBe(401);
      } finally {
        suspended?.kill("SIGCONT");
      }
      await until(async () => (await get()).status === 200 && (await change()).status === 401);
      // Nothing listens there any more, so that any request can go elsewhere.
      await suspended?.end("SIGKILL");
      const others = await Promise.all(Array.from({ length: 10 }, () => [get(), change()]).flat());
      expect(others.map(({ status }) => status)).toEqual(Array(10).fill([200, 401]).flat());
    },
    120_000,
  );
});
