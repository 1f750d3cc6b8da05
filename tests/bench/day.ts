import { existsSync, readFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { buildExecutable } from "../../scripts/executable.ts";
import { buildOf } from "../../scripts/version.ts";
import { seeded } from "../../src/dev/chance.ts";
import { alwaysBugs, ndjson } from "../support/server.ts";
import { accountOf, rowsOfFile, rowsOfPostgres } from "./day/account.ts";
import { Calls, createApplications, type DayApplication } from "./day/applications.ts";
import { Channels, shareAt, usernameOf } from "./day/events.ts";
import { Incidents } from "./day/incidents.ts";
import { Publisher } from "./day/publisher.ts";
import { Ledger, Receivers, Streams } from "./day/receivers.ts";
import { pageOf } from "./day/report.ts";
import { measured, type Sample, Watching } from "./day/samples.ts";
import { Platform } from "./day/servers.ts";
import { type Bench, benchmark, type Outcome, type Values } from "./support/bench.ts";
import { BenchError } from "./support/processes.ts";
import { percentile, table, whole } from "./support/report.ts";

/*
 * A day of a platform in some minutes, on the real executable, with its accidents: bun tests/bench/day.ts --help
 */

const about = `
The executable runs as the platform of 10,000 channels and 300 applications: prompt, slow, failing, gone, at their limits,
with filters, on event streams. The load follows the hours of a day: a quiet night, and a thousand channels that go live at
eight in the evening. Meanwhile the database is backed up and restored, the build is replaced and brought back, secrets are
rotated, the disk becomes full, and a server is killed. At the end each acknowledged event is looked for in the database and
at the receivers; a broken promise ends the run with 1. The clock is not changed: retries, alerts and times to live take
their real time. The data is on a file system in memory where one can be mounted (as root), because a disk has to be filled.
`;

const options = {
  minutes: { default: 60, most: 1_440, help: "how long the day takes" },
  postgres: {
    default: 0,
    least: 0,
    most: 8,
    help: "so many replicas on PostgreSQL; 0 for one server on SQLite",
  },
  rate: {
    default: 60,
    most: 5_000,
    help: "events a second, the mean of the day; evenings have 2.4 times as many",
  },
  channels: { default: 10_000, least: 100, most: 100_000, help: "channels of the platform" },
  applications: { default: 300, least: 20, most: 5_000, help: "applications" },
  seed: { default: 1, help: "of the random choices" },
  next: { default: null, help: "the executable to upgrade to; by default this build with another version" },
  report: { default: null, help: "write the page of the day to this file" },
} as const;

const hoursOfDay = 24;
const tickMs = 50;
const samplesOfDay = 240;
const setUpRate = 100_000;
const prompt = new Set(["prompt", "one at a time", "filtering", "rotating"]);

async function day(bench: Bench, given: Values<typeof options>): Promise<Outcome> {
  const { directory, executable, say } = bench;
  const { minutes, postgres: replicas, rate, channels, applications: count, seed } = given;
  const dayMs = minutes * 60_000;
  const secondsPerHour = dayMs / hoursOfDay / 1_000;
  const next = given.next === null ? await anotherBuild(directory) : resolve(given.next);
  const timeToLiveSeconds = Math.max(45, Math.min(600, minutes * 10));
  const expected = rate * minutes * 60;
  const platform = await Platform.start({
    directory,
    executable,
    replicas,
    args: ["--time-to-live", `chat.message.sent=${timeToLiveSeconds}`],
    megabytes: Math.ceil((replicas > 0 ? 1_000 : 600) + (expected * (replicas > 0 ? 8 : 4)) / 1_000),
  });
  const ledger = new Ledger();
  const receivers = new Receivers(ledger);
  try {
    return await run();
  } finally {
    await platform.remove();
    await receivers.stop();
  }

  async function run(): Promise<Outcome> {
    const random = seeded(seed);
    const any = () => platform.any;
    say("creating users, channels, applications and subscriptions");
    const applications = await prepare(platform, { count, channels, receiver: receivers.url, random });
    receivers.applications = applications;
    const streams = new Streams(ledger, any);
    for (const app of applications) if (app.kind.name === "stream") streams.follow(app);
    const publisher = new Publisher(any);
    const calls = new Calls(any, applications, channels);
    const watching = minutes >= 5 ? await Watching.start(platform, directory) : null;
    const world = new Channels(channels, random);

    const startedAt = Date.now();
    const hour = () => ((Date.now() - startedAt) / dayMs) * hoursOfDay;
    const until = async (at: number) => {
      for (let left = startedAt + (at / hoursOfDay) * dayMs - Date.now(); left > 0; ) {
        await Bun.sleep(Math.min(left, 1_000));
        left = startedAt + (at / hoursOfDay) * dayMs - Date.now();
      }
    };
    const incidents = new Incidents({
      platform,
      publisher,
      receivers,
      ledger,
      applications,
      directory,
      next,
      secondsPerHour,
      hour,
      until,
      say,
    });

    // Some channels are live at midnight already.
    world.changesUntil(0);
    const timers: Timer[] = [];
    let owed = 0;
    let nextRaid = 8;
    const tick = () => {
      // Where the incidents take longer than the day, its last minutes do, too.
      const now = Math.min(hour(), hoursOfDay - 0.01);
      for (const event of world.changesUntil(now)) publisher.publish(event);
      const isRaid = now % 0.5 < 0.12 && now > 8;
      if (isRaid && now > nextRaid) {
        world.raid(now + 0.12);
        nextRaid = now + 0.3;
      }
      owed += (rate * shareAt(now) * (isRaid ? 2 : 1) * tickMs) / 1_000;
      // Viewers do not act at an even pace.
      for (let n = Math.floor(owed * 2 * random()); n > 0; n--, owed--) {
        const event = world.next(now);
        if (event) publisher.publish(event);
      }
    };
    timers.push(setInterval(tick, tickMs));
    timers.push(
      setInterval(() => void reportLive(platform, world), Math.max(2_000, 1_000 * secondsPerHour * 0.05)),
    );
    calls.start();

    const samples: Sample[] = [];
    const sampler = new Sampler({ platform, publisher, ledger, calls, world, applications });
    let isSampling = false;
    const sample = async () => {
      if (isSampling) return;
      isSampling = true;
      samples.push({ hour: hour(), values: await sampler.take() });
      isSampling = false;
    };
    timers.push(setInterval(() => void sample(), Math.max(500, dayMs / samplesOfDay)));

    await incidents.run();
    await until(hoursOfDay);
    say("24:00; waiting for what is under way");
    for (const timer of timers) clearInterval(timer);
    calls.close();
    const problems: string[] = [...incidents.problems];
    if (!(await publisher.settled(120_000)))
      problems.push(`${publisher.outbox} events are still not acknowledged`);
    await drained(platform);
    await sample();
    publisher.end();
    streams.close();
    const endedAt = Date.now();
    const alerts = watching
      ? await watching.fired(
          startedAt / 1000,
          endedAt / 1000,
          (at) => ((at * 1000 - startedAt) / dayMs) * hoursOfDay,
        )
      : null;
    await watching?.stop();
    const codes = await platform.stop();
    for (const code of codes) if (code !== 0) problems.push(`a server ended with ${code}`);
    say("comparing what was acknowledged with what is stored and what has arrived");
    const rows = platform.postgres
      ? rowsOfPostgres(platform.postgres.url("onair"))
      : rowsOfFile(join(platform.data, "onair.db"));
    const known = {
      ledger,
      streams,
      unrecorded: incidents.unrecorded,
      timeToLiveMs: timeToLiveSeconds * 1_000,
    };
    const account = await accountOf(applications, publisher.events, known, rows);
    problems.push(...publisher.problems, ...account.problems);
    const log = logOf(platform);
    for (const [, event, count] of log)
      if (alwaysBugs.some((bug) => bug === event)) problems.push(`the log has ${count} lines ${event}`);
    const all = (name: string) => account.kinds.reduce((sum, { statuses }) => sum + (statuses[name] ?? 0), 0);
    const filtered = account.kinds.reduce((sum, one) => sum + one.filtered, 0);
    const { acknowledged: acknowledgedMs, arrived: arrivedMs } = sampler.all;
    const ms = (value: number) => `${value.toFixed(1)} ms`;
    const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${whole(totalmem() / 2 ** 30)} GiB, shared with other programs; the load and the receivers run there, too`;
    const gaps = [...streams.gaps.values()].flat().length;
    const page = pageOf(
      {
        platform: replicas > 0 ? `${replicas} replicas on PostgreSQL` : "one server on SQLite",
        run: [
          ["Build", `${(await platform.command(["version"])).stdout.trim().split("\n")[0]}`],
          ["Machine", machine],
          ["Length", `${minutes} minutes: an hour of the day takes ${whole(secondsPerHour)} s`],
          [
            "Data",
            platform.disk
              ? "on a file system in memory, so syncs take no time"
              : "on the disk of the machine",
          ],
          ["Channels", whole(channels)],
          [
            "Applications, subscriptions",
            `${whole(applications.length)}, ${whole(applications.reduce((sum, one) => sum + one.subscriptions.length, 0))}`,
          ],
          ["Events", `${whole(rate)} a second as the mean of the day`],
          [
            "Acknowledged",
            `p50 ${ms(percentile(acknowledgedMs, 0.5))}, p99 ${ms(percentile(acknowledgedMs, 0.99))} after the request that was acknowledged`,
          ],
          [
            "Arrived at prompt receivers",
            `p50 ${ms(percentile(arrivedMs, 0.5))}, p90 ${ms(percentile(arrivedMs, 0.9))}, p99 ${ms(percentile(arrivedMs, 0.99))} after the first request that published it, incidents included`,
          ],
        ],
        samples,
        incidents: incidents.list,
        alerts,
        doctor: incidents.doctor,
        log,
        account: { ...account, problems },
        publishing: publisher.failures,
        calls: calls.answers,
        notes: [
          ["events acknowledged", whole(account.acknowledged)],
          ["of them without a subscription", whole(account.withoutSubscription)],
          ["deliveries", whole(account.deliveries)],
          [
            "requests with a delivery that had been accepted before, after kills and the restore",
            whole(ledger.repeated),
          ],
          [
            "first attempts that arrived after a later one, where several run at once",
            whole(ledger.overtaken),
          ],
          [
            "interruptions of event streams; gaps they were told of",
            `${whole(streams.interruptions)}; ${whole(gaps)}`,
          ],
        ],
      },
      secondsPerHour,
    );
    if (given.report !== null) await Bun.write(given.report, page);
    return {
      shown: `${table([
        ["", "number", "requests", "delivered", "pending", "expired", "failed", "filtered"],
        ...account.kinds.map(({ name, applications, requests, statuses, filtered }) => [
          name,
          ...[applications, requests].map(whole),
          ...["delivered", "pending", "expired", "failed"].map((one) => whole(statuses[one] ?? 0)),
          whole(filtered),
        ]),
      ])}\n${whole(account.acknowledged)} events were acknowledged; acknowledged p99 ${ms(percentile(acknowledgedMs, 0.99))}, arrived p99 ${ms(percentile(arrivedMs, 0.99))}`,
      figures: {
        acknowledged: account.acknowledged,
        deliveries: account.deliveries,
        delivered: all("delivered"),
        pending: all("pending"),
        expired: all("expired"),
        failed: all("failed"),
        filtered,
        repeated: ledger.repeated,
        alerts,
        incidents: incidents.list,
        doctor: incidents.doctor,
      },
      problems,
    };
  }
}

/** This build under another version, as a build one commit later. */
async function anotherBuild(directory: string): Promise<string> {
  const root = resolve(import.meta.dir, "../..");
  const build = buildOf(root);
  const [major, minor = 0, patch = 0] = build.version.split("+")[0]?.split(".").map(Number) ?? [];
  const file = join(directory, "onair-next");
  await buildExecutable(file, undefined, { ...build, version: `${major}.${minor}.${patch + 1}` });
  if (!existsSync(file)) throw new BenchError("the next build could not be made");
  return file;
}

interface Preparing {
  readonly count: number;
  readonly channels: number;
  readonly receiver: string;
  readonly random: () => number;
}

/** Loads the platform's data and creates the applications; the first prompt one gets a low limit of requests. */
async function prepare(
  platform: Platform,
  { count, channels, receiver, random }: Preparing,
): Promise<DayApplication[]> {
  const server = platform.replicas[0];
  if (!server) throw new BenchError("there is no server");
  const ids = Array.from({ length: channels }, (_, i) => i + 1);
  for (let from = 0; from < ids.length; from += setUpRate) {
    const some = ids.slice(from, from + setUpRate);
    await server.load(
      "users",
      some.map((id) => ({ id, username: usernameOf(id), followers_count: channels - id })),
    );
    if (from === 0)
      await server.load(
        "categories",
        Array.from({ length: 100 }, (_, i) => ({ id: i + 1, name: `Game ${i + 1}`, slug: `game-${i + 1}` })),
      );
    await server.load(
      "channels",
      some.map((id) => ({ id, user_id: id, slug: usernameOf(id).replaceAll("_", "-") })),
    );
  }
  const applications = await createApplications(platform.replicas, { count, channels, receiver, random });
  const impatient = applications.find(({ kind }) => kind.name === "prompt");
  const changed = await server.admin("PATCH", `/admin/v1/applications/${impatient?.id}`, { rate_limit: 60 });
  if (changed.status !== 200) throw new BenchError(await changed.text());
  return applications;
}

/** Reports who is live, as a platform does all the time. */
async function reportLive(platform: Platform, { live }: Channels): Promise<void> {
  const rows = live.map((id, i) => ({
    channel_id: id,
    category_id: 1 + (id % 100),
    viewers: Math.ceil(50_000 / (i + 1)),
  }));
  if (rows.length === 0) return;
  await platform.any
    ?.admin("PUT", "/admin/v1/livestreams?snapshot=true&confirm=true", ndjson(rows))
    .then((answer) => answer.arrayBuffer())
    .catch(() => {});
}

interface Sources {
  readonly platform: Platform;
  readonly publisher: Publisher;
  readonly ledger: Ledger;
  readonly calls: Calls;
  readonly world: Channels;
  readonly applications: readonly DayApplication[];
}

/** Takes what has happened since the last sample. */
class Sampler {
  readonly #sources: Sources;
  #arrivedMs: number[] = [];
  #at = performance.now();
  #requests = 0;
  /** Of the whole day, in milliseconds. */
  readonly all = { acknowledged: [] as number[], arrived: [] as number[] };

  constructor(sources: Sources) {
    this.#sources = sources;
    const { ledger, publisher } = sources;
    ledger.onFirst = (event, app) => {
      const begunAt = publisher.events[event]?.begunAt ?? 0;
      if (begunAt > 0 && prompt.has(app.kind.name)) this.#arrivedMs.push(performance.now() - begunAt);
    };
  }

  async take(): Promise<Record<string, number>> {
    const { platform, publisher, ledger, calls, world } = this.#sources;
    const now = performance.now();
    const seconds = (now - this.#at) / 1_000;
    this.#at = now;
    const [acknowledged, arrived, called] = [publisher.latenciesMs, this.#arrivedMs, calls.latenciesMs];
    publisher.latenciesMs = [];
    this.#arrivedMs = [];
    calls.latenciesMs = [];
    for (const one of acknowledged) this.all.acknowledged.push(one);
    for (const one of arrived) this.all.arrived.push(one);
    const requests = [...ledger.requests.values()].reduce((sum, one) => sum + one, 0);
    const values: Record<string, number> = {
      acknowledged: publisher.takeAcknowledged() / seconds,
      arrived: arrived.length / seconds,
      requests: (requests - this.#requests) / seconds,
      outbox: publisher.outbox,
      live: world.live.length,
    };
    this.#requests = requests;
    for (const [name, latencies] of Object.entries({ acknowledged, arrival: arrived, calls: called })) {
      if (latencies.length === 0) continue;
      values[`${name} p50`] = percentile(latencies, 0.5);
      values[`${name} p99`] = percentile(latencies, 0.99);
    }
    return Object.assign(values, await measured(platform));
  }
}

const longestDrainMs = 120_000;
const quietMs = 15_000;

/** Waits until what is pending no longer becomes less: the rest waits for its retries. */
async function drained(platform: Platform): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  let since = performance.now();
  for (const end = since + longestDrainMs; performance.now() < end; await Bun.sleep(500)) {
    const { pending = Number.POSITIVE_INFINITY } = await measured(platform);
    if (pending < least) since = performance.now();
    least = Math.min(least, pending);
    if (pending === 0 || performance.now() - since > quietMs) return;
  }
}

/** Events of the logs of all servers, on the levels warn and error. */
function logOf({ replicas }: Platform): [level: string, event: string, count: number][] {
  const counts = new Map<string, number>();
  for (const file of new Set(replicas.map(({ settings }) => settings.log))) {
    for (const line of readFileSync(file, "utf8").split("\n")) {
      if (!line.startsWith("{")) continue;
      const { level, event } = JSON.parse(line) as { level: string; event: string };
      counts.set(`${level} ${event}`, (counts.get(`${level} ${event}`) ?? 0) + 1);
    }
  }
  return [...counts].sort().map(([key, count]) => {
    const [level = "", event = ""] = key.split(" ");
    return [level, event, count];
  });
}

await benchmark({ about, options, ofExecutable: true }, (bench, given) =>
  bench.measure("day", () => day(bench, given)),
);
