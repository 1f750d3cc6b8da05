import type { EngineStats } from "../../delivery/engine.ts";
import type { KindSizes } from "../../domain/sizes.ts";
import type { ConnectionUse, Exemplar, Histogram } from "../../domain/statistics.ts";
import { second } from "../../domain/time.ts";
import { inTime } from "../../runtime/event-loop.ts";
import { descriptorLimit, openDescriptors } from "../../runtime/files.ts";
import { noSpans, type SpanCounts } from "../../runtime/tracing.ts";
import { commit, version } from "../../runtime/version.ts";
import { accepts } from "../http/content.ts";
import { type ApplicationCounts, type RequestContext, reply } from "../http/context.ts";
import type { AdminDeps, AdminListener } from "./listener.ts";

/** Metrics of requests, open streams, published events and log lines. */
function trafficMetrics(
  { catalogue, publisher, log, facts, traffic }: AdminDeps,
  { spans: engineSpans }: EngineStats,
): AnyMetric[] {
  const listeners = Object.entries(traffic);
  const requests: AnyMetric = {
    type: "counter",
    name: "onair_http_requests",
    help: "HTTP requests by status; 499 if the client disconnected.",
    samples: listeners.flatMap(([listener, { statuses }]) =>
      [...statuses].map(([status, value]) => ({ labels: { listener, status: String(status) }, value })),
    ),
  };
  const published = { ...zeroByType(catalogue), ...Object.fromEntries(publisher.acknowledged) };
  return [
    requests,
    {
      type: "histogram",
      name: "onair_http_request_duration_seconds",
      help: "Time from the request to its response.",
      histograms: listeners.map(([listener, { seconds: histogram }]) => ({
        labels: { listener },
        histogram,
      })),
    },
    ...gauge(
      "onair_event_streams_open",
      "Event streams that are open.",
      facts.metrics?.openStreams() ?? null,
    ),
    counters("onair_events_published", "Events acknowledged to the platform.", "type", published),
    ...spanMetrics(facts.metrics?.spans() ?? noSpans, engineSpans),
    ...applicationMetrics(traffic.public.applications.counts()),
    counters("onair_log_errors", "Errors in the log, repeated ones included.", "event", log.errors),
    counter("onair_log_lines_left_out", "Log lines that were dropped.", log.linesLeftOut),
  ];
}

/** Metrics of the applications with the most requests, and of all others together. */
function applicationMetrics(applications: readonly Readonly<ApplicationCounts>[]): AnyMetric[] {
  const samples = (count: "requests" | "limited") =>
    applications.map((one) => ({ labels: { application: one.id, name: one.name }, value: one[count] }));
  return [
    {
      type: "counter",
      name: "onair_application_requests",
      help: "Requests of the applications with the most of them.",
      samples: samples("requests"),
    },
    {
      type: "counter",
      name: "onair_application_rate_limited",
      help: "Their requests beyond a rate limit (429).",
      samples: samples("limited"),
    },
  ];
}

/** Metrics of spans, for both threads together. */
function spanMetrics(...threads: readonly SpanCounts[]): AnyMetric[] {
  const sum = (became: keyof SpanCounts) => threads.reduce((all, counts) => all + counts[became], 0);
  return [
    counter("onair_spans_exported", "Spans accepted by the trace collector.", sum("exported")),
    counter(
      "onair_spans_dropped",
      "Spans refused by the collector or dropped by a full buffer.",
      sum("dropped"),
    ),
  ];
}

const zeroByType = ({ types }: AdminDeps["catalogue"]) =>
  Object.fromEntries(types.map(({ name }) => [name, 0]));

