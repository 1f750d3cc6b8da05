import { join } from "node:path";
import {
  BenchError,
  cpuSeconds,
  forgetPeak,
  loadCore,
  peakResidentBytes,
  residentBytes,
  runPinned,
  type Server,
} from "../support/processes.ts";
import { median } from "../support/report.ts";

/** The requests of a workload: distinct ones, and the order in which they are sent, over and over. */
export interface Traffic {
  /** Path and query of each. */
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** Indexes of `paths`. */
  readonly order: Uint32Array;
}

/** The load generator's measurements of one server in one run. */
export interface Run {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the server for each request, in microseconds. */
  readonly cpuMicroseconds: number;
  /** The share of time in which the server had its core. Well below 1, the run was disturbed. */
  readonly serverShare: number;
  readonly bytesPerAnswer: number;
  /** At the end of the run. */
  readonly residentBytes: number;
  /** The maximum of the whole run. */
  readonly peakBytes: number;
}

const connections = 64;

/**
 * The load is one thread of wrk: requests are written before the start and only looked up during it. `done` prints
 * what wrk has counted as one line of JSON; its `status` counts answers above 399.
 */
const script = `
local requests, order, at = {}, {}, 0
function init(args)
  for line in io.lines(args[1]) do requests[#requests + 1] = line end
  for line in io.lines(args[2]) do order[#order + 1] = tonumber(line) + 1 end
  at = tonumber(args[4])
  local headers = {}
  for line in io.lines(args[3]) do
    local name, value = line:match("^(.-): (.*)$")
    headers[name] = value
  end
  for i, path in ipairs(requests) do requests[i] = wrk.format("GET", path, headers) end
end
function request()
  at = at % #order + 1
  return requests[order[at]]
end
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\\n{"requests":%d,"microseconds":%d,"bytes":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}\\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
`;

interface Summary {
  readonly requests: number;
  readonly microseconds: number;
  readonly bytes: number;
  readonly p50: number;
  readonly p99: number;
  readonly refused: number;
  readonly broken: number;
}

/** Loads a server; `directory` is for the files that the script reads. */
export type Load = (server: Server, seconds: number) => Promise<Run>;

/** Writes the files of a workload into `directory`, a path or an index a line, and returns what sends it to a server. */
export async function prepareLoad(directory: string, traffic: Traffic): Promise<Load> {
  const file = (name: string) => join(directory, name);
  await Bun.write(file("load.lua"), script);
  await Bun.write(file("paths"), traffic.paths.join("\n"));
  await Bun.write(file("order"), traffic.order.join("\n"));
  const headers = Object.entries(traffic.headers).map(([name, value]) => `${name}: ${value}`);
  await Bun.write(file("headers"), headers.join("\n"));
  const options = [
    `--threads=1`,
    `--connections=${connections}`,
    "--timeout=10s",
    "--script",
    file("load.lua"),
  ];

  const sent = new Map<number, number>();
  return async (server, seconds) => {
    const files = ["paths", "order", "headers"].map(file);
    // Each run goes on where the server's last one ended, whose last answers may still be in a cache.
    const before = sent.get(server.pid) ?? 0;
    const startAt = String(before % traffic.order.length);
    const command = ["wrk", ...options, `--duration=${seconds}s`, server.url, "--", ...files, startAt];
    forgetPeak(server.pid);
    const cpuBefore = cpuSeconds(server.pid);
    const output = await runPinned(loadCore, command);
    const cpu = cpuSeconds(server.pid) - cpuBefore;
    const line = output.split("\n").find((each) => each.startsWith("{"));
    if (line === undefined) throw new BenchError(`wrk failed: ${output}`);
    const summary = JSON.parse(line) as Summary;
    const { requests, refused, broken } = summary;
    if (requests === 0 || refused > 0 || broken > 0) {
      throw new BenchError(
        `${server.name}: of ${requests} answers ${refused} were errors, ${broken} broke off`,
      );
    }
    sent.set(server.pid, before + requests);
    return {
      requests,
      requestsPerSecond: requests / (summary.microseconds / 1e6),
      p50Ms: summary.p50 / 1e3,
      p99Ms: summary.p99 / 1e3,
      cpuMicroseconds: (cpu / requests) * 1e6,
      serverShare: cpu / (summary.microseconds / 1e6),
      bytesPerAnswer: summary.bytes / requests,
      residentBytes: residentBytes(server.pid),
      peakBytes: peakResidentBytes(server.pid),
    };
  };
}

/** The runs of one server, one for each round. */
export interface Measured {
  readonly name: string;
  readonly runs: readonly Run[];
}

/** A server, and what it is loaded with. */
interface Contender {
  readonly name: string;
  readonly server: Server;
  readonly load: Load;
}

/** So long On Air is being compiled under load, and its caches fill. */
const warmUpSeconds = 20;

/** How often and for how long each server is loaded. */
export interface Pace {
  readonly rounds: number;
  readonly seconds: number;
}

/** Loads the servers in turn, `rounds` times after one round of warming up that does not count. */
export async function measureInTurn(
  contenders: readonly Contender[],
  { rounds, seconds }: Pace,
): Promise<Measured[]> {
  const measured = contenders.map(({ name }) => ({ name, runs: [] as Run[] }));
  for (let round = 0; round <= rounds; round++) {
    for (const [i, { server, load }] of contenders.entries()) {
      const warmUp = round === 0;
      const run = await load(server, warmUp ? Math.max(seconds, warmUpSeconds) : seconds);
      if (!warmUp) measured[i]?.runs.push(run);
    }
  }
  return measured;
}

/** Node's and Fastify's own headers are a part of a short answer; a 304 or half a page would be less than that. */
const sizeTolerance = 0.2;

/**
 * Catches answers that are not what they were before the load, such as 304s, which wrk does not tell apart: the mean
 * answer of the servers must be of about the same size.
 */
export function requireSameAnswers(measured: readonly Measured[]): void {
  const sizes = measured.map(({ runs }) => median(runs.map((run) => run.bytesPerAnswer)));
  if (Math.max(...sizes) <= Math.min(...sizes) * (1 + sizeTolerance)) return;
  const shown = measured.map(({ name }, i) => `${name} ${sizes[i]?.toFixed(0)}`).join(", ");
  throw new BenchError(`The servers did not answer the same; mean bytes: ${shown}`);
}

/** The median of a figure over the rounds. */
export function medianOf({ runs }: Measured, figure: keyof Run): number {
  return median(runs.map((run) => run[figure]));
}

/** How one server compares to another, round by round; 1 is as good, less is worse. */
export interface Ratio {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

export function ratioOf(
  one: Measured,
  other: Measured,
  figure: "requestsPerSecond" | "cpuMicroseconds",
): Ratio {
  const ratios = one.runs.map((run, round) => {
    const [mine, theirs] = [run[figure], other.runs[round]?.[figure] ?? Number.NaN];
    return figure === "requestsPerSecond" ? mine / theirs : theirs / mine;
  });
  return { median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) };
}

/** A ratio with its range over the rounds: 0.82 (0.79 to 0.84). */
export function ratio({ median, lowest, highest }: Ratio): string {
  return `${median.toFixed(2)} (${lowest.toFixed(2)} to ${highest.toFixed(2)})`;
}
