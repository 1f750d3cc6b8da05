import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";

/** The servers run on the first core and the load generator on the second, so that neither takes time of the other. */
export const serverCore = 0;
export const loadCore = 1;

/** The benchmark cannot continue. The message says why and what to do. */
export class BenchError extends Error {
  override name = "BenchError";
}

const children = new Set<Bun.Subprocess>();
const passing = new Set<string>();

process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  for (const path of passing) rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
});
for (const [signal, number] of [["SIGINT", 2] as const, ["SIGTERM", 15] as const]) {
  process.on(signal, () => process.exit(128 + number));
}

/** A directory that is removed when this process ends, however it ends. */
export function benchDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), "onair-bench-"));
  removeAtEnd(path);
  return path;
}

/** Removes a file or directory when this process ends, however it ends. */
export function removeAtEnd(path: string): void {
  passing.add(path);
}

/** Ends a program when this process ends. */
export function endWithThis(child: Bun.Subprocess): void {
  children.add(child);
  void child.exited.then(() => children.delete(child));
}

interface PinnedOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stderr?: "pipe" | "ignore";
}

/** Starts a program on one core, or on a list of them as `taskset` takes it. It ends with this process. */
export function startPinned(cpus: number | string, command: readonly string[], options: PinnedOptions = {}) {
  const child = Bun.spawn(pinned(cpus, command), {
    stderr: "ignore",
    ...options,
    stdin: "ignore",
    stdout: "pipe",
  });
  endWithThis(child);
  return child;
}

/** Runs a program to its end and returns its output. */
export async function runPinned(cpus: number | string, command: readonly string[]): Promise<string> {
  const child = startPinned(cpus, command, { stderr: "pipe" });
  const streams = [child.stdout, child.stderr as ReadableStream<Uint8Array>];
  const [output = "", complaint] = await Promise.all(streams.map((stream) => new Response(stream).text()));
  if ((await child.exited) === 0) return output;
  throw new BenchError(`${command[0]} failed: ${output}${complaint}`);
}

/** Runs a program of this benchmark in Bun, which prints one line of JSON. */
export async function runProgram<T>(cpus: number, program: string, args: readonly unknown[]): Promise<T> {
  return JSON.parse(await runPinned(cpus, [process.execPath, program, ...args.map(String)])) as T;
}

const pinned = (cpus: number | string, command: readonly string[]) => [
  ...["taskset", "--cpu-list", String(cpus)],
  ...command,
];

/** Pins this process to the core of the load. */
export function pinThisProcess(): void {
  hold(process.pid, loadCore);
}

/** Pins a process with its threads to some cores. */
export function hold(pid: number, cpus: number | string): void {
  const command = ["taskset", "--all-tasks", "--pid", "--cpu-list", String(cpus), String(pid)];
  const { success, stderr } = Bun.spawnSync(command, { stderr: "pipe" });
  // It may have ended.
  if (!success && existsSync(`/proc/${pid}`)) throw new BenchError(`taskset failed: ${stderr}`);
}

/** A server under load. */
export interface Server {
  readonly name: string;
  /** Without a trailing slash. */
  readonly url: string;
  readonly pid: number;
  /** Ends it and waits until it is gone; by SIGTERM unless told otherwise. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

interface ServerOptions extends PinnedOptions {
  /** Where it runs; on the core of servers unless told otherwise. */
  readonly cpus?: number | string;
  readonly deadlineMs?: number;
  /** The line of its output that says it is ready; its first group is the URL. */
  readonly ready?: RegExp;
}

/** Starts a server and waits until it says that it is ready. */
export async function startPinnedServer(
  name: string,
  command: readonly string[],
  { cpus = serverCore, deadlineMs = 60_000, ready = /^ready (\S+)\n/, ...options }: ServerOptions = {},
): Promise<{ server: Server; match: RegExpExecArray }> {
  const child = startPinned(cpus, command, options);
  const cutOff = setTimeout(() => child.kill("SIGKILL"), deadlineMs);
  const decoder = new TextDecoder();
  let output = "";
  for await (const chunk of child.stdout) {
    output += decoder.decode(chunk, { stream: true });
    const match = ready.exec(output);
    if (!match) continue;
    clearTimeout(cutOff);
    const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
      child.kill(signal);
      await child.exited;
    };
    return { server: { name, url: match[1] ?? "", pid: child.pid, stop }, match };
  }
  clearTimeout(cutOff);
  const again = Bun.spawnSync(pinned(cpus, command), { ...options, stderr: "pipe", timeout: 5_000 });
  throw new BenchError(`${name} ended before it was ready: ${again.stderr}`);
}

