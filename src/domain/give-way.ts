/** What nobody notices who has to wait for it. */
const heldMs = 0.1;

let askKernel: (() => void) | null = null;
let askedAt = 0;

/** From now on `giveWay` does something in this thread. */
export function giveWayBy(ask: () => void): void {
  askKernel = ask;
}

/**
 * Lets another thread go first that waits for the same processor, and asks for that at most every 0.1 ms. To be called
 * between the steps of work that a thread is never done with: whoever wakes up meanwhile does not always interrupt it,
 * and is else noticed by the kernel's next tick only, which may be 4 ms away.
 */
export function giveWay(): void {
  if (askKernel === null || performance.now() - askedAt < heldMs) return;
  askKernel();
  askedAt = performance.now();
}
