/** The signal that ended the process. */
type Termination = "SIGTERM" | "SIGINT" | "SIGHUP";

/** Resolves at the first SIGTERM or SIGINT, or another of `signals`; a second one ends the process at once. */
export function onTermination(signals: readonly Termination[] = ["SIGTERM", "SIGINT"]): Promise<Termination> {
  return new Promise((resolve) => {
    for (const signal of signals) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(1));
        resolve(signal);
      });
    }
  });
}

/** Calls `then` for each of these signals, which otherwise end the process. */
export function onSignals(
  signals: readonly ("SIGHUP" | "SIGUSR1" | "SIGUSR2")[],
  then: (signal: string) => void,
): void {
  for (const signal of signals) process.on(signal, () => then(signal));
}