/** The unit of processor times in `/proc`. */
const ticksPerSecond = 100;

/** The fields of `/proc/<pid>/stat` from the third on: the second, a name in parentheses, may hold spaces. */
function statOf(pid: number | string): string[] {
  const line = readFileSync(`/proc/${pid}/stat`, "utf8");
  return line.slice(line.lastIndexOf(")") + 2).split(" ");
}

/** Processor time that a process has used so far, in seconds; threads that have ended count. */
export function cpuSeconds(pid: number): number {
  const [user, system] = statOf(pid).slice(11);
  return (Number(user) + Number(system)) / ticksPerSecond;
}

/** Resources that a thread has used. */
interface ThreadUse {
  /** `main` of the first one; `Worker` of those that JavaScript starts. */
  readonly name: string;
  readonly nanoseconds: number;
  /** Number of voluntary context switches. */
  readonly waits: number;
}

/** The threads that a process has now. A thread that ends while it is read is left out. */
export function threadsOf(pid: number): ThreadUse[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => threadUse(pid, thread) ?? []);
}

/** What a thread has used; null when it has ended. */
export function threadUse(pid: number, thread: string): ThreadUse | null {
  const read = (file: string) => readFileSync(`/proc/${pid}/task/${thread}/${file}`, "utf8");
  try {
    return {
      name: thread === String(pid) ? "main" : read("comm").trim(),
      nanoseconds: Number(read("schedstat").split(" ")[0]),
      waits: Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(read("status"))?.[1]),
    };
  } catch (error) {
    // ESRCH when it ends between opening and reading a file.
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}

/** Processor time of a process in nanoseconds; threads that have ended do not count. */
export function cpuNanoseconds(pid: number): number {
  return threadsOf(pid).reduce((sum, { nanoseconds }) => sum + nanoseconds, 0);
}

/** A process and those that it started, and these in turn, which live; with their fields. */
export function familyOf(pid: number): Map<number, readonly string[]> {
  const all = new Map<number, readonly string[]>();
  for (const name of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      all.set(Number(name), statOf(name));
    } catch {
      // It has ended.
    }
  }
  const family = new Map<number, readonly string[]>();
  const add = (one: number) => {
    family.set(one, all.get(one) ?? []);
    for (const [child, [, parent]] of all) if (Number(parent) === one) add(child);
  };
  add(pid);
  return family;
}

/** Processor time of a process and all that it started, those that have ended included, in seconds. */
export function cpuSecondsOfFamily(pid: number): number {
  // User and system time of itself, and of children that have ended and were waited for.
  const ticks = [...familyOf(pid).values()].flatMap((fields) => fields.slice(11, 15).map(Number));
  return ticks.reduce((sum, each) => sum + each, 0) / ticksPerSecond;
}

/**
 * From now on until the function is called: the part of the machine's processor time that went to others than this
 * process and what it started.
 */
export function otherWork(): () => number {
  const read = () => {
    const numbers =
      /^cpu +(.*)$/m.exec(readFileSync("/proc/stat", "utf8"))?.[1]?.split(" ").map(Number) ?? [];
    const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, interrupts = 0, soft = 0, steal = 0] = numbers;
    const busy = user + nice + system + interrupts + soft + steal;
    return { busy, all: busy + idle + wait, own: cpuSecondsOfFamily(process.pid) * ticksPerSecond };
  };
  const before = read();
  return () => {
    const { busy, all, own } = read();
    return Math.max(0, (busy - before.busy - (own - before.own)) / Math.max(1, all - before.all));
  };
}

/** Resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1024;
}

/** The most resident memory that a process has had so far, in bytes. */
export function peakResidentBytes(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1024;
}

/** Resets the peak of `peakResidentBytes`. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** Programs that benchmarks need, with their packages in Debian and Ubuntu. */
const packages = { taskset: "util-linux", wrk: "wrk", openssl: "openssl" } as const;
export type Program = keyof typeof packages;

/** Throws when the machine cannot run a benchmark: on Linux, two cores, with these programs. */
export function requireMachine(programs: readonly Program[]): void {
  if (process.platform !== "linux" || availableParallelism() < 2) {
    throw new BenchError("This needs Linux and two cores, one for the server and one for the load");
  }
  const missing = ["taskset" as const, ...programs].filter((program) => Bun.which(program) === null);
  if (missing.length === 0) return;
  const install = missing.map((program) => packages[program]).join(" ");
  throw new BenchError(
    `This needs ${missing.join(" and ")}. On Debian and Ubuntu: apt-get install ${install}`,
  );
}
