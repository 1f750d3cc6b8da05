import { dlopen, ptr } from "bun:ffi";
import { getPriority } from "node:os";
import { giveWayBy } from "../domain/give-way.ts";

/** `struct sched_attr` of sched_setattr(2), as its first version has it. */
const attributesBytes = 48;
const sliceNs = 100_000n;

/** The number of the system call, which differs between processors. */
const setAttributes: Readonly<Partial<Record<NodeJS.Architecture, number>>> = { x64: 314, arm64: 274 };

function ofLibc() {
  return dlopen("libc.so.6", {
    syscall: { args: ["i64", "i64", "ptr", "i64"], returns: "i64" },
    sched_yield: { args: [], returns: "i32" },
  }).symbols;
}

/**
 * Asks the kernel for short slices for the calling thread, which then also gets the processor sooner when it wakes:
 * before a thread with longer ones has used up its own (Linux 6.12 and later). Its share of the processor stays the
 * same. Threads that it makes afterwards begin with the same. Where the system knows no such thing nothing happens.
 */
export function runPromptly(): void {
  onLinux(askForShortSlices);
}

/** The same for a thread that others should not have to wait for: `giveWay` lets them go first. */
export function runBehind(): void {
  onLinux((libc) => {
    askForShortSlices(libc);
    giveWayBy(libc.sched_yield);
  });
}

function askForShortSlices({ syscall }: ReturnType<typeof ofLibc>): void {
  const call = setAttributes[process.arch];
  if (call === undefined) return;
  const attributes = new DataView(new ArrayBuffer(attributesBytes));
  attributes.setUint32(0, attributesBytes, true);
  attributes.setInt32(16, getPriority(), true);
  attributes.setBigUint64(24, sliceNs, true);
  // The calling thread is 0, and so are the usual policy and no flags.
  syscall(BigInt(call), 0n, ptr(attributes.buffer), 0n);
}

function onLinux(act: (libc: ReturnType<typeof ofLibc>) => void): void {
  if (process.platform !== "linux") return;
  try {
    act(ofLibc());
  } catch {
    // Another C library; then it is as it was.
  }
}
