/** A signal that ends the process. */
type Termination = "SIGTERM" | "SIGINT" | "SIGHUP";

/** The time in which SIGINTs count as one Ctrl-C: `bun run` and npx forward the SIGINT that the terminal also sends. */
const sameCtrlCMs = 500;

/** Resolves at the first of `signals`. The same signal ends the process when it comes again. */
export function onTermination(
  signals: readonly Termination[] = ["SIGTERM", "SIGINT"],
  now: () => number = performance.now.bind(performance),
): Promise<Termination> {
  return new Promise((resolve) => {
    for (const signal of signals) {
      process.once(signal, () => {
        const firstAt = now();
        process.on(signal, () => {
          if (signal !== "SIGINT" || now() - firstAt > sameCtrlCMs) process.exit(1);
        });
        resolve(signal);
      });
    }
  });
}

/**
 * Returns a signal for commands that run until stopped: aborted at SIGTERM and SIGINT, and when standard output is
 * closed.
 */
export function untilEnded(): AbortSignal {
  const stop = new AbortController();
  void onTermination().then(() => stop.abort());
  process.stdout.on("error", () => stop.abort());
  return stop.signal;
}

/** Calls `then` at each of `signals`, which would otherwise end the process. */
export function onSignals(
  signals: readonly ("SIGHUP" | "SIGUSR1" | "SIGUSR2")[],
  then: (signal: string) => void,
): void {
  for (const signal of signals) process.on(signal, () => then(signal));
}
