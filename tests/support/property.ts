import fc from "fast-check";

const given = process.env["ONAIR_TEST_SEED"];

/**
 * Holds a property against generated values, the same ones each time. Fails with the smallest that breaks it.
 * `ONAIR_TEST_SEED=7` takes others.
 */
export function holds<Values extends [unknown, ...unknown[]]>(
  property: fc.IProperty<Values>,
  options: Pick<fc.Parameters<Values>, "numRuns" | "examples"> = {},
): void {
  fc.assert(property, { ...options, seed: Number(given ?? 1) });
}

/** The same of a property that takes time. */
export async function holdsLater<Values extends [unknown, ...unknown[]]>(
  property: fc.IAsyncProperty<Values>,
  options: Pick<
    fc.Parameters<Values>,
    "numRuns" | "examples" | "seed" | "interruptAfterTimeLimit" | "markInterruptAsFailure"
  > = {},
): Promise<void> {
  await fc.assert(property, { seed: Number(given ?? 1), ...options });
}
