import type { ServerClient } from "./server.ts";

/** The text of `/metrics`. */
export async function metricsText(
  { adminUrl }: Pick<ServerClient, "adminUrl">,
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await fetch(`${adminUrl}/metrics`, { headers });
  if (response.status !== 200) throw new Error(`/metrics: ${response.status}`);
  return response.text();
}

/** The samples in the text by series, such as `onair_attempts_total{outcome="ok"}`. */
export function samplesOf(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const [, series = "", value] = /^(\S+(?:\{.*?\})?) (\S+)/.exec(line.replace(/ # .*/, "")) ?? [];
      return [series, Number(value)];
    }),
  );
}

/** The value of a series; NaN if it is absent. */
export async function metric(server: Pick<ServerClient, "adminUrl">, series: string): Promise<number> {
  return samplesOf(await metricsText(server)).get(series) ?? Number.NaN;
}

const promtool = Bun.which("promtool");

/** True when `promtool` of Debian's `prometheus` is installed, which checks metrics and rules. Warns if it is not. */
export const hasPromtool = promtool !== null;

if (!hasPromtool) console.warn("\n*** No promtool here: tests of metrics and alert rules are SKIPPED. ***\n");

/** Runs `promtool`. Returns its output if it reports an error, else "". */
export async function complaintsOf(args: readonly string[], input = ""): Promise<string> {
  const child = Bun.spawn([promtool ?? "", ...args], {
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return code === 0 ? "" : `${out}${err}` || `exit code ${code}`;
}
