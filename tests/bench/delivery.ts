import { unusedPort } from "../support/ports.ts";
import { backlog, retries } from "./delivery/backlog.ts";
import { fanOut, filters } from "./delivery/fan-out.ts";
import { hanging, latency } from "./delivery/latency.ts";
import { receivers } from "./delivery/receivers.ts";
import type { Part } from "./delivery/scene.ts";
import { steady } from "./delivery/steady.ts";
import { publish, throughput } from "./delivery/throughput.ts";
import { benchmark } from "./support/bench.ts";

/*
 * Throughput and latency of events and deliveries, and the effect of a slow endpoint, a wide fan-out and a backlog:
 * bun tests/bench/delivery.ts --help
 */

const parts: Record<string, Part> = {
  throughput,
  receivers,
  publish,
  latency,
  steady,
  hanging,
  "fan-out": fanOut,
  filters,
  backlog,
  retries,
};

const about = `
On Air runs as in production, with its log in /dev/null. The load and the receiver run on the second core. Figures are
medians of the rounds. A run takes some eight minutes and 2 GB in the directory for temporary files.
`;

await benchmark(
  {
    about,
    options: {
      rounds: { default: 3, most: 100, help: "rounds of each part, but for backlog and retries" },
      seconds: { default: 5, most: 600, help: "length of a round, where it has one" },
      backlog: { default: 1_000_000, most: 1e8, help: "deliveries of the backlog" },
    },
    parts: Object.keys(parts),
    needs: ["openssl"],
    ofExecutable: true,
    pinned: true,
  },
  async (bench, options) => {
    const shared = { ...bench, ...options, receiverPort: await unusedPort(), templates: new Set<number>() };
    for (const name of bench.only) {
      bench.say(`Measuring ${name}`);
      await bench.measure(name, async () => (parts[name] as Part)(shared));
    }
  },
);
