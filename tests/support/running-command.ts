import { program, type RunOptions } from "./process.ts";
import { until } from "./until.ts";

/** A command of the executable that goes on; what it prints is gathered meanwhile. */
export class RunningCommand {
  stdout = "";
  stderr = "";
  readonly #child;
  readonly #read: Promise<unknown>;

  constructor(
    args: readonly string[],
    { command = program, env = {}, cwd = process.cwd() }: RunOptions = {},
  ) {
    this.#child = Bun.spawn([...command, ...args], {
      cwd,
      env: { PATH: process.env["PATH"], ...env },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    this.#read = Promise.all([this.#gather("stdout"), this.#gather("stderr")]);
  }

  async #gather(name: "stdout" | "stderr"): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of this.#child[name]) this[name] += decoder.decode(bytes, { stream: true });
  }

  get output(): string {
    return this.stdout + this.stderr;
  }

  /** Those that have ended, of standard output. */
  get lines(): string[] {
    return this.stdout.split("\n").slice(0, -1);
  }

  /** Waits until it has printed this so often; gives all that it has printed. */
  async shows(text: string | RegExp, times = 1): Promise<string> {
    const form = new RegExp(typeof text === "string" ? RegExp.escape(text) : text, "gm");
    await until(
      () => (this.output.match(form)?.length ?? 0) >= times,
      () => `${form} was not shown:\n${this.output}`,
    );
    return this.output;
  }

  async line(matches: (line: string) => boolean = () => true): Promise<string> {
    await until(
      () => this.lines.some(matches),
      () => `there was no such line:\n${this.output}`,
    );
    return this.lines.find(matches) ?? "";
  }

  /** Types this into its standard input. */
  write(text: string): void {
    this.#child.stdin.write(text);
    this.#child.stdin.flush();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** All that it has printed, and its exit code, when its input and then it have come to an end. */
  async ended() {
    this.#child.stdin.end();
    await Promise.all([this.#read, this.#child.exited]);
    return { stdout: this.stdout, stderr: this.stderr, code: this.#child.exitCode };
  }

  /** Ends it by a signal, before its input ends; gives its exit code. */
  async end(signal: NodeJS.Signals = "SIGINT"): Promise<number | null> {
    this.kill(signal);
    await this.#child.exited;
    return (await this.ended()).code;
  }
}

/** What runs this line of a shell on a terminal of its own: for `command` of {@link RunOptions}. */
export const onTerminal = (line: string): readonly string[] => ["script", "-qec", line, "/dev/null"];
