import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { complaintsOf, hasPromtool } from "../support/metrics.ts";
import { ownDirectory } from "../support/server.ts";

/*
 * Each alert of ops/alerts.yml on a series on which it has to fire, and on one on which it must not. A series has a
 * sample a minute, in promtool's notation: `5+2x60` is 5, 7, 9 and so on, 61 of them.
 */

const rules = join(import.meta.dir, "../../ops/alerts.yml");

/** Series by name and labels beside `job` and `instance`. */
type Series = Readonly<Record<string, string>>;

interface Case {
  readonly fires: Series;
  readonly quiet: Series | readonly Series[];
  /** Minutes from the first sample; an hour unless given. */
  readonly at?: number;
  /** Whether the alert is about all instances together; then no other series exist. */
  readonly isAlone?: true;
}

const build = { 'onair_build_info{version="1.0.0",database="sqlite"}': "1x720" };
const twoStatuses = (listener: string, good: string, status: string, bad: string) => ({
  [`onair_http_requests_total{listener="${listener}",status="200"}`]: good,
  [`onair_http_requests_total{listener="${listener}",status="${status}"}`]: bad,
});
const buckets = (name: string, label: string, fast: string, all: string) => ({
  [`${name}_bucket{${label},le="0.1"}`]: fast,
  [`${name}_bucket{${label},le="0.5"}`]: fast,
  [`${name}_bucket{${label},le="60.0"}`]: all,
  [`${name}_bucket{${label},le="+Inf"}`]: all,
});
const late = (sum: string) => ({
  'onair_event_loop_delay_seconds_sum{thread="engine"}': sum,
  'onair_event_loop_delay_seconds_count{thread="engine"}': "0+120x60",
});
const gib = 2 ** 30;

const cases: Readonly<Record<string, Case>> = {
  OnAirDown: { fires: { up: "1x50 0x10" }, quiet: { up: "1x60" } },
  OnAirAbsent: {
    isAlone: true,
    fires: { 'up{job="another"}': "1x60" },
    quiet: { 'up{job="onair-2"}': "0x60" },
  },
  OnAirLogErrors: {
    fires: { 'onair_log_errors_total{event="record_failed"}': "0x55 1x5" },
    quiet: [
      { 'onair_log_errors_total{event="record_failed"}': "7x60" },
      { 'onair_log_errors_total{event="unavailable"}': "0+5x60" },
    ],
  },
  OnAirNotReady: { fires: { onair_ready: "1x50 0x10" }, quiet: { onair_ready: "1x58 0 1" } },
  OnAirRestarts: {
    fires: { process_start_time_seconds: "100x40 200x5 300x5 400x10", ...build },
    quiet: { process_start_time_seconds: "100x40 200x20", ...build },
  },
  OnAirErrors: {
    fires: twoStatuses("public", "0+100x60", "503", "0+2x60"),
    quiet: twoStatuses("public", "0+1000x60", "404", "0+1000x60"),
  },
  OnAirSlow: {
    fires: buckets("onair_http_request_duration_seconds", 'listener="public"', "0+90x60", "0+100x60"),
    quiet: buckets("onair_http_request_duration_seconds", 'listener="public"', "0+100x60", "0+100x60"),
  },
  OnAirEventLoopLate: { fires: late("0+20x60"), quiet: late("0+1x60") },
  OnAirRateLimited: {
    fires: twoStatuses("public", "0+100x60", "429", "0+50x60"),
    quiet: twoStatuses("admin", "0+100x60", "429", "0+50x60"),
  },
  OnAirDeliveriesStuck: {
    fires: { onair_deliveries_queued: "7x60", 'onair_attempts_total{outcome="ok"}': "0+5x20 100x40" },
    quiet: { onair_deliveries_queued: "7x60", 'onair_attempts_total{outcome="ok"}': "0+5x60" },
  },
  OnAirDeliveriesHeld: {
    fires: { onair_deliveries_held: "0x20 1x40" },
    quiet: { onair_deliveries_held: "1x20 0x10 1x30" },
  },
  OnAirDeliveriesFail: {
    fires: {
      'onair_attempts_total{outcome="ok"}': "0+10x60",
      'onair_attempts_total{outcome="timeout"}': "0+20x60",
    },
    quiet: {
      'onair_attempts_total{outcome="ok"}': "0+20x60",
      'onair_attempts_total{outcome="timeout"}': "0+10x60",
    },
  },
  OnAirEndpointsDisabled: {
    fires: { 'onair_endpoint_notices_total{notice="endpoint.disabled"}': "0x50 9x10" },
    quiet: { 'onair_endpoint_notices_total{notice="endpoint.failing"}': "0x50 9x10" },
  },
  OnAirArrivalSlow: {
    fires: buckets("onair_publish_to_arrival_seconds", 'attempt="first"', "0+90x60", "0+100x60"),
    quiet: buckets("onair_publish_to_arrival_seconds", 'attempt="later"', "0+90x60", "0+100x60"),
  },
  OnAirBacklogGrows: {
    at: 120,
    fires: { onair_deliveries_pending: "20000+100x120" },
    quiet: { onair_deliveries_pending: "50000-100x120" },
  },
  OnAirResultsUnrecorded: {
    fires: { onair_results_unrecorded: "0x50 4096x10" },
    quiet: { onair_results_unrecorded: "300x60" },
  },
  OnAirDiskFills: {
    at: 420,
    fires: {
      onair_disk_free_bytes: `${50 * gib}-${gib / 16}x420`,
      onair_disk_size_bytes: `${100 * gib}x420`,
    },
    quiet: [
      { onair_disk_free_bytes: `${50 * gib}-1000x420`, onair_disk_size_bytes: `${100 * gib}x420` },
      // An import on the first day: twenty minutes say nothing about two days.
      {
        onair_disk_free_bytes: `_x400 ${50 * gib}-${gib / 16}x20`,
        onair_disk_size_bytes: `_x400 ${100 * gib}x20`,
      },
    ],
  },
  OnAirWalLarge: {
    fires: { onair_database_wal_bytes: `${2 * gib}x60` },
    quiet: { onair_database_wal_bytes: "0x50 1073741825x10" },
  },
  // Times of these tests begin at 0.
  OnAirDatabaseConnectionsBusy: {
    fires: { 'onair_database_statements_waiting{thread="engine"}': "0x40 3x20" },
    quiet: { 'onair_database_statements_waiting{thread="engine"}': "0x50 3x3 0 3x3 0" },
  },
  OnAirBackupOld: {
    // Each hour; and each week, of which it is in time.
    fires: {
      onair_last_backup_timestamp_seconds: `${-4 * 3600}x120`,
      onair_backup_every_seconds: "3600x120",
    },
    quiet: {
      onair_last_backup_timestamp_seconds: `${-6 * 86_400}x120`,
      onair_backup_every_seconds: `${7 * 86_400}x120`,
    },
    at: 120,
  },
  OnAirCertificateExpires: {
    at: 120,
    fires: { 'onair_tls_certificate_expiry_timestamp_seconds{listener="public"}': `${10 * 86_400}x120` },
    quiet: { 'onair_tls_certificate_expiry_timestamp_seconds{listener="public"}': `${30 * 86_400}x120` },
  },
  OnAirDescriptorsRunOut: {
    fires: { process_open_fds: "900x60", process_max_fds: "1000x60", ...build },
    // Those of another program.
    quiet: { process_open_fds: "900x60", process_max_fds: "1000x60" },
  },
  OnAirSpansDropped: {
    fires: { onair_spans_dropped_total: "0+10x60" },
    quiet: { onair_spans_dropped_total: "0x55 5x5" },
  },
  OnAirLogLinesDropped: {
    fires: { onair_log_lines_left_out_total: "0x55 3x5" },
    quiet: { onair_log_lines_left_out_total: "3x60" },
  },
};

