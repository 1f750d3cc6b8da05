import { connect } from "node:net";
import { subscribe } from "../support/publishing.ts";
import { benchmark } from "./support/bench.ts";
import { load, newToken, type OnAir, startOnAir } from "./support/onair.ts";
import { residentBytes } from "./support/processes.ts";
import { median, megabytes, milliseconds, table } from "./support/report.ts";
import { newEventId, Publishers } from "./support/wire.ts";

/*
 * The memory of many open event streams, and the delay until an event has reached all of them:
 * bun tests/bench/streams.ts --help
 */

const about = `
Streams belong to ten applications, evenly. Shows the server's resident memory before the streams are opened, with open
streams, and after 50 events that each go to every stream; and the median time from the start of publishing until an event
reached half and all of the streams.
`;

const applications = 10;
const events = 50;

/** The times at which an event reached each stream, by the number of the event. */
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

await benchmark(
  {
    about,
    options: { streams: { default: 1_000, least: applications, help: "open at the same time" } },
    ofExecutable: true,
  },
  async (bench, { streams }) => {
    const limit = Math.ceil(streams / applications);
    const server = await startOnAir(bench, { args: ["--stream-limit", `${limit}`] });
    await load(server, "users", [{ id: 1, username: "broadcaster", display_name: "Broadcaster" }]);
    const tokens = await Promise.all(
      Array.from({ length: applications }, () => newToken(server, { delivery: "stream" })),
    );
    for (const token of tokens) await subscribe(server, { token }, ["channel.followed"], 1);
    const publishers = new Publishers(server);
    await bench.measure("streams", async () => {
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
      return {
        shown: table([
          [`${streams} streams`, "RSS before", "all open", "after events", "an event at half", "at all"],
          ["", ...[before, open, after].map(megabytes), ...[median(half), median(all)].map(milliseconds)],
        ]),
        figures: { before, open, after, half, all },
      };
    });
    await server.stop();
  },
);
