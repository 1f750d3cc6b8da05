import { afterAll, onTestFinished } from "bun:test";

type Undo = () => unknown;

const [ofFile, ofTest]: [Undo[], Undo[]] = [[], []];

/** At the top of a file: what is undone after its tests, the last one first. */
export function afterTests(undo: Undo): void {
  if (ofFile.length === 0) afterAll(() => undoAll(ofFile));
  ofFile.push(undo);
}

/** In a test or `beforeEach`: what is undone after the test, the last one first. */
export function afterThisTest(undo: Undo): void {
  if (ofTest.length === 0) onTestFinished(() => undoAll(ofTest));
  ofTest.push(undo);
}

/** Does all of them, whatever fails, and throws the first failure: what is left would be undone by no other test. */
async function undoAll(steps: Undo[]): Promise<void> {
  const failures: unknown[] = [];
  for (let undo = steps.pop(); undo; undo = steps.pop())
    try {
      await undo();
    } catch (error) {
      failures.push(error);
    }
  if (failures.length > 0) throw failures[0];
}
