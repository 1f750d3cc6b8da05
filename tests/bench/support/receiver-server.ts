/*
 * The receiver of the delivery benchmark: bun receiver-server.ts <port>
 *
 * POST is a delivery and is answered with 204 at once, or after 15 seconds on the path that hangs, or with 500 three
 * times of four on each path while it refuses. What it keeps of each is its `webhook-id` and, where the event's id ends
 * in a time of this process's clock, how long it took.
 */
import { type ReceiverReport, timeMark } from "./receiver.ts";

const hangMs = 15_000;

let arrived = 0;
let ids: string[] = [];
let latenciesMs: number[] = [];
let lastHeaders: Record<string, string> = {};
let hanging: string | null = null;
let hung = 0;
let refusing = false;
let refusals = 0;
const requestsByPath = new Map<string, number>();
const outstanding = new Set<string>();

const noContent = { status: 204 };

function deliver(request: Request): Response | Promise<Response> {
  const { headers } = request;
  if (hanging !== null && request.url.endsWith(hanging)) {
    hung++;
    return Bun.sleep(hangMs).then(() => new Response(null, noContent));
  }
  const id = headers.get("webhook-id") ?? "";
  if (refusing && isRefused(request.url)) {
    refusals++;
    outstanding.add(id);
    return new Response(null, { status: 500 });
  }
  outstanding.delete(id);
  arrived++;
  ids.push(id);
  const event = headers.get("onair-event-id") ?? "";
  const at = event.indexOf(timeMark);
  if (at !== -1) latenciesMs.push(performance.now() - Number(event.slice(at + timeMark.length)));
  if (arrived === 1) lastHeaders = Object.fromEntries(headers);
  return new Response(null, noContent);
}

function isRefused(path: string): boolean {
  const requests = (requestsByPath.get(path) ?? 0) + 1;
  requestsByPath.set(path, requests);
  return requests % 4 !== 0;
}

/** What has arrived since the last report. */
function report(): ReceiverReport {
  const counts = { arrived, distinct: new Set(ids).size, hung };
  const made = { ...counts, latenciesMs, headers: lastHeaders };
  arrived = 0;
  hung = 0;
  ids = [];
  latenciesMs = [];
  return made;
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  reusePort: false,
  development: false,
  idleTimeout: 60,
  fetch(request) {
    if (request.method === "POST") return deliver(request);
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/report") return Response.json(report());
    if (pathname === "/hang") hanging = searchParams.get("path");
    if (pathname === "/refuse") refusing = searchParams.get("on") === "true";
    if (pathname === "/refused") return Response.json({ requests: refusals, outstanding: outstanding.size });
    return Response.json({ arrived, timed: latenciesMs.length, clockMs: performance.now() });
  },
});
process.stdout.write(`ready http://127.0.0.1:${server.port}\n`);
