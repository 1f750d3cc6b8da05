/*
 * Many event streams open at once: what they cost in memory, and how soon an event reaches all of them.
 * bun tests/bench/streams.ts --help
 */
import { connect } from "node:net";
import { temporaryDirectory } from "../support/server.ts";
import { Publishers } from "./delivery/platform.ts";
import { builtExecutable, load, newToken, type OnAir, startOnAir, subscribe } from "./support/onair.ts";
import { readOptions } from "./support/options.ts";
import { residentBytes } from "./support/processes.ts";
import { newEventId } from "./support/receiver.ts";
import { megabytes, milliseconds } from "./support/report.ts";
import { median } from "./support/rounds.ts";

const help = `Usage: bun tests/bench/streams.ts [options]

  --streams N        open at the same time (default: 1000)
  --applications N   that they belong to, evenly (default: 10)
  --events N         published one after the other; every stream gets each of them (default: 50)

Prints the resident memory of the server before the streams are opened, with them open, and after the events, and how
long after the beginning of its publishing an event had reached half and all of the streams.
`;

const { streams, applications, events } = readOptions(help, {
  numbers: { streams: { default: 1_000 }, applications: { default: 10 }, events: { default: 50 } },
});

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
  const publishers = new Publishers(server);
  const before = residentBytes(server.pid);
  for (let i = 0; i < streams; i++) await openStream(server, tokens[i % applications] ?? "");
  const open = residentBytes(server.pid);
  const half: number[] = [];
  const all: number[] = [];
  for (let i = 0; i < events; i++) {
    const at = performance.now();
    await publishers.publish(1, newEventId());
    while ((arrivals[i]?.length ?? 0) < streams) await Bun.sleep(1);
    const times = (arrivals[i] ?? []).map((time) => time - at).sort((a, b) => a - b);
    half.push(times[streams >> 1] ?? 0);
    all.push(times.at(-1) ?? 0);
  }
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
