/** The signal that ended the process. */
type Termination = "SIGTERM" | "SIGINT" | "SIGHUP";

/** `bun run` and npx pass on the SIGINT that a terminal sends to this process, too: so soon it is the same Ctrl-C. */
const sameCtrlCMs = 500;

/** Resolves at the first SIGTERM or SIGINT, or another of `signals`; a second one ends the process at once. */
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

/** Aborted at SIGTERM, at SIGINT, and when standard output is closed, as after `head`: then a command ends that goes on. */
export function untilEnded(): AbortSignal {
  const stop = new AbortController();
  void onTermination().then(() => stop.abort());
  process.stdout.on("error", () => stop.abort());
  return stop.signal;
}

/** Calls `then` for each of these signals, which otherwise end the process. */
export function onSignals(
  signals: readonly ("SIGHUP" | "SIGUSR1" | "SIGUSR2")[],
  then: (signal: string) => void,
): void {
  for (const signal of signals) process.on(signal, () => then(signal));
}
