import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { samplesOf } from "../../support/metrics.ts";
import { unusedPort } from "../../support/ports.ts";
import { endWithThis, familyOf, residentBytes } from "../support/processes.ts";
import type { Platform } from "./servers.ts";

/** What was measured at a moment of the day; absent where it could not be. */
export interface Sample {
  /** The hour of the day, 0 to 24. */
  readonly hour: number;
  readonly values: Readonly<Record<string, number>>;
}

const metricsLimitMs = 4_000;

/** The sum of the series of a metric. */
function sum(samples: ReadonlyMap<string, number>, name: string, holding = ""): number {
  let all = 0;
  for (const [series, value] of samples)
    if ((series === name || series.startsWith(`${name}{`)) && series.includes(holding)) all += value;
  return all;
}

/** What the operator's monitoring reads, of all replicas that answer. Counters begin again with each start. */
export async function measured({
  replicas,
  diskBytes,
  postgres,
  data,
}: Platform): Promise<Record<string, number>> {
  const texts = await Promise.all(
    replicas.map(async ({ pid, adminUrl, name }) => {
      if (pid === null) return null;
      try {
        const answer = await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(metricsLimitMs) });
        const ready = await fetch(`${adminUrl}/readyz`, { signal: AbortSignal.timeout(metricsLimitMs) });
        return { name, pid, samples: samplesOf(await answer.text()), isReady: ready.status === 200 };
      } catch {
        return null;
      }
    }),
  );
  const values: Record<string, number> = {};
  const answered = texts.filter((one) => one !== null);
  values["replicas ready"] = answered.filter(({ isReady }) => isReady).length;
  // Of the database, so the same on all.
  const pending = answered
    .map(({ samples }) => samples.get("onair_deliveries_pending"))
    .find((one) => one !== undefined);
  if (pending !== undefined) values["pending"] = pending;
  if (answered.length > 0) {
    values["queued"] = answered.reduce(
      (all, { samples }) => all + sum(samples, "onair_deliveries_queued"),
      0,
    );
    values["held up"] = Math.max(...answered.map(({ samples }) => sum(samples, "onair_endpoints_held_up")));
  }
  for (const { name, pid, samples } of answered) {
    try {
      values[`memory of ${name}`] = residentBytes(pid) / 1e6;
    } catch {
      // It has ended.
    }
    values[`attempts of ${name}`] = sum(samples, "onair_attempts_total");
    values[`failed attempts of ${name}`] =
      sum(samples, "onair_attempts_total") - sum(samples, "onair_attempts_total", 'outcome="ok"');
  }
  if (postgres?.isRunning) {
    let all = 0;
    for (const pid of familyOf(postgres.pid).keys()) all += proportionalBytes(pid);
    values["memory of PostgreSQL"] = all / 1e6;
  }
  if (diskBytes) values["disk used"] = diskBytes.used / 1e6;
  if (!postgres) {
    const size = (file: string) => (existsSync(join(data, file)) ? statSync(join(data, file)).size : 0);
    values["database"] = (size("onair.db") + size("onair.db-wal")) / 1e6;
  }
  return values;
}

/** Memory of a process, with its part of what it shares with others. */
function proportionalBytes(pid: number): number {
  try {
    return (
      Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) * 1024
    );
  } catch {
    return 0;
  }
}

/** An alert that was firing, in hours of the day. */
export interface FiredAlert {
  readonly name: string;
  readonly severity: string;
  readonly from: number;
  readonly to: number;
}

const stepSeconds = 5;
const rules = resolve(import.meta.dir, "../../../ops/alerts.yml");

/** A Prometheus with the alert rules of `ops/`, which watches the servers. */
export class Watching {
  private constructor(
    readonly url: string,
    private readonly child: Bun.Subprocess,
  ) {}

  /** null where Prometheus is not installed. */
  static async start(platform: Platform, directory: string): Promise<Watching | null> {
    if (!Bun.which("prometheus")) return null;
    const place = join(directory, "prometheus");
    mkdirSync(place);
    const targets = platform.replicas.map(({ adminUrl }) => adminUrl.replace("http://", ""));
    const config = {
      global: {
        scrape_interval: `${stepSeconds}s`,
        scrape_timeout: "4s",
        evaluation_interval: `${stepSeconds}s`,
      },
      rule_files: [rules],
      scrape_configs: [{ job_name: "onair", static_configs: [{ targets }] }],
    };
    writeFileSync(join(place, "config.yml"), JSON.stringify(config));
    const address = `127.0.0.1:${await unusedPort()}`;
    const child = Bun.spawn(
      [
        "prometheus",
        `--config.file=${join(place, "config.yml")}`,
        `--storage.tsdb.path=${join(place, "data")}`,
        `--web.listen-address=${address}`,
        "--log.level=error",
      ],
      { stdin: "ignore", stdout: "ignore", stderr: "ignore" },
    );
    endWithThis(child);
    return new Watching(`http://${address}`, child);
  }

  /** The alerts that fired between two times, in Unix seconds. */
  async fired(from: number, to: number, hourOf: (unixSeconds: number) => number): Promise<FiredAlert[]> {
    const query = new URLSearchParams({
      query: 'max by (alertname, severity) (ALERTS{alertstate="firing"})',
      start: String(from),
      end: String(to),
      step: String(stepSeconds),
    });
    const answer = await fetch(`${this.url}/api/v1/query_range?${query}`);
    const { data } = (await answer.json()) as {
      data: { result: { metric: Record<string, string>; values: [number, string][] }[] };
    };
    const alerts: FiredAlert[] = [];
    for (const { metric, values } of data.result) {
      let begun = values[0]?.[0] ?? 0;
      for (const [i, [at]] of values.entries()) {
        const next = values[i + 1]?.[0];
        if (next !== undefined && next - at <= 2 * stepSeconds) continue;
        const { alertname: name = "", severity = "" } = metric;
        alerts.push({ name, severity, from: hourOf(begun), to: hourOf(at) });
        begun = next ?? 0;
      }
    }
    return alerts.sort((a, b) => a.from - b.from);
  }

  async stop(): Promise<void> {
    this.child.kill("SIGTERM");
    await this.child.exited;
  }
}
