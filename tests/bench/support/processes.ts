import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";

/** The servers run on the first core and the load generator on the second, so that neither takes time of the other. */
export const serverCore = 0;
export const loadCore = 1;

/** The benchmark cannot go on; the message says why and what to do. */
export class BenchError extends Error {
  override name = "BenchError";
}

/** Runs a benchmark and ends the process; an error that says what to do is told without its stack. */
export async function runBench(main: () => Promise<void>): Promise<never> {
  try {
    await main();
  } catch (error) {
    const expected = error instanceof BenchError || (error instanceof TypeError && "code" in error);
    process.stderr.write(`${expected ? error.message : Bun.inspect(error)}\n`);
    process.exitCode = 1;
  }
  process.exit();
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

/** A directory that is gone when this process ends, however it ends. */
export function benchDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), "onair-bench-"));
  removeAtEnd(path);
  return path;
}

/** Has a file or directory be gone when this process ends, however it ends. */
export function removeAtEnd(path: string): void {
  passing.add(path);
}

/** Has a program end when this process ends. */
export function endWithThis(child: Bun.Subprocess): void {
  children.add(child);
  void child.exited.then(() => children.delete(child));
}

/** Starts a program on one core, or on a list of them as `taskset` takes it. It ends with this process. */
export function startPinned(
  cpus: number | string,
  command: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; stderr?: "pipe" | "ignore" } = {},
) {
  const child = Bun.spawn(pinned(cpus, command), {
    stderr: "ignore",
    ...options,
    stdin: "ignore",
    stdout: "pipe",
  });
  endWithThis(child);
  return child;
}

function pinned(cpus: number | string, command: readonly string[]): string[] {
  return ["taskset", "--cpu-list", String(cpus), ...command];
}

/** Keeps this process to the core of the load, its threads included. */
export function pinThisProcess(): void {
  const { success, stderr } = Bun.spawnSync(
    ["taskset", "--all-tasks", "--pid", "--cpu-list", String(loadCore), String(process.pid)],
    { stderr: "pipe" },
  );
  if (!success) throw new BenchError(`taskset failed: ${stderr}`);
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

/** Starts a server, on its core unless told otherwise, and waits for a line on its output that matches `ready`. */
export async function startPinnedServer(
  name: string,
  command: readonly string[],
  ready: RegExp,
  {
    cpus = serverCore,
    deadlineMs = 60_000,
    ...options
  }: { cwd?: string; env?: Record<string, string>; cpus?: number | string; deadlineMs?: number } = {},
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

/** Processor time that a process has used so far, in seconds; threads that have ended count. */
export function cpuSeconds(pid: number): number {
  const line = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field is the name in parentheses, which may hold spaces; user and system time are the 14th and 15th.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** The same in nanoseconds; threads that have ended do not count. */
export function cpuNanoseconds(pid: number): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]))
    .reduce((sum, spent) => sum + spent, 0);
}

/**
 * From now on until the function is called: the part of the machine's processor time that went to others than this
 * process and its children. The children must have ended by then, for only then is their time known.
 */
export function otherWork(): () => number {
  const machine = () => {
    const [user, nice, system, idle, wait, interrupts, soft, steal] = (
      /^cpu +(.*)$/m.exec(readFileSync("/proc/stat", "utf8"))?.[1] ?? ""
    )
      .split(" ")
      .map(Number) as [number, number, number, number, number, number, number, number];
    const busy = user + nice + system + interrupts + soft + steal;
    return { busy, all: busy + idle + wait };
  };
  const own = () => {
    const line = readFileSync("/proc/self/stat", "utf8");
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0);
  };
  const before = { ...machine(), own: own() };
  return () => {
    const { busy, all } = machine();
    const others = busy - before.busy - (own() - before.own);
    return Math.max(0, others / (all - before.all));
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

/** Has `peakResidentBytes` forget what was before. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** Throws when the machine cannot run a benchmark: on Linux, two cores, and these programs with their packages. */
export function requireMachine(packages: Readonly<Record<string, string>>): void {
  if (process.platform !== "linux" || availableParallelism() < 2) {
    throw new BenchError("This needs Linux and two cores, one for the server and one for the load");
  }
  const missing = Object.entries(packages).filter(([program]) => Bun.which(program) === null);
  if (missing.length === 0) return;
  const names = missing.map(([program]) => program).join(" and ");
  const install = missing.map(([, name]) => name).join(" ");
  throw new BenchError(`This needs ${names}. On Debian and Ubuntu: apt-get install ${install}`);
}
