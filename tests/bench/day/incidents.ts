import { join } from "node:path";
import type { Finding } from "../../../src/domain/findings.ts";
import { administer } from "../../support/postgres.ts";
import { adminKey, json } from "../../support/server.ts";
import { BenchError } from "../support/processes.ts";
import type { Unrecorded } from "./account.ts";
import type { DayApplication } from "./applications.ts";
import type { Publisher } from "./publisher.ts";
import type { Ledger, Receivers } from "./receivers.ts";
import { clock, type Examined, type Incident } from "./report.ts";
import type { Platform, Replica } from "./servers.ts";

/** What incidents act on. */
export interface Scene {
  readonly platform: Platform;
  readonly publisher: Publisher;
  readonly receivers: Receivers;
  readonly ledger: Ledger;
  readonly applications: readonly DayApplication[];
  readonly directory: string;
  /** The executable of another build, for the upgrade. */
  readonly next: string;
  readonly secondsPerHour: number;
  /** The hour of the day now. */
  hour(): number;
  /** Resolves at an hour of the day. */
  until(hour: number): Promise<void>;
  say(line: string): void;
}

/** Carries out what happens on the day, and keeps what was seen. */
export class Incidents {
  readonly list: Incident[] = [];
  readonly doctor: Examined[] = [];
  readonly problems: string[] = [];
  readonly unrecorded: Unrecorded[] = [];
  #backedUpAt = 0;

  constructor(private readonly scene: Scene) {}

