import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A minimal Debian with systemd as its first process and a network of its own, in a container of systemd-nspawn. */
interface DebianMachine {
  /** Runs a command there with an empty standard input. Returns its exit code and output. */
  run(...command: readonly string[]): Promise<{ code: number; output: string }>;
  /** The path on this machine of a file in the container. */
  path(file: string): string;
  /** A prefix for commands of this machine that makes them run in the container's network. */
  readonly inItsNetwork: readonly string[];
  stop(): void;
}

const tools = ["mmdebstrap", "systemd-nspawn", "nsenter", "tar"];
const patienceMs = 60_000;

/** Starts a container, or returns the reason why none can be started. */
export async function startDebian(): Promise<DebianMachine | string> {
  const missing = tools.filter((tool) => Bun.which(tool) === null);
  if (missing.length > 0) return `${missing.join(", ")} is missing`;
  if (process.getuid?.() !== 0) return "that takes root";
  const packed = await packedDebian();
  if (packed === undefined) return "mmdebstrap could not make a root, as without a mirror of Debian";
  const root = mkdtempSync(join(tmpdir(), "onair-debian-"));
  await Bun.$`tar --extract --file ${packed}`.cwd(root);
  const container = Bun.spawn(
    ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", "--boot", "-D", root],
    { stdin: "ignore", stdout: "ignore", stderr: "ignore" },
  );
  const stop = () => {
    const first = firstProcess(container.pid);
    // When it exits, all other processes of the container are killed.
    if (first !== undefined) process.kill(first, "SIGKILL");
    container.kill("SIGKILL");
    rmSync(root, { recursive: true, force: true });
  };
  for (const endsAt = Date.now() + patienceMs; Date.now() < endsAt && container.exitCode === null; ) {
    const first = firstProcess(container.pid);
    const run = (...command: readonly string[]) => entered(first, command);
    if (
      first !== undefined &&
      /^(running|degraded)$/m.test((await run("systemctl", "is-system-running")).output)
    )
      return {
        run,
        stop,
        path: (file) => join(root, file),
        inItsNetwork: ["nsenter", "-t", `${first}`, "-n"],
      };
    await Bun.sleep(50);
  }
  stop();
  return "systemd does not start in a container here";
}

/** An archive, created once, of a minimal Debian root in this machine's release. Undefined if that fails. */
export async function packedDebian(): Promise<string | undefined> {
  if (Bun.which("mmdebstrap") === null || process.getuid?.() !== 0) return undefined;
  const release = readFileSync("/etc/os-release", "utf8");
  const own = /^ID=debian$/m.test(release) ? /^VERSION_CODENAME=(\w+)$/m.exec(release)?.[1] : undefined;
  const suite = own ?? "stable";
  const file = join(tmpdir(), `onair-test-apt-${suite}.tar`);
  const options = ["man", "locale", "doc"].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`);
  const make = `[ -e ${file} ] || { mmdebstrap --quiet --variant=essential --include=systemd,adduser,apt ${options.join(" ")} \
    --format=tar ${suite} ${file}.part && mv ${file}.part ${file}; }`;
  // If several tests need it at once, one creates it and the others wait.
  const { exitCode } = await Bun.$`flock ${file}.lock sh -c ${make}`.quiet().nothrow();
  // Another user could have placed a file there.
  return exitCode === 0 && statSync(file).uid === 0 ? file : undefined;
}

/** The pid, on this machine, of a container's first process. */
function firstProcess(container: number): number | undefined {
  const tasks = `/proc/${container}/task`;
  if (!existsSync(tasks)) return undefined;
  const children = readdirSync(tasks).flatMap((task) => {
    return readFileSync(join(tasks, task, "children"), "utf8")
      .trim()
      .split(" ");
  });
  const [child] = children.filter((id) => id !== "");
  return child === undefined ? undefined : Number(child);
}

async function entered(first: number | undefined, command: readonly string[]) {
  const child = Bun.spawn(["nsenter", "-t", `${first}`, "-a", "--", ...command], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C.UTF-8" },
  });
  const [out, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, output: out + errors };
}
