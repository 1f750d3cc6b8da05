import { join } from "node:path";
import type { ClientOptions, Window } from "./sending/client-process.ts";
import { benchmark } from "./support/bench.ts";
import { BenchError, endWithThis, loadCore, serverCore, startPinnedServer } from "./support/processes.ts";
import { median, microseconds, percentile, ratio, table, whole } from "./support/report.ts";

/*
 * Whether the HTTP client of our own is worth having: the same deliveries sent by it and by `request` of node:http and
 * node:https, in turn: bun tests/bench/sending.ts --help
 */

const clients = ["ours", "node"] as const;
type Client = (typeof clients)[number];

const schemes = ["https", "http"] as const;

/** The distribution of the deliveries. */
interface Load {
  readonly name: string;
  readonly receivers: number;
  readonly waitMs: number;
  readonly atOnce: number;
}

const loads: readonly Load[] = [
  { name: "64 at a time to one endpoint", receivers: 1, waitMs: 0, atOnce: 64 },
  { name: "300 endpoints that take 100 ms", receivers: 300, waitMs: 100, atOnce: 900 },
];

/** With a new signature for each delivery, as they are sent, or the same for all, which leaves the client alone. */
const signings = ["signed", "bare"] as const;

const about = `
Both clients run on the first core, one at a time, in windows of 400 ms, receivers on the second. A delivery has 700 bytes
and nine headers of its own, its signatures (HMAC-SHA256 and Ed25519) among them. Figures are medians of the rounds. The
ratio is what node's client reaches of ours: by CPU time for each delivery, which counts where the machine has other work,
or where the receivers' latency sets the pace, and by deliveries a second. Half of the rounds lie within its range.
`;

const windowMs = 400;
const warmUpRounds = 15;
/** The share of our client's rate at which node's client would replace it. */
const threshold = 0.75;

/** A client in its own process, idle between measurements. */
class ClientProcess {
  readonly #child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  readonly #lines: AsyncIterator<string>;

  constructor(kind: Client, options: ClientOptions) {
    const program = join(import.meta.dir, "sending/client-process.ts");
    this.#child = Bun.spawn(
      ["taskset", "--cpu-list", String(serverCore), process.execPath, program, kind, JSON.stringify(options)],
      { stdin: "pipe", stdout: "pipe", stderr: "inherit" },
    );
    endWithThis(this.#child);
    this.#lines = linesOf(this.#child.stdout);
  }

  async ready(): Promise<void> {
    if ((await this.#lines.next()).value !== "ready") throw new BenchError("A client did not start");
  }

  async send(forMs: number, signing: string): Promise<Window> {
    this.#child.stdin.write(`${forMs} ${signing}\n`);
    await this.#child.stdin.flush();
    const { value, done } = await this.#lines.next();
    if (done) throw new BenchError("A client has failed");
    return JSON.parse(value) as Window;
  }

  async stop(): Promise<void> {
    this.#child.kill();
    await this.#child.exited;
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

/** A window of each. */
type Round = Readonly<Record<Client, Window>>;

const perSecond = ({ sent, seconds }: Window) => sent / seconds;
const cpuMicroseconds = ({ sent, cpuSeconds }: Window) => (cpuSeconds / sent) * 1e6;

interface Measured {
  readonly load: string;
  readonly scheme: string;
  readonly signing: string;
  readonly rounds: readonly Round[];
}

async function measure(scheme: string, load: Load, rounds: number): Promise<Measured[]> {
  const program = join(import.meta.dir, "sending/receivers.ts");
  const { server, match } = await startPinnedServer(
    "receivers",
    [process.execPath, program, String(load.receivers), String(load.waitMs), scheme],
    { cpus: loadCore },
  );
  const ports = match[1]?.split(",") ?? [];
  const urls = ports.map((port) => `${scheme}://hook.test:${port}/hook`);
  const processes = Object.fromEntries(
    clients.map((kind) => [kind, new ClientProcess(kind, { urls, atOnce: load.atOnce })]),
  ) as Record<Client, ClientProcess>;
  for (const kind of clients) await processes[kind].ready();
  const results = signings.map((signing) => ({
    load: load.name,
    scheme,
    signing,
    rounds: [] as Round[],
  }));
  for (let round = -warmUpRounds; round < rounds; round++) {
    for (const { signing, rounds: own } of results) {
      const order = round % 2 === 0 ? clients : clients.toReversed();
      const windows: Partial<Record<Client, Window>> = {};
      for (const kind of order) windows[kind] = await processes[kind].send(windowMs, signing);
      if (round >= 0) own.push(windows as Round);
    }
  }
  for (const kind of clients) await processes[kind].stop();
  await server.stop("SIGKILL");
  return results;
}

/** The median, and the range that half of the rounds are within. */
function spread(values: readonly number[]) {
  return { median: median(values), lowest: percentile(values, 0.25), highest: percentile(values, 0.75) };
}

function summary({ load, scheme, signing, rounds }: Measured) {
  const of = (client: Client) => ({
    perSecond: median(rounds.map((round) => perSecond(round[client]))),
    cpuMicroseconds: median(rounds.map((round) => cpuMicroseconds(round[client]))),
  });
  return {
    load,
    scheme,
    signing,
    ours: of("ours"),
    node: of("node"),
    byCpu: spread(rounds.map(({ ours, node }) => cpuMicroseconds(ours) / cpuMicroseconds(node))),
    byPace: spread(rounds.map(({ ours, node }) => perSecond(node) / perSecond(ours))),
  };
}

type Summary = ReturnType<typeof summary>;

function tableOf(load: string, summaries: readonly Summary[]): string {
  const head = [load, "ours/s", "node/s", "ours CPU", "node CPU", "of ours by CPU", "by pace"];
  const rows = summaries.map(({ scheme, signing, ours, node, byCpu, byPace }) => [
    `${scheme}, ${signing === "signed" ? "signed" : "client alone"}`,
    whole(ours.perSecond),
    whole(node.perSecond),
    microseconds(ours.cpuMicroseconds),
    microseconds(node.cpuMicroseconds),
    ratio(byCpu),
    ratio(byPace),
  ]);
  return table([head, ...rows]);
}

/** The figure that decides: signed deliveries, as On Air sends them. */
function verdict(summaries: readonly Summary[]): string {
  const reached = summaries.filter(({ signing }) => signing === "signed").map(({ byCpu }) => byCpu.median);
  const [least, most] = [Math.min(...reached), Math.max(...reached)].map((value) => value.toFixed(2));
  return `Signed, node's client reaches ${least} to ${most} of ours by CPU; from ${threshold} on, ours would go`;
}

await benchmark(
  {
    about,
    options: {
      rounds: { default: 20, most: 10_000, help: "in each, both clients have a window, in turn first" },
    },
  },
  async (bench, { rounds }) => {
    for (const load of loads) {
      await bench.measure(load.name, async () => {
        const summaries: Summary[] = [];
        for (const scheme of schemes) {
          bench.say(`Measuring ${scheme}, ${load.name}`);
          summaries.push(...(await measure(scheme, load, rounds)).map(summary));
        }
        const shown = `${tableOf(load.name, summaries)}\n${verdict(summaries)}`;
        return { shown, figures: { threshold, summaries } };
      });
    }
  },
);
