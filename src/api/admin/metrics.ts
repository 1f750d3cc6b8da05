import type { EngineStats } from "../../delivery/engine.ts";
import type { ConnectionUse, Exemplar, Histogram } from "../../domain/statistics.ts";
import { second } from "../../domain/time.ts";
import { descriptorLimit, openDescriptors } from "../../runtime/descriptors.ts";
import { inTime } from "../../runtime/event-loop.ts";
import { noSpans, type SpanCounts } from "../../runtime/tracing.ts";
import { commit, version } from "../../runtime/version.ts";
import { accepts } from "../http/content.ts";
import { type RequestContext, reply } from "../http/context.ts";
import type { AdminDeps, AdminListener } from "./listener.ts";

/** Metrics of requests, open streams, published events and log lines. */
function trafficMetrics(
  { catalogue, publisher, log, facts, traffic }: AdminDeps,
  { spans: engineSpans }: EngineStats,
): Metrics {
  const listeners = Object.entries(traffic);
  const applications = traffic.public.applications.counts();
  const ofApplications = (count: "requests" | "limited") =>
    applications.map(({ id, name, ...counts }) => ({
      labels: { application: id, name },
      value: counts[count],
    }));
  const spans = [facts.metrics?.spans() ?? noSpans, engineSpans];
  const ofSpans = (became: keyof SpanCounts) => spans.reduce((sum, counts) => sum + counts[became], 0);
  return [
    counter(
      "onair_http_requests",
      "HTTP requests by status; 499 if the client disconnected.",
      listeners.flatMap(([listener, { statuses }]) =>
        [...statuses].map(([status, value]) => ({ labels: { listener, status: String(status) }, value })),
      ),
    ),
    histogram(
      "onair_http_request_duration_seconds",
      "Time from the request to its response.",
      listeners.map(([listener, { seconds }]) => ({ labels: { listener }, histogram: seconds })),
    ),
    gauge("onair_event_streams_open", "Event streams that are open.", facts.metrics?.openStreams()),
    counter(
      "onair_events_published",
      "Events acknowledged to the platform.",
      by("type", { ...zeroByType(catalogue), ...Object.fromEntries(publisher.acknowledged) }),
    ),
    counter("onair_spans_exported", "Spans accepted by the trace collector.", ofSpans("exported")),
    counter(
      "onair_spans_dropped",
      "Spans refused by the collector or dropped by a full buffer.",
      ofSpans("dropped"),
    ),
    counter(
      "onair_application_requests",
      "Requests of the applications with the most of them.",
      ofApplications("requests"),
    ),
    counter(
      "onair_application_rate_limited",
      "Their requests beyond a rate limit (429).",
      ofApplications("limited"),
    ),
    counter("onair_log_errors", "Errors in the log, repeated ones included.", by("event", log.errors)),
    counter("onair_log_lines_left_out", "Log lines that were dropped.", log.linesLeftOut),
  ];
}

const zeroByType = ({ types }: AdminDeps["catalogue"]) =>
  Object.fromEntries(types.map(({ name }) => [name, 0]));

