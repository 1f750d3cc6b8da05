import { writeFileSync } from "node:fs";
import type { ServerProcess } from "../../support/process.ts";
import type { SoakLoad } from "./load.ts";

/** Deliveries that arrived are kept for so long by default. */
const keptMs = 7 * 24 * 60 * 60 * 1_000;
/** Between the end of the past and the begin of the load, about. */
const betweenMs = 20_000;
const stepSeconds = 10;
const [library] = new Bun.Glob("*/faketime/libfaketimeMT.so.1").scanSync({ cwd: "/usr/lib", absolute: true });

/**
 * A week ago: as much is published there as is going to be published later, so that as much is removed then as comes.
 */
export class Past {
  readonly #beginsAt = Date.now() + betweenMs - keptMs;

  /**
   * @param seconds of the load that comes later
   * @param file tells the server's clock how far it is behind
   */
  constructor(
    readonly seconds: number,
    readonly file: string,
  ) {
    this.#moveTo(0);
  }

  /** Whether clocks can be set here. */
  static readonly isPossible = library !== undefined;

  get environment(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: library ?? "",
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
  }

  #moveTo(second: number): void {
    const behindMs = Date.now() - (this.#beginsAt + second * 1_000);
    writeFileSync(this.file, `-${(behindMs / 1_000).toFixed(3)}`);
  }

  /** Publishes it at an even pace of that clock. */
  async publish(load: SoakLoad, server: ServerProcess): Promise<void> {
    for (let second = 0; second < this.seconds; second += stepSeconds) {
      this.#moveTo(second);
      await load.publishMany(server, Math.ceil(stepSeconds * load.eventsPerSecond));
    }
    await load.allArrived();
  }
}
