/** Resolves when it is so; rejects after 10 seconds. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error("it did not come to that in 10 seconds");
    await Bun.sleep(1);
  }
}