  /** All of them, each at its hour. */
  async run(): Promise<void> {
    const { platform, receivers } = this.scene;
    const isPostgres = platform.postgres !== null;
    const former = platform.executable;
    const plan: (readonly [hour: number, title: string, act: () => Promise<string>])[] = [
      [1, "doctor on a quiet night", () => this.#examine()],
      ...(isPostgres
        ? ([
            [2, "pg_dump while everything runs, restored beside it, and looked at", () => this.#dump()],
          ] as const)
        : ([
            [2, "onair backup", () => this.#backup()],
            [3.5, "the disk is lost: killed, data removed, restored from the backup", () => this.#loss()],
          ] as const)),
      [6, "upgrade to another build", () => this.#upgrade(this.scene.next)],
      [9, "doctor on an ordinary morning", () => this.#examine()],
      [10, "applications replace their secrets", () => this.#rotate()],
      [12, "the disk of the data is full", () => this.#fill()],
      [
        14,
        "an outage of some receivers",
        async () => {
          receivers.isOutage = true;
          await this.#pass(1);
          receivers.isOutage = false;
          return "their events wait, and are sent again by the schedule";
        },
      ],
      [16, isPostgres ? "a replica is killed" : "the server is killed", () => this.#kill()],
      [22, "back to the former build", () => this.#upgrade(former)],
      [23.5, "doctor in the evening", () => this.#examine()],
    ];
    for (const [hour, title, act] of plan) {
      await this.scene.until(hour);
      this.scene.say(`${clock(this.scene.hour())} ${title}`);
      const incident: Incident = { from: this.scene.hour(), to: 0, title, detail: "" };
      this.list.push(incident);
      try {
        incident.detail = await act();
      } catch (error) {
        incident.detail = `failed: ${error instanceof Error ? error.message : error}`;
        this.problems.push(`${title}: ${incident.detail}`);
      }
      incident.to = this.scene.hour();
    }
  }

  /** Runs `onair doctor` as an operator does. */
  async #examine(replica = this.scene.platform.replicas[0] as Replica): Promise<string> {
    const { platform, hour } = this.scene;
    const at = hour();
    const ports = ["--port", String(replica.ports[0]), "--admin-port", String(replica.ports[1])];
    const args = ["doctor", "--json", "--url", replica.adminUrl, ...ports, ...replica.settings.args];
    const { stdout, stderr, code } = await platform.command(args, replica.settings.env);
    if (code > 1 || stdout === "") throw new BenchError(`doctor ended with ${code}: ${stderr}`);
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    // With a server, it tells what both found.
    const seen = new Set<string>();
    const notable = findings.filter(({ check, status }) => {
      if (seen.has(check) || (status !== "warning" && status !== "wrong")) return false;
      return seen.add(check);
    });
    // Where the data of this run was means nothing to a reader of its report.
    const shown = notable.map((finding) => ({
      ...finding,
      message: finding.message.replaceAll(platform.data, "the data directory"),
    }));
    const inOrder = findings.filter(({ status }) => status === "ok").length;
    this.doctor.push({ hour: at, findings: shown, inOrder });
    return `exit code ${code}; ${notable.map(({ check, status }) => `${check} ${status}`).join(", ") || "all in order"}`;
  }

  async #backup(): Promise<string> {
    const { platform, publisher, directory } = this.scene;
    publisher.keep();
    this.#backedUpAt = Date.now();
    const began = performance.now();
    const file = join(directory, "backup.db");
    const { adminUrl } = platform.replicas[0] as Replica;
    await this.#succeed(["backup", file, "--url", adminUrl], { ONAIR_ADMIN_KEY: adminKey });
    return `${(Bun.file(file).size / 1e6).toFixed(1)} MB in ${seconds(performance.now() - began)}`;
  }

  async #loss(): Promise<string> {
    const { platform, publisher, ledger, directory } = this.scene;
    const replica = platform.replicas[0] as Replica;
    const began = performance.now();
    await replica.end("SIGKILL");
    platform.loseData();
    await this.#succeed(["restore", join(directory, "backup.db"), "--data", platform.data]);
    ledger.restored();
    const again = publisher.republish();
    await replica.start(platform.executable);
    const downMs = performance.now() - began;
    const held = await this.#examine();
    await publisher.settled(60_000);
    await this.#succeed(["deliveries", "release", "--url", replica.adminUrl], { ONAIR_ADMIN_KEY: adminKey });
    this.unrecorded.push({ from: this.#backedUpAt, to: Date.now() });
    return `serving again after ${seconds(downMs)}; ${again} events that were acknowledged since the backup began were published again; doctor before the release: ${held}; released after ${seconds(performance.now() - began)}`;
  }

  /** A copy of the database beside the other, which sends nothing; it must have all that was acknowledged before. */
  async #dump(): Promise<string> {
    const { platform, publisher, directory } = this.scene;
    const { postgres } = platform;
    if (!postgres) throw new BenchError("there is no PostgreSQL");
    const file = join(directory, "onair.dump");
    const before = publisher.events.filter(({ acknowledgedAt }) => acknowledgedAt > 0).length;
    const began = performance.now();
    await command(["pg_dump", "--format", "custom", "--file", file, postgres.url("onair")]);
    const dumpedMs = performance.now() - began;
    await administer(postgres.url("postgres"), "CREATE DATABASE onair_copy");
    await command(["pg_restore", "--no-owner", "--dbname", postgres.url("onair_copy"), file]);
    const copy = await platform.apart("onair_copy", ["--hold-deliveries"]);
    await copy.start(platform.executable);
    const found = await this.#examine(copy);
    const counted = "SELECT count(*)::int AS events FROM event_ids";
    const [row] = await administer<{ events: number }>(postgres.url("onair_copy"), counted);
    await copy.end("SIGTERM");
    await administer(postgres.url("postgres"), "DROP DATABASE onair_copy WITH (FORCE)");
    const events = row?.events ?? 0;
    if (events < before) throw new BenchError(`the copy has ${events} events of ${before}`);
    return `${(Bun.file(file).size / 1e6).toFixed(1)} MB in ${seconds(dumpedMs)}; the copy served, had ${events} events (${before} were acknowledged before the dump), and sent nothing; doctor of the copy: ${found}`;
  }

  /** Replaces each server by another build, one after the other. */
  async #upgrade(executable: string): Promise<string> {
    const { platform } = this.scene;
    const times: string[] = [];
    const from = Date.now();
    platform.executable = executable;
    for (const replica of platform.replicas) {
      const began = performance.now();
      const code = await replica.end("SIGTERM");
      if (code !== 0) this.problems.push(`${replica.name} ended with ${code}`);
      await replica.start(executable);
      times.push(seconds(performance.now() - began));
      // A balancer tries it again.
      await Bun.sleep(1_000);
    }
    if (platform.replicas.length === 1) this.unrecorded.push({ from, to: Date.now() });
    const { stdout } = await platform.command(["version"]);
    return `to ${stdout.trim().split("\n")[0]}; stopped to ready again: ${times.join(", ")}`;
  }

  async #rotate(): Promise<string> {
    const { platform, applications, secondsPerHour } = this.scene;
    const rotating = applications.filter(({ kind }) => kind.name === "rotating");
    const overlap_seconds = Math.ceil(secondsPerHour) + 10;
    const made: [DayApplication, string][] = [];
    for (const app of rotating) {
      const server = platform.any;
      if (!server) throw new BenchError("no server runs");
      const answer = await server.post(
        "/public/v1/application/webhook-secret",
        { overlap_seconds },
        app.token,
      );
      if (answer.status !== 200) throw new BenchError(`${answer.status} ${await answer.text()}`);
      const { data } = await json<{ data: { webhook_secret: string } }>(answer);
      made.push([app, data.webhook_secret]);
    }
    await this.#pass(0.5);
    // The receivers know only the new one now, although both still sign.
    for (const [app, secret] of made) app.secrets = [secret];
    return `${made.length} of them, with an overlap of ${overlap_seconds} s; every delivery was verified, with the new one alone from half past ten`;
  }

  async #fill(): Promise<string> {
    const { platform, publisher } = this.scene;
    const { disk, postgres } = platform;
    if (!disk) return "not done: no disk can be mounted here";
    const refused = () => publisher.failures.get("503") ?? 0;
    const before = refused();
    const from = Date.now();
    disk.fill();
    await this.#pass(0.6);
    // PostgreSQL itself may have stopped: then there is no database to look at.
    const found = await this.#examine().catch((error) => `doctor: ${error.message}`);
    const wasRunning = postgres?.isRunning ?? true;
    const ready = await Promise.all(platform.replicas.map((one) => one.isReady()));
    const outbox = publisher.outbox;
    await this.#pass(0.6);
    disk.free();
    const began = performance.now();
    for (const end = began + 60_000; performance.now() < end; await Bun.sleep(200)) {
      // Like its service manager.
      if (postgres && !postgres.isRunning) await postgres.start();
      const all = await Promise.all(platform.replicas.map((one) => one.isReady()));
      if (all.every(Boolean)) break;
    }
    this.unrecorded.push({ from, to: Date.now() });
    return `publishing was refused ${refused() - before} times with 503, ${outbox} events waited at the platform halfway; ready then: ${ready.filter(Boolean).length} of ${ready.length}${postgres ? `; PostgreSQL ${wasRunning ? "kept running" : "had stopped"}` : ""}; ${found}; ready ${seconds(performance.now() - began)} after there was space`;
  }

  async #kill(): Promise<string> {
    const { platform } = this.scene;
    const replica = platform.replicas.at(-1) as Replica;
    const from = Date.now();
    await replica.end("SIGKILL");
    // As long as its service manager waits.
    await Bun.sleep(2_000);
    const began = performance.now();
    await replica.start(platform.executable);
    this.unrecorded.push({ from, to: Date.now() });
    return `started again after 2 s, ready in ${seconds(performance.now() - began)}`;
  }

  /** Waits for so much of the day, some seconds at least. */
  #pass(hours: number): Promise<void> {
    return Bun.sleep(Math.max(3_000, hours * this.scene.secondsPerHour * 1_000));
  }

  async #succeed(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<void> {
    const { code, stderr } = await this.scene.platform.command(args, env);
    if (code !== 0) throw new BenchError(`onair ${args.join(" ")} ended with ${code}: ${stderr}`);
  }
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

async function command(words: readonly string[]): Promise<void> {
  const child = Bun.spawn([...words], { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const [text, code] = await Promise.all([child.stderr.text(), child.exited]);
  if (code !== 0) throw new BenchError(`${words[0]} ended with ${code}: ${text}`);
}
