import { messageOf } from "../../domain/errors.ts";
import { type Finding, findingsOf } from "../../domain/findings.ts";
import { second } from "../../domain/time.ts";
import * as database from "./database.ts";
import * as directory from "./directory.ts";
import * as server from "./server.ts";
import * as settings from "./settings.ts";
import { type Check, type Subject, type SubjectOptions, subjectOf } from "./subject.ts";

/** Every check, in the order in which they run and are shown. */
export const checks: readonly Check[] = [
  settings.settingsCheck,
  settings.deprecationsCheck,
  settings.publicUrlCheck,
  settings.adminHostCheck,
  settings.certificatesCheck,
  directory.directoryCheck,
  directory.fileModesCheck,
  directory.diskSpaceCheck,
  database.integrityCheck,
  database.foreignKeysCheck,
  database.eventBodiesCheck,
  database.databaseCheck,
  database.schemaCheck,
  database.primaryCheck,
  directory.diskForecastCheck,
  database.searchIndexCheck,
  database.signingKeyCheck,
  database.webhooksCheck,
  database.deliveriesHeldCheck,
  database.sizesCheck,
  directory.backupsCheck,
  database.clockCheck,
  server.serverCheck,
  server.publicListenerCheck,
  server.publicPortCheck,
  server.adminPortCheck,
  server.reachCheck,
  server.operatorKeyCheck,
  server.findingsCheck,
];

/**
 * Runs the checks of a place in turn. A check that throws gives a finding `wrong`, and the other checks run. A finding
 * `ok` is left out where the server of `--url` reports the same check.
 */
export async function* examine(options: SubjectOptions): AsyncGenerator<Finding> {
  const subject = subjectOf(options);
  try {
    const answer = await subject.serverFindings;
    const reported = new Set(
      server.reportedBy(answer).flatMap(({ check, status }) => (status === "skipped" ? [] : check)),
    );
    for (const check of checks) {
      if (!check.places.includes(subject.place)) continue;
      for await (const finding of resultsOf(check, subject)) {
        const isRepeated =
          finding.status === "ok" && check !== server.findingsCheck && reported.has(check.name);
        if (!isRepeated) yield finding;
      }
    }
  } finally {
    subject.end();
  }
}

async function* resultsOf(check: Check, subject: Subject): AsyncGenerator<Finding> {
  const say = findingsOf(check.name);
  try {
    yield* check.run(subject, say);
  } catch (error) {
    yield say.wrong(`this check failed: ${messageOf(error)}`);
  }
}

/** The time for which findings are cached, because the console requests them often. */
const keptMs = 10 * second;

/** Returns the checks that a running server makes on itself, for operators. */
export function runningFindings(
  options: Omit<SubjectOptions, "place" | "doctor">,
): () => Promise<readonly Finding[]> {
  let last: { readonly at: number; readonly findings: Promise<readonly Finding[]> } | null = null;
  return () => {
    const at = options.now();
    // The absolute difference, because the clock may have been set back.
    if (last === null || Math.abs(at - last.at) >= keptMs)
      last = { at, findings: Array.fromAsync(examine({ ...options, place: "server" })) };
    return last.findings;
  };
}