/** Metrics of the engine. */
function deliveryMetrics(
  { facts, catalogue }: AdminDeps,
  { inFlight, queued, unrecorded, suspended, isHeld, shares, counts, eventLoopDelay, filtered }: EngineStats,
): AnyMetric[] {
  const { attempts, finished, notices, failures, attemptSeconds, arrivalSeconds } = counts;
  return [
    ...gauge("onair_attempts_in_flight", "Attempts in progress.", inFlight),
    ...gauge("onair_deliveries_queued", "Deliveries queued in memory.", queued),
    ...gauge("onair_results_unrecorded", "Results of attempts that are not stored yet.", unrecorded),
    ...gauge("onair_endpoints_held_up", "Endpoints that are paused or disabled.", suspended),
    ...gauge("onair_deliveries_held", "Whether deliveries are held.", isHeld ? 1 : 0),
    ...gauge(
      "onair_replicas_alive",
      "Live replicas of the PostgreSQL database, as this one sees them.",
      shares?.replicas ?? null,
    ),
    ...gauge(
      "onair_shards_owned",
      "Shards of endpoints, of 256, that this replica delivers to.",
      shares?.shards ?? null,
    ),
    counters("onair_attempts", "Delivery attempts.", "outcome", attempts),
    counters("onair_deliveries_finished", "Deliveries that reached a final status.", "status", finished),
    counters(
      "onair_deliveries_filtered",
      "Deliveries that were not made, because the event did not match the application's filter.",
      "type",
      { ...zeroByType(catalogue), ...filtered },
    ),
    counters("onair_endpoint_notices", "Notices about endpoints.", "notice", notices),
    counters(
      "onair_application_failures",
      "Failed attempts of the applications whose attempts failed last.",
      "application",
      failures,
    ),
    {
      type: "histogram",
      name: "onair_attempt_duration_seconds",
      help: "Duration of a delivery attempt.",
      histograms: [{ labels: {}, histogram: attemptSeconds }],
    },
    {
      type: "histogram",
      name: "onair_publish_to_arrival_seconds",
      help: "Time from publishing an event to its successful delivery, by the number of the attempt.",
      histograms: Object.entries(arrivalSeconds).map(([attempt, histogram]) => ({
        labels: { attempt },
        histogram,
      })),
    },
    {
      type: "histogram",
      name: "onair_event_loop_delay_seconds",
      help: "Event loop delay of a thread, sampled twice a second.",
      histograms: [
        ...(facts.metrics ? [{ labels: { thread: "main" }, histogram: facts.metrics.eventLoopDelay }] : []),
        { labels: { thread: "engine" }, histogram: eventLoopDelay },
      ],
    },
  ];
}

/** Metrics of each thread's connections to PostgreSQL; none with a data directory. */
function connectionMetrics(threads: Readonly<Record<string, ConnectionUse | null>>): AnyMetric[] {
  const known = Object.entries(threads).flatMap(([thread, use]) =>
    use ? [{ labels: { thread }, use }] : [],
  );
  if (known.length === 0) return [];
  const each = (count: "limit" | "inUse" | "waiting") =>
    known.map(({ labels, use }) => ({ labels, value: use[count] }));
  return [
    {
      type: "gauge",
      name: "onair_database_connections_limit",
      help: "The most connections of a thread to PostgreSQL.",
      samples: each("limit"),
    },
    {
      type: "gauge",
      name: "onair_database_connections_in_use",
      help: "Connections with a statement or a transaction in progress.",
      samples: each("inUse"),
    },
    {
      type: "gauge",
      name: "onair_database_statements_waiting",
      help: "Statements and transactions that wait until others have ended.",
      samples: each("waiting"),
    },
    {
      type: "histogram",
      name: "onair_database_statement_duration_seconds",
      help: "Time from a statement to its answer, with the wait for a connection.",
      histograms: known.map(({ labels, use }) => ({ labels, histogram: use.statementSeconds })),
    },
  ];
}

