import { descriptorLimit, openDescriptors } from "../../descriptors.ts";
import { type RequestContext, reply } from "../request-context.ts";
import { durationBounds, type Traffic } from "../traffic.ts";
import type { AdminDeps, AdminListener } from "./base.ts";

type Labels = Readonly<Record<string, string>>;

/** `/metrics` in the text format of Prometheus, version 0.0.4. Needs no key: it holds no personal data. */
export function metricRoutes(
  app: AdminListener,
  { engine, log, whyNotReady }: AdminDeps,
  traffic: Readonly<Record<"public" | "admin", Traffic>>,
): void {
  const answer = async ({ requestContext }: { requestContext: RequestContext }) => {
    const { inFlight, queued, unrecorded, heldUp, counts } = await engine.stats();
    const isReady = (await whyNotReady()) === null;
    const text = [
      ...gauge("onair_ready", "Whether the server should get requests, as /readyz says.", isReady ? 1 : 0),
      ...gauge("onair_attempts_in_flight", "Attempts to deliver that are under way.", inFlight),
      ...gauge("onair_deliveries_queued", "Deliveries in memory that have not started.", queued),
      ...gauge("onair_results_unrecorded", "Results of attempts that are not on disk yet.", unrecorded),
      ...gauge(
        "onair_endpoints_held_up",
        "Endpoints that are sent nothing for now, or are disabled.",
        heldUp,
      ),
      ...counters("onair_attempts_total", "Attempts to deliver.", "outcome", counts.attempts),
      ...counters(
        "onair_deliveries_finished_total",
        "Deliveries that came to their end.",
        "status",
        counts.finished,
      ),
      ...counters("onair_endpoint_notices_total", "Notices about endpoints.", "notice", counts.notices),
      ...requests(traffic),
      ...counter("onair_log_lines_left_out_total", "Log lines that were dropped.", log.linesLeftOut),
      ...descriptors(),
      ...gauge("process_resident_memory_bytes", "Resident memory.", process.memoryUsage.rss()),
      "",
    ].join("\n");
    return reply(requestContext, 200, text, { "content-type": "text/plain; version=0.0.4" });
  };
  // Hidden, because the document does not describe the Prometheus format.
  app.get("/metrics", answer, { keyless: true, detail: { hide: true } });
}

function head(name: string, help: string, type: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function gauge(name: string, help: string, value: number): string[] {
  return [...head(name, help, "gauge"), sample(name, {}, value)];
}

function counter(name: string, help: string, value: number): string[] {
  return [...head(name, help, "counter"), sample(name, {}, value)];
}

function counters(
  name: string,
  help: string,
  label: string,
  values: Readonly<Record<string, number>>,
): string[] {
  const samples = Object.entries(values).map(([value, count]) => sample(name, { [label]: value }, count));
  return [...head(name, help, "counter"), ...samples];
}

/**
 * Metrics of open file descriptors, under Prometheus's standard names; empty where the system does not provide them.
 */
function descriptors(): string[] {
  const [open, limit] = [openDescriptors(), descriptorLimit()];
  if (open === null || limit === null) return [];
  return [
    ...gauge("process_open_fds", "Open files and connections.", open),
    ...gauge("process_max_fds", "How many there may be.", limit),
  ];
}

function requests(traffic: Readonly<Record<string, Traffic>>): string[] {
  const listeners = Object.entries(traffic);
  const duration = "onair_http_request_duration_seconds";
  return [
    ...head("onair_http_requests_total", "Requests answered.", "counter"),
    ...listeners.flatMap(([listener, { statuses }]) =>
      [...statuses].map(([status, count]) =>
        sample("onair_http_requests_total", { listener, status: String(status) }, count),
      ),
    ),
    ...head(duration, "Time from the request to its answer.", "histogram"),
    ...listeners.flatMap(([listener, one]) => histogram(duration, { listener }, one)),
  ];
}

function histogram(name: string, labels: Labels, { durations, totalMs }: Traffic): string[] {
  let sum = 0;
  const buckets = durations.map((count, i) => {
    sum += count;
    return sample(`${name}_bucket`, { ...labels, le: String(durationBounds[i] ?? "+Inf") }, sum);
  });
  return [...buckets, sample(`${name}_sum`, labels, totalMs / 1000), sample(`${name}_count`, labels, sum)];
}

/** Label values are constants of this program, so they need no quoting. */
function sample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${value}`;
}
