/*
 * Asks the registry for known vulnerabilities of the packages in bun.lock: bun run audit
 *
 * Fails for a vulnerability of severity high or critical in the executable. Less severe ones, and those of development
 * packages, are only printed. Without an answer of the registry, it prints NOT CHECKED and does not fail.
 */
import { bundledPackages } from "./bundled.ts";

interface Advisory {
  readonly title: string;
  readonly severity: "info" | "low" | "moderate" | "high" | "critical";
  readonly url: string;
}

type Report = Readonly<Record<string, readonly Advisory[]>>;

const deadlineMs = 60_000;

/** Fetches the report for the packages in bun.lock. Rejects with the reason when there is none. */
async function askedByBun(): Promise<Report> {
  const audit = Bun.spawn([process.execPath, "audit", "--json"], {
    stdout: "pipe",
    stderr: "pipe",
    stdin: "ignore",
    timeout: deadlineMs,
  });
  const [text, errors] = await Promise.all([audit.stdout.text(), audit.stderr.text()]);
  if (text.trim() === "") throw new Error(errors.trim().replace(/^error: /, "") || "no answer");
  return JSON.parse(text);
}

/** Returns the report. Throws if it is something else, such as an error sent with status 200. */
function checked(report: Report): Report {
  if (Object.values(report).every(Array.isArray)) return report;
  throw new Error(`its answer is not a report: ${JSON.stringify(report).slice(0, 200)}`);
}

async function reportOrExit(): Promise<Report> {
  try {
    return checked(await askedByBun());
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    process.stdout.write(
      `\nNOT CHECKED for known vulnerabilities: the registry gave no report (${reason}).\n\n`,
    );
    process.exit(0);
  }
}

const bundled = new Set((await bundledPackages()).map(({ name }) => name));
const known = Object.entries(await reportOrExit());
let count = 0;
let wrong = 0;
for (const [name, advisories] of known) {
  for (const { title, severity, url } of advisories) {
    const isWrong = bundled.has(name) && (severity === "high" || severity === "critical");
    count++;
    if (isWrong) wrong++;
    const place = bundled.has(name) ? "in the executable" : "for development only";
    process.stdout.write(
      `${isWrong ? "FAILED" : "noted "}  ${name} (${place}): ${severity}: ${title}\n        ${url}\n`,
    );
  }
}
process.stdout.write(
  `${count} known vulnerabilities, ${wrong} of them high or critical and in the executable\n`,
);
process.exit(wrong > 0 ? 1 : 0);