/** Metrics of the engine. */
function deliveryMetrics(
  { facts, catalogue }: AdminDeps,
  { inFlight, queued, unrecorded, suspended, isHeld, shares, counts, eventLoopDelay, filtered }: EngineStats,
): Metrics {
  const { attempts, finished, notices, failures, attemptSeconds, arrivalSeconds } = counts;
  return [
    gauge("onair_attempts_in_flight", "Attempts in progress.", inFlight),
    gauge("onair_deliveries_queued", "Deliveries queued in memory.", queued),
    gauge("onair_results_unrecorded", "Results of attempts that are not stored yet.", unrecorded),
    gauge("onair_endpoints_held_up", "Endpoints that are paused or disabled.", suspended),
    gauge("onair_deliveries_held", "Whether deliveries are held.", isHeld ? 1 : 0),
    gauge(
      "onair_replicas_alive",
      "Live replicas of the PostgreSQL database, as this one sees them.",
      shares?.replicas,
    ),
    gauge(
      "onair_shards_owned",
      "Shards of endpoints, of 256, that this replica delivers to.",
      shares?.shards,
    ),
    counter("onair_attempts", "Delivery attempts.", by("outcome", attempts)),
    counter("onair_deliveries_finished", "Deliveries that reached a final status.", by("status", finished)),
    counter(
      "onair_deliveries_filtered",
      "Deliveries that were not made, because the event did not match the application's filter.",
      by("type", { ...zeroByType(catalogue), ...filtered }),
    ),
    counter("onair_endpoint_notices", "Notices about endpoints.", by("notice", notices)),
    counter(
      "onair_application_failures",
      "Failed attempts of the applications whose attempts failed last.",
      by("application", failures),
    ),
    histogram("onair_attempt_duration_seconds", "Duration of a delivery attempt.", [
      { labels: {}, histogram: attemptSeconds },
    ]),
    histogram(
      "onair_publish_to_arrival_seconds",
      "Time from publishing an event to its successful delivery, by the number of the attempt.",
      Object.entries(arrivalSeconds).map(([attempt, histogram]) => ({ labels: { attempt }, histogram })),
    ),
    histogram("onair_event_loop_delay_seconds", "Event loop delay of a thread, sampled twice a second.", [
      ...(facts.metrics ? [{ labels: { thread: "main" }, histogram: facts.metrics.eventLoopDelay }] : []),
      { labels: { thread: "engine" }, histogram: eventLoopDelay },
    ]),
  ];
}

/** Metrics of each thread's connections to PostgreSQL; none with a data directory. */
function connectionMetrics(threads: Readonly<Record<string, ConnectionUse | null>>): Metrics {
  const known = Object.entries(threads).flatMap(([thread, use]) =>
    use ? [{ labels: { thread }, use }] : [],
  );
  if (known.length === 0) return [];
  const each = (count: "limit" | "inUse" | "waiting") =>
    known.map(({ labels, use }) => ({ labels, value: use[count] }));
  return [
    gauge(
      "onair_database_connections_limit",
      "The most connections of a thread to PostgreSQL.",
      each("limit"),
    ),
    gauge(
      "onair_database_connections_in_use",
      "Connections with a statement or a transaction in progress.",
      each("inUse"),
    ),
    gauge(
      "onair_database_statements_waiting",
      "Statements and transactions that wait until others have ended.",
      each("waiting"),
    ),
    histogram(
      "onair_database_statement_duration_seconds",
      "Time from a statement to its answer, with the wait for a connection.",
      known.map(({ labels, use }) => ({ labels, histogram: use.statementSeconds })),
    ),
  ];
}

/** Metrics of the process, under Prometheus's standard names if they exist. */
function processMetrics({ facts }: AdminDeps, isReady: boolean): Metrics {
  const { user, system } = process.cpuUsage();
  const labels = { version, commit: commit ?? "", bun: Bun.version, database: facts.metrics?.database ?? "" };
  const expiries = facts.metrics?.certificates() ?? [];
  return [
    gauge("onair_build_info", "1, with the version and its commit.", [{ labels, value: 1 }]),
    gauge("onair_ready", "Whether the server should receive requests, by /readyz.", isReady ? 1 : 0),
    gauge("process_start_time_seconds", "Start time of the process, since the epoch.", startedAt()),
    counter("process_cpu_seconds", "Processor time of all threads.", (user + system) / 1e6),
    gauge("process_resident_memory_bytes", "Resident memory.", residentBytes()),
    gauge("process_open_fds", "Open files and connections.", openDescriptors()),
    gauge("process_max_fds", "Maximum number of open files and connections.", descriptorLimit()),
    gauge(
      "onair_tls_certificate_expiry_timestamp_seconds",
      "Expiry time of the current certificate, since the epoch.",
      expiries.map(({ listener, expiresAt }) => ({ labels: { listener }, value: expiresAt / 1000 })),
    ),
  ];
}

const startedAt = () => Math.round(performance.timeOrigin) / 1000;

/** Returns null if the system does not provide the value, as in a root without /proc. */
function residentBytes(): number | null {
  try {
    return process.memoryUsage.rss();
  } catch {
    return null;
  }
}

/** Less than Prometheus's default scrape timeout of 10 seconds. */
const longestReadMs = 3 * second;

