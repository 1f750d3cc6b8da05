import { afterAll } from "bun:test";

const steps: (() => unknown)[] = [];

/** At the top of a file: what is undone after its tests, the last one first. */
export function afterTests(undo: () => unknown): void {
  if (steps.length === 0) {
    afterAll(async () => {
      for (let step = steps.pop(); step; step = steps.pop()) await step();
    });
  }
  steps.push(undo);
}
