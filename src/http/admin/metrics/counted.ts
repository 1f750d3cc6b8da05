import type { EngineStats } from "../../../engine/engine.ts";
import { noSpans, type SpanCounts } from "../../../tracing/span-counts.ts";
import type { AdminDeps } from "../base.ts";
import { type AnyMetric, counter, counters, gauge } from "./exposition.ts";

/** Metrics of requests, open streams, published events and log lines. */
export function trafficMetrics(
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
  const published = Object.fromEntries([
    ...catalogue.types.map(({ name }) => [name, 0]),
    ...publisher.acknowledged,
  ]);
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
      facts.watched?.openStreams() ?? null,
    ),
    counters("onair_events_published", "Events acknowledged to the platform.", "type", published),
    ...spanMetrics(facts.watched?.spans() ?? noSpans, engineSpans),
    counter("onair_log_lines_left_out", "Log lines that were dropped.", log.linesLeftOut),
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

/** Metrics of the engine. */
export function deliveryMetrics(
  { facts }: AdminDeps,
  { inFlight, queued, unrecorded, heldUp, isHeld, counts, eventLoopDelay }: EngineStats,
): AnyMetric[] {
  const { attempts, finished, notices, failures, attemptSeconds, arrivalSeconds } = counts;
  return [
    ...gauge("onair_attempts_in_flight", "Attempts in progress.", inFlight),
    ...gauge("onair_deliveries_queued", "Deliveries queued in memory.", queued),
    ...gauge("onair_results_unrecorded", "Results of attempts that are not stored yet.", unrecorded),
    ...gauge("onair_endpoints_held_up", "Endpoints that are paused or disabled.", heldUp),
    ...gauge("onair_deliveries_held", "Whether deliveries are held.", isHeld ? 1 : 0),
    counters("onair_attempts", "Delivery attempts.", "outcome", attempts),
    counters("onair_deliveries_finished", "Deliveries that reached a final status.", "status", finished),
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
        ...(facts.watched ? [{ labels: { thread: "main" }, histogram: facts.watched.eventLoopDelay }] : []),
        { labels: { thread: "engine" }, histogram: eventLoopDelay },
      ],
    },
  ];
}