/** Metrics of the database and the disk. A value that cannot be read is left out. */
async function storageMetrics({ store, facts, now }: AdminDeps): Promise<Metrics> {
  // The other metrics must not wait for a database that does not respond.
  const read = <T>(reading: Promise<T>) => inTime(reading, longestReadMs).catch(() => null);
  const [backlog, databaseBytes, measured] = await Promise.all([
    read(store.deliveries.backlogOfAll()),
    read(store.statistics.databaseBytes()),
    read(facts.kindSizes()),
  ]);
  const disk = attempt(() => facts.storage());
  const oldest = backlog?.oldest_pending_at ?? null;
  return [
    gauge(
      "onair_deliveries_pending",
      "Pending deliveries in the database, counted up to half a million.",
      backlog?.pending,
    ),
    gauge(
      "onair_oldest_pending_age_seconds",
      "Age of the oldest pending delivery; 0 if there is none.",
      backlog && (oldest === null ? 0 : Math.max(0, now() - oldest) / 1000),
    ),
    gauge("onair_database_bytes", "Size of the database, without its write-ahead log.", databaseBytes),
    gauge(
      "onair_data_bytes",
      "Bytes used in the database by each kind of data, measured once an hour.",
      measured && by("kind", measured.kinds),
    ),
    gauge(
      "onair_database_wal_bytes",
      "Size of the write-ahead log in the data directory.",
      attempt(() => facts.metrics?.logBytes() ?? null),
    ),
    gauge("onair_disk_free_bytes", "Free space on the disk of the data directory.", disk?.free_bytes),
    gauge("onair_disk_size_bytes", "Size of the disk of the data directory.", disk?.total_bytes),
  ];
}

function attempt<T>(read: () => T | null): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** Metrics of the backups that are known without access to their destination; none if On Air makes no backups. */
function backupMetrics({ backups }: AdminDeps): Metrics {
  const { state } = backups;
  if (state === null) return [];
  const { isListed, newestAt, everyMs, made, failed } = state;
  return [
    gauge(
      "onair_last_backup_timestamp_seconds",
      "Start time of the newest backup, since the epoch; 0 if there is none.",
      isListed ? (newestAt ?? 0) / 1000 : null,
    ),
    gauge(
      "onair_backup_every_seconds",
      "Interval of scheduled backups; 0 if there is no schedule.",
      (everyMs ?? 0) / 1000,
    ),
    counter("onair_backups", "Backups since the start.", by("outcome", { done: made, failed })),
  ];
}

/**
 * `/metrics` in the text format of Prometheus or, on request, in OpenMetrics with exemplars. It needs no key, because
 * it has no personal data.
 */
export function metricRoutes(app: AdminListener, deps: AdminDeps): void {
  const read = async (): Promise<Metrics> => {
    const [stats, reason, storage] = await Promise.all([
      deps.engine.stats(),
      deps.whyNotReady(),
      storageMetrics(deps),
    ]);
    const ownUse = await deps.store.statistics.connectionUse();
    return [
      ...processMetrics(deps, reason === null),
      ...trafficMetrics(deps, stats),
      ...deliveryMetrics(deps, stats),
      ...storage,
      ...connectionMetrics({ main: ownUse, engine: stats.connections }),
      ...backupMetrics(deps),
    ];
  };
  // Concurrent scrapes share their reads: counting many pending deliveries takes a while.
  let reading: Promise<Metrics> | null = null;

  const answer = async ({ requestContext }: { requestContext: RequestContext }) => {
    reading ??= read().finally(() => {
      reading = null;
    });
    const format = formatFor(requestContext.request.headers.get("accept"));
    const text = exposition(await reading, format);
    return reply(requestContext, 200, text, { "content-type": format.mediaType, vary: "Accept" });
  };
  // Hidden, because the OpenAPI document does not describe the Prometheus format.
  app.get("/metrics", answer, { keyless: true, detail: { hide: true } });
}

/*
 * The text formats of metrics.
 */

type Labels = Readonly<Record<string, string>>;

/** A metric with its values. */
interface SampledMetric {
  readonly type: "gauge" | "counter";
  /** The name; without `_total` for a counter. */
  readonly name: string;
  readonly help: string;
  readonly samples: readonly { readonly labels: Labels; readonly value: number }[];
}

