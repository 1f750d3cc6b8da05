import { admin, done } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { useLoad } from "../../load.ts";
import { Card, Figure, Head, number } from "../../parts/basics.tsx";
import { Plot } from "../../parts/plot.tsx";
import { Read, Table } from "../../parts/table.tsx";
import { duration } from "../../parts/time.tsx";
import { to } from "../../places.ts";
import { ArrivalPlot, OutcomePlot, seconds, useRange } from "../../statistics.tsx";

type Statistics = components["schemas"]["Statistics"];

/** Deliveries and requests over time, with their latencies, and requests by application and operation. */
export function Traffic() {
  const [range, choice] = useRange();
  const loaded = useLoad(
    (signal) => done(admin.GET("/admin/v1/statistics", { params: { query: { range } }, signal })),
    [range],
    ["statistics"],
  );
  return (
    <>
      <Head title="Traffic" actions={choice}>
        Requests and deliveries over time, kept for 7 days.
      </Head>
      <Read of={loaded}>{(data) => <Plots data={data} />}</Read>
    </>
  );
}

function Plots({ data: { deliveries, totals, requests, operations, applications } }: { data: Statistics }) {
  const sum = requests.reduce((total, step) => total + step.requests, 0);
  return (
    <>
      <div class="grid small">
        <Figure value={number(totals.delivered)} label="delivered" />
        <Figure value={number(totals.failed + totals.expired)} label="failed or expired" />
        <Figure
          value={totals.arrival_p99_ms === null ? "–" : duration(totals.arrival_p99_ms)}
          label="99% arrived within"
        />
        <Figure value={number(sum)} label="requests" />
      </div>
      <div class="grid large">
        <Card title="Deliveries">
          <OutcomePlot steps={deliveries} totals={totals} />
        </Card>
        <Card title="Delivery latency">
          <ArrivalPlot steps={deliveries} />
        </Card>
        <Card title="Requests">
          <Plot
            label="Requests"
            kind="bars"
            times={seconds(requests)}
            series={[
              {
                name: "answered",
                tone: "accent",
                values: requests.map((step) => step.requests - step.client_errors - step.server_errors),
              },
              { name: "refused (4xx)", tone: "warn", values: requests.map((step) => step.client_errors) },
              { name: "failed (5xx)", tone: "bad", values: requests.map((step) => step.server_errors) },
            ]}
          />
        </Card>
        <Card title="Request duration">
          <Plot
            label="Request duration"
            kind="lines"
            times={seconds(requests)}
            format={duration}
            series={[
              { name: "median", tone: "accent", values: requests.map((step) => step.p50_ms) },
              { name: "99th percentile", tone: "plain", values: requests.map((step) => step.p99_ms) },
            ]}
          />
        </Card>
      </div>
      <Card isFlush title="By application">
        <Table
          label="Applications"
          rows={applications}
          keyOf={({ application_id }) => application_id}
          columns={[
            {
              name: "Application",
              isFilling: true,
              show: ({ application_id, name }) =>
                name === null ? (
                  <span class="cell">{application_id} (deleted)</span>
                ) : (
                  <a class="cell" href={to(`/applications/${application_id}`)}>
                    {name}
                  </a>
                ),
            },
            { name: "Requests", isNumber: true, show: ({ requests }) => number(requests) },
            { name: "Rate-limited", isNumber: true, show: ({ rate_limited }) => number(rate_limited) },
          ]}
        />
      </Card>
      <Card isFlush title="By operation">
        <Table
          label="Operations"
          rows={operations}
          keyOf={({ listener, operation }) => `${listener} ${operation}`}
          columns={[
            {
              name: "Operation",
              isFilling: true,
              show: ({ operation }) => <span class="cell">{operation}</span>,
            },
            { name: "Listener", hide: "narrow", show: ({ listener }) => listener },
            { name: "Requests", isNumber: true, show: ({ requests }) => number(requests) },
            {
              name: "4xx",
              hide: "narrow",
              isNumber: true,
              show: ({ client_errors }) => number(client_errors),
            },
            { name: "5xx", isNumber: true, show: ({ server_errors }) => number(server_errors) },
            {
              name: "p50",
              hide: "medium",
              isNumber: true,
              show: ({ p50_ms }) => p50_ms !== null && duration(p50_ms),
            },
            { name: "p99", isNumber: true, show: ({ p99_ms }) => p99_ms !== null && duration(p99_ms) },
          ]}
        />
      </Card>
    </>
  );
}
