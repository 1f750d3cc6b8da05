import { messageOf } from "../../domain/errors.ts";
import { type Finding, findingsOf } from "../../domain/findings.ts";
import { second } from "../../domain/time.ts";
import type { Config } from "../../server/settings/config.ts";
import type { Environment } from "../../server/settings/read-config.ts";
import { locationOf } from "../../store/location.ts";
import { certificateFindings } from "./certificates.ts";
import { clockFinding, factFindings, factsElsewhere } from "./database.ts";
import { forecastFindings, measuredSpace, modeFindings, secretFileFindings } from "./directory.ts";
import { exposureFindings, settingFindings } from "./settings.ts";

interface RunningOptions {
  readonly config: Config;
  /** The environment, checked for misspelt variables. */
  readonly env: Environment;
  /** Paths of the files with secret settings. */
  readonly secretFiles: readonly string[];
  /** The URL of `database-worker.ts`. */
  readonly program: string;
  readonly now: () => number;
}

/** How long findings are cached, because the console requests them often. A failure is not cached. */
const keptMs = 10 * second;

/**
 * Returns the checks that a running server makes on itself, for operators: those of `onair doctor`, except slow ones
 * and those of its own reachability.
 */
export function runningFindings(options: RunningOptions): () => Promise<readonly Finding[]> {
  let last: { readonly at: number; readonly findings: Promise<readonly Finding[]> } | null = null;
  return () => {
    const at = options.now();
    if (last && at - last.at < keptMs) return last.findings;
    const findings = Array.fromAsync(found(options));
    last = { at, findings };
    findings.catch(() => {
      if (last?.findings === findings) last = null;
    });
    return findings;
  };
}

async function* found(options: RunningOptions): AsyncGenerator<Finding> {
  const { config, env, secretFiles, program, now } = options;
  const location = locationOf(config);
  yield* settingFindings([], env);
  yield* exposureFindings(config);
  yield* secretFileFindings(secretFiles);
  yield* certificateFindings(config, now());
  if ("database" in location) {
    const { postgresFindings } = await import("./postgres.ts");
    const { findings, newestEventAt } = await postgresFindings(location.database, now());
    yield* findings;
    return yield clockFinding(now(), newestEventAt);
  }
  const { directory } = location;
  const { skipped, wrong } = findingsOf("data_directory");
  try {
    const facts = await factsElsewhere(program, directory);
    yield* modeFindings(directory);
    yield measuredSpace(directory);
    yield* forecastFindings(directory, facts.freeBefore, now());
    yield* factFindings(facts, now());
    yield clockFinding(now(), facts.newestEventAt);
    yield skipped("the database pages were not read, because that takes long", '"onair doctor" reads them');
  } catch (error) {
    yield wrong(`the data directory cannot be read: ${messageOf(error)}`, "check the disk and the log");
  }
}
