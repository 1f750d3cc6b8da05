import type { Finding } from "../../../src/domain/findings.ts";
import type { Account } from "./account.ts";
import type { FiredAlert, Sample } from "./samples.ts";

/** Something that was done to the platform, in hours of the day. */
export interface Incident {
  readonly from: number;
  to: number;
  readonly title: string;
  /** What was seen. */
  detail: string;
}

/** What `onair doctor` said, without what is in order. */
export interface Examined {
  readonly hour: number;
  readonly findings: readonly Finding[];
  readonly inOrder: number;
}

/** All that the page shows. */
interface DayReport {
  /** Of the platform: for example "one server on SQLite". */
  readonly platform: string;
  /** Name and value of what the run was made with. */
  readonly run: readonly (readonly [string, string])[];
  readonly samples: readonly Sample[];
  readonly incidents: readonly Incident[];
  /** null where no Prometheus watched. */
  readonly alerts: readonly FiredAlert[] | null;
  readonly doctor: readonly Examined[];
  /** Events of the log on the levels warn and error, with their number. */
  readonly log: readonly (readonly [level: string, event: string, count: number])[];
  readonly account: Account;
  readonly publishing: ReadonlyMap<string, number>;
  readonly calls: ReadonlyMap<string, number>;
  readonly notes: readonly (readonly [string, string])[];
}

const width = 960;
const height = 170;
const margin = { left: 58, right: 8, top: 8, bottom: 20 } as const;

