import type { Config } from "../config/config.ts";
import type { Environment } from "../config/read-config.ts";
import { type Finding, findingsOf } from "../domain/operations/findings.ts";
import { day, minute } from "../domain/time.ts";
import { placeOf } from "../engine/data-place.ts";
import { warnBeforeMs } from "../serving/certificate-watch.ts";
import { certificateFiles, readCertificate } from "../serving/certificates.ts";
import { clockFinding, factFindings, factsElsewhere } from "./database.ts";
import { measuredSpace, modeFindings } from "./directory.ts";
import { exposureFindings, settingFindings } from "./settings.ts";

interface RunningOptions {
  readonly config: Config;
  /** Its variables, of which some may be misspelt. */
  readonly env: Environment;
  /** The URL of `database-worker.ts`. */
  readonly program: string;
  readonly now: () => number;
}

/** How long findings are cached: the console asks often. */
const keptMs = minute / 2;

/**
 * What a server finds out about itself while it runs, for operators: what `onair doctor` looks at, but for what takes
 * long, and for whether the server can be reached.
 */
export function runningFindings(options: RunningOptions): () => Promise<readonly Finding[]> {
  let last: { readonly at: number; readonly findings: Promise<readonly Finding[]> } | null = null;
  return () => {
    const at = options.now();
    if (last && at - last.at < keptMs) return last.findings;
    last = { at, findings: found(options) };
    return last.findings;
  };
}

async function found({ config, env, program, now }: RunningOptions): Promise<Finding[]> {
  const place = placeOf(config);
  const general = [
    ...settingFindings([], env),
    ...exposureFindings(config),
    ...certificateFindings(config, now()),
  ];
  if ("database" in place) {
    const { postgresFindings } = await import("./postgres.ts");
    const { findings, newestEventAt } = await postgresFindings(place.database, now());
    return [...general, ...findings, clockFinding(now(), newestEventAt)];
  }
  const { directory } = place;
  const { skipped, wrong } = findingsOf("data_directory");
  try {
    const facts = await factsElsewhere(program, directory);
    return [
      ...general,
      ...modeFindings(directory),
      measuredSpace(directory),
      ...factFindings(facts, now()),
      clockFinding(now(), facts.newestEventAt),
      skipped("every page of the database: that takes long", '"onair doctor" reads them'),
    ];
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return [
      ...general,
      wrong(`the data directory cannot be read: ${message}`, "look at the disk and the log"),
    ];
  }
}

/** Certificates that end soon, or in whose place there are files that cannot be used. */
function certificateFindings(config: Config, now: number): Finding[] {
  const { ok, warning, wrong } = findingsOf("certificates");
  const files = certificateFiles(config);
  return [files.public, files.admin].flatMap((one) => {
    if (one === null) return [];
    const { path } = one.cert;
    try {
      const { expiresAt } = readCertificate(one, now);
      const days = Math.floor((expiresAt - now) / day);
      if (expiresAt - now > warnBeforeMs) return [ok(`${path} is good for ${days} days`)];
      return [warning(`${path} ends in ${days} days`, "renew it: the server takes the new one by itself")];
    } catch (error) {
      return [wrong(error instanceof Error ? error.message : String(error), "renew it, or mend its files")];
    }
  });
}
