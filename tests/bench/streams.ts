/*
 * Many event streams open at once: what they cost in memory, and how soon an event reaches all of them.
 * bun tests/bench/streams.ts --help
 */

import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { parseArgs } from "node:util";
import { builtInEventTypes } from "../../src/domain/events/catalogue.ts";
import { temporaryDirectory } from "../support/server.ts";
import {
  adminKey,
  builtExecutable,
  load,
  newToken,
  type OnAir,
  startOnAir,
  subscribe,
} from "./support/onair.ts";
import { megabytes, milliseconds } from "./support/report.ts";

const help = `Usage: bun tests/bench/streams.ts [options]

  --streams N        open at the same time (default: 1000)
  --applications N   that they belong to, evenly (default: 10)
  --events N         published one after the other; every stream gets each of them (default: 50)

Prints the resident memory of the server before the streams are opened, with them open, and after the events, and how
long after the beginning of its publishing an event had reached half and all of the streams.
`;

const { values } = parseArgs({
  options: {
    streams: { type: "string", default: "1000" },
    applications: { type: "string", default: "10" },
    events: { type: "string", default: "50" },
    help: { type: "boolean", short: "h", default: false },
  },
});
if (values.help) {
  process.stdout.write(help);
  process.exit();
}
const [streams, applications, events] = [values.streams, values.applications, values.events].map(Number) as [
  number,
  number,
  number,
];

const followed = builtInEventTypes.find(({ name }) => name === "channel.followed");

/** Times at which an event had come to a stream, by the number of the event. */
const arrivals: number[][] = [];

function openStream(server: OnAir, token: string): Promise<void> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    let count = 0;
    const socket = connect(Number(port), hostname, () => {
      const lines = [
        "GET /public/v1/events/stream HTTP/1.1",
        "Host: bench.invalid",
        `Authorization: Bearer ${token}`,
      ];
      socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    });
    socket.on("data", (bytes) => {
      const text = bytes.toString("latin1");
      if (text.includes("retry:")) resolve();
      for (const _ of text.matchAll(/^event: channel/gm)) {
        const number = count++;
        arrivals[number] = [...(arrivals[number] ?? []), performance.now()];
      }
    });
    socket.on("error", reject);
  });
}

const publish = async (server: OnAir) => {
  const answer = await fetch(`${server.adminUrl}/admin/v1/events`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      name: followed?.name,
      version: 1,
      broadcaster_user_id: 1,
      data: followed?.example,
    }),
  });
  if (!answer.ok) throw new Error(await answer.text());
};

const residentBytes = (pid: number) =>
  1024 * Number(readFileSync(`/proc/${pid}/status`, "utf8").match(/^VmRSS:\s+(\d+)/m)?.[1]);

const directory = temporaryDirectory();
const server = await startOnAir(await builtExecutable(), directory.path, directory.path, {
  args: ["--stream-limit", String(Math.ceil(streams / applications))],
});
try {
  await load(server, "users", [{ id: 1, username: "broadcaster", display_name: "Broadcaster" }]);
  const tokens = await Promise.all(
    Array.from({ length: applications }, () => newToken(server, { delivery: "stream" })),
  );
  for (const token of tokens) await subscribe(server, token, "channel.followed", 1);
  const before = residentBytes(server.pid);
  for (let i = 0; i < streams; i++) await openStream(server, tokens[i % applications] ?? "");
  const open = residentBytes(server.pid);
  const half: number[] = [];
  const all: number[] = [];
  for (let i = 0; i < events; i++) {
    const at = performance.now();
    await publish(server);
    while ((arrivals[i]?.length ?? 0) < streams) await Bun.sleep(1);
    const times = (arrivals[i] ?? []).map((time) => time - at).sort((a, b) => a - b);
    half.push(times[streams >> 1] ?? 0);
    all.push(times.at(-1) ?? 0);
  }
  const median = (list: number[]) => list.sort((a, b) => a - b)[list.length >> 1] ?? 0;
  const after = residentBytes(server.pid);
  process.stdout.write(
    `${streams} streams of ${applications} applications
memory: ${megabytes(before)} before, ${megabytes(open)} with all open, ${megabytes(after)} after ${events} events
an event had reached half of the streams after ${milliseconds(median(half))}, all after ${milliseconds(median(all))} (medians)
`,
  );
} finally {
  await server.stop();
  directory.remove();
}
process.exit();
