import { DomainError } from "../../src/domain/errors.ts";
import { runThread } from "../../src/threads/run.ts";

/* A thread that offers what tests of threads call. */
runThread<{ readonly refuse?: boolean; readonly afterMs?: number }>(async ({ start, link, log }) => {
  await Bun.sleep(start.afterMs ?? 0);
  if (start.refuse) throw new DomainError("conflict", "It does not want to");
  return {
    add: (a: number, b: number) => a + b,
    refuse: async () => {
      throw new DomainError("not_found", "There is none");
    },
    /** Asks the other end, and gives what it says. */
    ask: (method: string) => link.call(method),
    never: () => new Promise(() => {}),
    say: (event: string) => log.info(event),
    whisper: (event: string) => log.debug(event),
    flush: () => log.flush(),
    breakDown: () => {
      setTimeout(() => {
        throw new Error("broken down");
      });
    },
  };
});
