import { startApp } from "../app.ts";
import { type Environment, readConfig, settingsHelp, unknownVariables } from "../config.ts";
import { createLog } from "../log.ts";
import type { Command } from "./command.ts";

export const serve: Command = {
  summary: "run the server",
  // Only made for whoever asks: a start does not wait for it.
  get help() {
    return `Usage: onair serve [options]

Runs the server on the data of the data directory. Options win over environment variables.

${settingsHelp()}
`;
  },
  async run(args: readonly string[], env: Environment) {
    const config = readConfig(args, env);
    // Before anything else, because Bun takes a moment to install the handlers, and the ready line invites signals.
    const terminated = onTermination();
    const log = createLog(config.logLevel);
    for (const name of unknownVariables(env)) log.warn("unknown_setting", { name });
    const app = await startApp({ config, log });
    if (app.newAdminKey) {
      process.stderr.write(`Operator key, shown only this once: ${app.newAdminKey}\n`);
    }
    process.stdout.write(`onair ready public=${app.publicUrl} admin=${app.adminUrl}\n`);
    await terminated;
    await app.stop();
    return 0;
  },
};

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process at once. */
export function onTermination(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(1));
        resolve();
      });
    }
  });
}