/** A metric with histograms. */
interface HistogramMetric {
  readonly type: "histogram";
  readonly name: string;
  readonly help: string;
  readonly histograms: readonly { readonly labels: Labels; readonly histogram: Histogram }[];
}

type AnyMetric = SampledMetric | HistogramMetric;

/** Metrics in the order in which they are sent. null stands for one whose value is unknown, which is left out. */
type Metrics = readonly (AnyMetric | null)[];

/** The values of a metric with their labels, or one value without labels; null or undefined if it is unknown. */
type Values = SampledMetric["samples"] | number | null | undefined;

function sampled(type: SampledMetric["type"], name: string, help: string, values: Values): AnyMetric | null {
  if (values === null || values === undefined) return null;
  return { type, name, help, samples: typeof values === "number" ? [{ labels: {}, value: values }] : values };
}

const gauge = (name: string, help: string, values: Values) => sampled("gauge", name, help, values);

/** @param name without `_total` */
const counter = (name: string, help: string, values: Values) => sampled("counter", name, help, values);

const histogram = (
  name: string,
  help: string,
  histograms: HistogramMetric["histograms"],
): HistogramMetric => ({ type: "histogram", name, help, histograms });

/** Returns one value for each value of a label. */
function by(label: string, values: Readonly<Record<string, number>>): SampledMetric["samples"] {
  return Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }));
}

/** A text format of metrics. */
interface Format {
  readonly mediaType: string;
  /** Whether the format has exemplars and an end marker. */
  readonly isOpenMetrics: boolean;
}

const textFormat: Format = { mediaType: "text/plain; version=0.0.4", isOpenMetrics: false };
const openMetrics: Format = {
  mediaType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
  isOpenMetrics: true,
};

/** Returns OpenMetrics if `Accept` names it, as Prometheus does to store exemplars; else Prometheus's text format. */
function formatFor(accept: string | null): Format {
  return accepts(accept, "application/openmetrics-text") ? openMetrics : textFormat;
}

/** Returns metrics as text. */
function exposition(metrics: Metrics, { isOpenMetrics }: Format): string {
  const lines = metrics.flatMap((metric) => (metric ? linesOf(metric, isOpenMetrics) : []));
  if (isOpenMetrics) lines.push("# EOF");
  return `${lines.join("\n")}\n`;
}

function linesOf(metric: AnyMetric, isOpenMetrics: boolean): string[] {
  const { type, name, help } = metric;
  const sampleName = type === "counter" ? `${name}_total` : name;
  const family = isOpenMetrics ? name : sampleName;
  const head = [`# HELP ${family} ${help}`, `# TYPE ${family} ${type}`];
  if (type !== "histogram") {
    return [...head, ...metric.samples.map(({ labels, value }) => sample(sampleName, labels, value))];
  }
  return [...head, ...metric.histograms.flatMap((series) => histogramLines(name, series, isOpenMetrics))];
}

function histogramLines(
  name: string,
  { labels, histogram }: HistogramMetric["histograms"][number],
  isOpenMetrics: boolean,
): string[] {
  const { bounds, counts, exemplars, sum } = histogram;
  let total = 0;
  const buckets = counts.map((count, i) => {
    total += count;
    const line = sample(`${name}_bucket`, { ...labels, le: boundOf(bounds[i]) }, total);
    return isOpenMetrics ? line + exemplarOf(exemplars[i] ?? null) : line;
  });
  return [...buckets, sample(`${name}_sum`, labels, sum), sample(`${name}_count`, labels, total)];
}

/** Returns a bucket's bound. Both formats use the same form, because it is part of the identity of a series. */
function boundOf(bound: number | undefined): string {
  if (bound === undefined) return "+Inf";
  return Number.isInteger(bound) ? bound.toFixed(1) : String(bound);
}

function exemplarOf(exemplar: Exemplar | null): string {
  if (exemplar === null) return "";
  return ` # ${labelled(exemplar.labels) || "{}"} ${exemplar.value} ${(exemplar.at / 1000).toFixed(3)}`;
}

function sample(name: string, labels: Labels, value: number): string {
  return `${name}${labelled(labels)} ${value}`;
}

function labelled(labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return pairs.length > 0 ? `{${pairs.join(",")}}` : "";
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}