/** Metrics of the process, under Prometheus's standard names if they exist. */
function processMetrics({ facts }: AdminDeps, isReady: boolean): AnyMetric[] {
  const { user, system } = process.cpuUsage();
  const database = facts.metrics?.database ?? "";
  const expiries = facts.metrics?.certificates() ?? [];
  return [
    {
      type: "gauge",
      name: "onair_build_info",
      help: "1, with the version and its commit.",
      samples: [{ labels: { version, commit: commit ?? "", bun: Bun.version, database }, value: 1 }],
    },
    ...gauge("onair_ready", "Whether the server should receive requests, by /readyz.", isReady ? 1 : 0),
    ...gauge("process_start_time_seconds", "Start time of the process, since the epoch.", startedAt()),
    counter("process_cpu_seconds", "Processor time of all threads.", (user + system) / 1e6),
    ...gauge("process_resident_memory_bytes", "Resident memory.", residentBytes()),
    ...gauge("process_open_fds", "Open files and connections.", openDescriptors()),
    ...gauge("process_max_fds", "Maximum number of open files and connections.", descriptorLimit()),
    {
      type: "gauge",
      name: "onair_tls_certificate_expiry_timestamp_seconds",
      help: "Expiry time of the current certificate, since the epoch.",
      samples: expiries.map(({ listener, expiresAt }) => ({ labels: { listener }, value: expiresAt / 1000 })),
    },
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
async function storageMetrics({ store, facts, now }: AdminDeps): Promise<AnyMetric[]> {
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
    ...gauge(
      "onair_deliveries_pending",
      "Pending deliveries in the database, counted up to half a million.",
      backlog?.pending,
    ),
    ...gauge(
      "onair_oldest_pending_age_seconds",
      "Age of the oldest pending delivery; 0 if there is none.",
      backlog && (oldest === null ? 0 : Math.max(0, now() - oldest) / 1000),
    ),
    ...gauge("onair_database_bytes", "Size of the database, without its write-ahead log.", databaseBytes),
    ...(measured ? [kindGauge(measured.kinds)] : []),
    ...gauge(
      "onair_database_wal_bytes",
      "Size of the write-ahead log in the data directory.",
      attempt(() => facts.metrics?.logBytes() ?? null),
    ),
    ...gauge("onair_disk_free_bytes", "Free space on the disk of the data directory.", disk?.free_bytes),
    ...gauge("onair_disk_size_bytes", "Size of the disk of the data directory.", disk?.total_bytes),
  ];
}

function kindGauge(kinds: KindSizes): AnyMetric {
  const samples = Object.entries(kinds).map(([kind, value]) => ({ labels: { kind }, value }));
  const help = "Bytes used in the database by each kind of data, measured once an hour.";
  return { type: "gauge", name: "onair_data_bytes", help, samples };
}

function attempt<T>(read: () => T | null): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** Metrics of the backups that are known without access to their destination; none if On Air makes no backups. */
function backupMetrics({ backups }: AdminDeps): AnyMetric[] {
  const { state } = backups;
  if (state === null) return [];
  const { isListed, newestAt, everyMs, made, failed } = state;
  return [
    ...gauge(
      "onair_last_backup_timestamp_seconds",
      "Start time of the newest backup, since the epoch; 0 if there is none.",
      isListed ? (newestAt ?? 0) / 1000 : null,
    ),
    ...gauge(
      "onair_backup_every_seconds",
      "Interval of scheduled backups; 0 if there is no schedule.",
      (everyMs ?? 0) / 1000,
    ),
    counters("onair_backups", "Backups since the start.", "outcome", { done: made, failed }),
  ];
}

/**
 * `/metrics` in the text format of Prometheus or, on request, in OpenMetrics with exemplars. It needs no key, because
 * it has no personal data.
 */
export function metricRoutes(app: AdminListener, deps: AdminDeps): void {
  const read = async (): Promise<readonly AnyMetric[]> => {
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
  let reading: Promise<readonly AnyMetric[]> | null = null;

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

/** Returns a gauge with one value, as a list; an empty list if the value is unknown. */
function gauge(name: string, help: string, value: number | null | undefined): SampledMetric[] {
  if (value === null || value === undefined) return [];
  return [{ type: "gauge", name, help, samples: [{ labels: {}, value }] }];
}

/** @param name without `_total` */
export function counter(name: string, help: string, value: number): SampledMetric {
  return { type: "counter", name, help, samples: [{ labels: {}, value }] };
}

/** Returns a counter with one value for each value of a label. @param name without `_total` */
export function counters(
  name: string,
  help: string,
  label: string,
  values: Readonly<Record<string, number>>,
): SampledMetric {
  const samples = Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }));
  return { type: "counter", name, help, samples };
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
function exposition(metrics: readonly AnyMetric[], { isOpenMetrics }: Format): string {
  const lines = metrics.flatMap((metric) => linesOf(metric, isOpenMetrics));
  if (isOpenMetrics) lines.push("# EOF");
  return `${lines.join("\n")}\n`;
}

function linesOf(metric: AnyMetric, isOpenMetrics: boolean): string[] {
  const { type, name, help } = metric;
  const sampled = type === "counter" ? `${name}_total` : name;
  const family = isOpenMetrics ? name : sampled;
  const head = [`# HELP ${family} ${help}`, `# TYPE ${family} ${type}`];
  if (type !== "histogram") {
    return [...head, ...metric.samples.map(({ labels, value }) => sample(sampled, labels, value))];
  }
  return [...head, ...metric.histograms.flatMap((one) => histogramLines(name, one, isOpenMetrics))];
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
