import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A minimal Debian with systemd as its first process and a network of its own, in a container of systemd-nspawn. */
interface DebianMachine {
  /** Runs a command there, with nothing to read, and gives its exit code and what it wrote. */
  run(...command: readonly string[]): Promise<{ code: number; output: string }>;
  /** Where a file of it is on this machine. */
  path(file: string): string;
  /** Words before a command of this machine that is to run in its network. */
  readonly inItsNetwork: readonly string[];
  stop(): void;
}

const tools = ["mmdebstrap", "systemd-nspawn", "nsenter", "tar"];
const patienceMs = 60_000;

/** Starts one, or says why that cannot be. */
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
    // Its end ends all others.
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

/** A minimal root of Debian, in this machine's release, as an archive that is made once. Undefined where that fails. */
export async function packedDebian(): Promise<string | undefined> {
  if (Bun.which("mmdebstrap") === null || process.getuid?.() !== 0) return undefined;
  const release = readFileSync("/etc/os-release", "utf8");
  const own = /^ID=debian$/m.test(release) ? /^VERSION_CODENAME=(\w+)$/m.exec(release)?.[1] : undefined;
  const suite = own ?? "stable";
  const file = join(tmpdir(), `onair-test-${suite}.tar`);
  const options = ["man", "locale", "doc"].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`);
  const make = `[ -e ${file} ] || { mmdebstrap --quiet --variant=essential --include=systemd,adduser ${options.join(" ")} \
    --format=tar ${suite} ${file}.part && mv ${file}.part ${file}; }`;
  // One of several tests makes it, and the others wait.
  const { exitCode } = await Bun.$`flock ${file}.lock sh -c ${make}`.quiet().nothrow();
  // Another user could have put one there.
  return exitCode === 0 && statSync(file).uid === 0 ? file : undefined;
}

/** The first process of a container, as this machine numbers it. */
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
