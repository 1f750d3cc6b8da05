import { fromSource } from "./process.ts";

/** What `onair dev --json` prints. */
export interface Addresses {
  readonly public_url: string;
  readonly admin_url: string;
  readonly docs_url: string;
  readonly receiver_url: string;
  readonly sign_in_url: string;
  readonly data: string;
  readonly admin_key: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly access_token: string;
  readonly webhook_secret: string;
}

/** A process of `onair dev`, whose output is read line by line. */
export class DevProcess {
  readonly lines: string[] = [];
  readonly #child;

  constructor(args: readonly string[], cwd: string, env: Record<string, string> = {}) {
    // As `bun run dev` starts it.
    this.#child = Bun.spawn([...fromSource, "dev", ...args], {
      cwd,
      env: { PATH: process.env["PATH"], ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    void this.#read(this.#child.stdout);
  }

  async #read(stream: ReadableStream<Uint8Array>) {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of stream) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      this.lines.push(...parts);
    }
  }

  async line(matches: (line: string) => boolean): Promise<string> {
    for (let i = 0; i < 300; i++) {
      const found = this.lines.find(matches);
      if (found !== undefined) return found;
      await Bun.sleep(50);
    }
    throw new Error(`no such line in 15 seconds:\n${this.lines.join("\n")}`);
  }

  async addresses(): Promise<Addresses> {
    await this.line(() => true);
    return JSON.parse(this.lines[0] ?? "") as Addresses;
  }

  async end(signal: NodeJS.Signals = "SIGINT"): Promise<number | null> {
    this.#child.kill(signal);
    await this.#child.exited;
    return this.#child.exitCode;
  }
}
