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