/** Adds labels to a series. */
function labelled(series: string, instance: string): string {
  const [, name, labels] = /^(\w+)(?:\{(.*)\})?$/.exec(series) ?? [];
  return `${name}{${[labels, `job="onair",instance="${instance}"`].filter(Boolean).join(",")}}`;
}

/** The series of one case as those of an instance, and how often the alert fires there. */
function expected(alert: string, instance: string, series: Series, at: number, value: 0 | 1) {
  const firing = `ALERTS{alertname="${alert}",alertstate="firing",instance="${instance}"}`;
  return {
    series: Object.entries(series).map(([one, values]) => ({ series: labelled(one, instance), values })),
    expectation: {
      expr: `count(${firing}) or vector(0)`,
      eval_time: `${at}m`,
      exp_samples: [{ labels: "{}", value }],
    },
  };
}

test("each alert has a case here", async () => {
  const named = [...(await Bun.file(rules).text()).matchAll(/- alert: (\w+)/g)].map(([, name]) => name ?? "");
  expect(Object.keys(cases).sort()).toEqual(named.sort());
});

describe.skipIf(!hasPromtool)("by promtool", () => {
  test("the rules are valid", async () => {
    expect(await complaintsOf(["check", "rules", rules])).toBe("");
  });

  test("each fires where it has to, and not where it must not", async () => {
    const together = Object.entries(cases).filter(([, { isAlone }]) => !isAlone);
    const all = together.flatMap(([alert, { fires, quiet, at = 60 }]) => [
      expected(alert, `${alert} fires`, fires, at, 1),
      ...[quiet].flat().map((series, n) => expected(alert, `${alert} is quiet ${n}`, series, at, 0)),
    ]);
    const one = {
      interval: "1m",
      input_series: all.flatMap(({ series }) => series),
      promql_expr_test: all.map(({ expectation }) => expectation),
    };
    const alone = Object.entries(cases).filter(([, { isAlone }]) => isAlone);
    const others = alone.flatMap(([alert, { fires, quiet, at = 60 }]) =>
      [fires, ...[quiet].flat()].map((series, n) => ({
        interval: "1m",
        input_series: Object.entries(series).map(([one, values]) => ({ series: one, values })),
        promql_expr_test: [
          {
            expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
            eval_time: `${at}m`,
            exp_samples: [{ labels: "{}", value: n === 0 ? 1 : 0 }],
          },
        ],
      })),
    );
    const file = join(ownDirectory(), "alerts.json");
    await Bun.write(
      file,
      JSON.stringify({ rule_files: [rules], evaluation_interval: "1m", tests: [one, ...others] }),
    );
    expect(await complaintsOf(["test", "rules", file])).toBe("");
  });
});