interface Plot {
  readonly title: string;
  /** Name shown, and name of the value in samples. */
  readonly lines: readonly (readonly [shown: string, value: string])[];
  readonly isLog?: boolean;
  /** Draws the change for a second instead of the value. */
  readonly isRate?: boolean;
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Hours of a day as a clock shows them. */
export function clock(hour: number): string {
  const minutes = Math.round(hour * 60);
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}

function shown(value: number): string {
  if (value >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function pointsOf(
  samples: readonly Sample[],
  value: string,
  isRate: boolean,
  secondsPerHour: number,
): [number, number][] {
  const points: [number, number][] = [];
  let before: { hour: number; value: number } | null = null;
  for (const { hour, values } of samples) {
    if (hour > 24) break;
    const now = values[value];
    if (now === undefined || Number.isNaN(now)) {
      before = null;
      continue;
    }
    if (!isRate) points.push([hour, now]);
    // A counter begins again with a start.
    else if (before && now >= before.value)
      points.push([hour, (now - before.value) / ((hour - before.hour) * secondsPerHour)]);
    before = { hour, value: now };
  }
  return points;
}

function drawn(
  { title, lines, isLog = false, isRate = false }: Plot,
  report: DayReport,
  secondsPerHour: number,
): string {
  const series = lines
    .map(([name, value]) => ({ name, points: pointsOf(report.samples, value, isRate, secondsPerHour) }))
    .filter(({ points }) => points.length > 0);
  const values = series.flatMap(({ points }) => points.map(([, value]) => value));
  if (values.length === 0) return "";
  const highest = Math.max(...values, isLog ? 1 : 0) || 1;
  const lowest = isLog ? Math.max(0.1, Math.min(...values.filter((value) => value > 0))) : 0;
  const share = (value: number) =>
    isLog
      ? Math.log(Math.max(value, lowest) / lowest) / Math.max(1e-9, Math.log(highest / lowest))
      : value / highest;
  const x = (hour: number) => margin.left + ((width - margin.left - margin.right) * hour) / 24;
  const y = (value: number) => height - margin.bottom - (height - margin.top - margin.bottom) * share(value);
  const bands = report.incidents
    .filter(({ from }) => from < 24)
    .map(({ from, to, title }) => {
      const wide = Math.max(2, x(Math.min(24, to)) - x(from));
      return `<rect class="band" x="${x(from).toFixed(1)}" y="${margin.top}" width="${wide.toFixed(1)}" height="${height - margin.top - margin.bottom}"><title>${escaped(`${clock(from)} ${title}`)}</title></rect>`;
    });
  const hours = Array.from({ length: 13 }, (_, i) => 2 * i).map(
    (hour) => `<text class="axis" x="${x(hour)}" y="${height - 5}" text-anchor="middle">${hour}</text>`,
  );
  const ticks = (isLog ? [lowest, Math.sqrt(lowest * highest), highest] : [0, highest / 2, highest]).map(
    (value) =>
      `<path class="grid" d="M${margin.left} ${y(value).toFixed(1)}H${width - margin.right}"/><text class="axis" x="${margin.left - 6}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end">${shown(value)}</text>`,
  );
  const paths = series.map(({ points }, i) => {
    const d = points
      .map(([hour, value], n) => `${n === 0 ? "M" : "L"}${x(hour).toFixed(1)} ${y(value).toFixed(1)}`)
      .join("");
    return `<path class="line c${i}" d="${d}"/>`;
  });
  const legend = series.map(({ name }, i) => `<span class="key c${i}">${escaped(name)}</span>`).join(" ");
  return `<figure><figcaption><b>${escaped(title)}</b> ${legend}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)} over the hours of the day">${[...bands, ...ticks, ...hours, ...paths].join("")}</svg></figure>`;
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  `<div class="wide"><table><thead><tr>${head.map((one) => `<th scope="col">${escaped(one)}</th>`).join("")}</tr></thead><tbody>${rows
    .map((row) => `<tr>${row.map((cell) => `<td>${escaped(cell)}</td>`).join("")}</tr>`)
    .join("\n")}</tbody></table></div>`;

const counted = (counts: ReadonlyMap<string, number>) =>
  [...counts].sort(([a], [b]) => a.localeCompare(b)).map(([name, count]) => [name, shown(count)]);

const style = `
:root{color-scheme:light dark;--text:#1c1c22;--quiet:#5c5c66;--line:#d9d9e0;--band:#f4c95d55;--c0:#2563c9;--c1:#c2410c;--c2:#15803d;--c3:#7e22ce;--c4:#0e7490}
@media(prefers-color-scheme:dark){:root{--text:#ececf1;--quiet:#a5a5b1;--line:#3a3a44;--band:#f4c95d33;--c0:#7fb0ff;--c1:#ff9d66;--c2:#6fdc94;--c3:#d3a6ff;--c4:#6fd6e8}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--text);max-width:60rem;margin:2rem auto;padding:0 1rem}
figure{margin:1.5rem 0}svg{width:100%;height:auto}.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;width:100%}th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}
.axis{fill:var(--quiet);font-size:11px}.grid{stroke:var(--line)}.band{fill:var(--band)}.line{fill:none;stroke-width:1.5}
.key{margin-left:.8rem;font-size:.9rem}
${[0, 1, 2, 3, 4].map((i) => `.line.c${i}{stroke:var(--c${i})}.key.c${i}{color:var(--c${i})}`).join("\n")}`;

/** The page of a day: one HTML file without anything from elsewhere. */
export function pageOf(report: DayReport, secondsPerHour: number): string {
  const { account, samples } = report;
  const names = (prefix: string) => [
    ...new Set(
      samples.flatMap(({ values }) => Object.keys(values).filter((name) => name.startsWith(prefix))),
    ),
  ];
  const each = (prefix: string) => names(prefix).map((name) => [name.slice(prefix.length), name] as const);
  const plots: Plot[] = [
    {
      title: "A second",
      lines: [
        ["events acknowledged", "acknowledged"],
        ["first arrivals at prompt receivers", "arrived"],
        ["all requests at receivers", "requests"],
      ],
    },
    { title: "Attempts a second, by server", lines: each("attempts of "), isRate: true },
    {
      title: "Publishing to acknowledgement, ms",
      lines: [
        ["p50", "acknowledged p50"],
        ["p99", "acknowledged p99"],
      ],
      isLog: true,
    },
    {
      title: "First request to arrival at prompt receivers, ms",
      lines: [
        ["p50", "arrival p50"],
        ["p99", "arrival p99"],
      ],
      isLog: true,
    },
    {
      title: "Requests of the public API, ms",
      lines: [
        ["p50", "calls p50"],
        ["p99", "calls p99"],
      ],
      isLog: true,
    },
    {
      title: "Backlog",
      lines: [
        ["deliveries pending", "pending"],
        ["events that the platform could not publish yet", "outbox"],
      ],
    },
    { title: "Channels live", lines: [["live", "live"]] },
    { title: "Servers ready", lines: [["ready", "replicas ready"]] },
    { title: "Memory, MB", lines: each("memory of ") },
    {
      title: "Disk, MB",
      lines: [
        ["used on the disk of the data", "disk used"],
        ["database with its log", "database"],
      ],
    },
  ];
  const statuses = ["delivered", "pending", "expired", "failed", "canceled"];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A simulated day: ${escaped(report.platform)}</title><style>${style}</style></head><body>
<h1>A simulated day: ${escaped(report.platform)}</h1>
${table(["Run", ""], report.run)}
<h2>What became of each acknowledged event</h2>
<p>${account.problems.length === 0 ? "Each one is accounted for; no rule was broken." : `${account.problems.length} rules were broken:`}</p>
${account.problems.length > 0 ? `<ul>${account.problems.map((one) => `<li>${escaped(one)}</li>`).join("")}</ul>` : ""}
${table(
  ["Applications", "", "number", "requests", ...statuses, "filtered"],
  account.kinds.map(({ name, about, applications, requests, statuses: of, filtered }) => [
    name,
    about,
    shown(applications),
    shown(requests),
    ...statuses.map((one) => shown(of[one] ?? 0)),
    shown(filtered),
  ]),
)}
${table(["Also", ""], report.notes)}
<h2>What happened</h2>
${table(
  ["From", "to", "what", "seen"],
  report.incidents.map(({ from, to, title, detail }) => [clock(from), clock(to), title, detail]),
)}
<h2>What an operator saw</h2>
<p>Hours of the day are below the plots; what happened is in the bands.</p>
${plots.map((plot) => drawn(plot, report, secondsPerHour)).join("\n")}
<h3>Alerts</h3>
${
  report.alerts === null
    ? "<p>No Prometheus watched.</p>"
    : `<p>Prometheus with ops/alerts.yml; the times in its rules are real ones, so an hour of the day counts as ${shown(secondsPerHour / 60)} minutes.</p>${table(
        ["From", "to", "alert", "severity"],
        report.alerts.map(({ from, to, name, severity }) => [clock(from), clock(to), name, severity]),
      )}`
}
<h3>onair doctor</h3>
${table(
  ["At", "in order", "check", "", "message"],
  report.doctor.flatMap(({ hour, findings, inOrder }) =>
    findings.length === 0
      ? [[clock(hour), shown(inOrder), "", "", "nothing else"]]
      : findings.map(({ check, status, message }) => [clock(hour), shown(inOrder), check, status, message]),
  ),
)}
<h3>The log</h3>
${table(
  ["Level", "event", "lines"],
  report.log.map(([level, event, count]) => [level, event, shown(count)]),
)}
<h3>Answers</h3>
${table(["Publishing, other than 202", ""], counted(report.publishing))}
${table(["Public API", ""], counted(report.calls))}
</body></html>
`;
}
