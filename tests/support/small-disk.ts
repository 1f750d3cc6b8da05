import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { afterThisTest } from "./after-tests.ts";
import { temporaryDirectory } from "./server.ts";

/** A file system of its own that can be filled to the last byte. */
export class SmallDisk {
  readonly data: string;
  readonly #remove: () => void;

  private constructor(
    readonly mount: string,
    remove: () => void,
  ) {
    this.#remove = remove;
    this.data = join(mount, "data");
    mkdirSync(this.data, { mode: 0o700 });
  }

  /** null where this user may not mount one. */
  static make(megabytes: number): SmallDisk | null {
    const { path, remove } = temporaryDirectory();
    const command = ["mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path];
    const mounted = Bun.which("mount") !== null && Bun.spawnSync(command).success;
    if (mounted) return new SmallDisk(path, remove);
    remove();
    return null;
  }

  /** In a test or `beforeEach`: the same, removed after the test; throws where none may be mounted. */
  static own(megabytes: number): SmallDisk {
    const disk = SmallDisk.make(megabytes);
    if (!disk) throw new Error("a second file system could not be mounted");
    afterThisTest(() => disk.remove());
    return disk;
  }

  /** Takes all the space that is left. */
  fill(): void {
    fillDisk(this.mount, 0);
  }

  /** Gives it back. */
  free(): void {
    rmSync(ballastOn(this.mount), { force: true });
  }

  /** It takes no writes from now on. No file may be open on it. */
  makeReadOnly(): void {
    Bun.spawnSync(["mount", "-o", "remount,ro", this.mount]);
  }

  remove(): void {
    Bun.spawnSync(["umount", "--lazy", this.mount]);
    this.#remove();
  }
}

const probe = SmallDisk.make(1);
probe?.remove();
/** Whether there can be one: mounting it needs root on Linux. */
export const canMount = probe !== null;
if (!canMount) console.warn("SKIPPED: no file system can be mounted here: FULL DISKS ARE NOT TESTED.");

/** Whether `hangFor` can be used here. */
export const canHang = canMount && existsSync("/dev/fuse");

/**
 * In a test: mounts a file system in which each system call waits, as on a network whose server is away. The calls fail
 * after this number of seconds, or at the end of the test.
 */
export async function hangFor(path: string, seconds: number): Promise<void> {
  // The kernel waits for a program that serves the file system, as long as the device is open.
  const script = `exec 9<>/dev/fuse; mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 hung "$0"; echo; exec sleep ${seconds}`;
  const holder = Bun.spawn(["sh", "-ec", script, path], { stdout: "pipe" });
  afterThisTest(async () => {
    holder.kill();
    await holder.exited;
    Bun.spawnSync(["umount", "--lazy", path]);
  });
  const { value } = await holder.stdout.getReader().read();
  if (!value) throw new Error("a file system that hangs could not be mounted");
}

const ballastOn = (mount: string) => join(mount, "ballast");

/** Takes all the space of a file system that is left, but for so many megabytes. */
export function fillDisk(mount: string, leave: number): void {
  const file = openSync(ballastOn(mount), "a");
  for (let size = 1 << 20; size >= 1; size >>= 1) while (writes(file, size));
  ftruncateSync(file, Math.max(0, fstatSync(file).size - leave * 1024 * 1024));
  closeSync(file);
}

function writes(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size)) === size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") return false;
    throw error;
  }
}
