import { Connection } from "./connection.ts";

/** A server, in this process or in another one. */
interface Served {
  readonly publicUrl: string;
  readonly adminUrl: string;
}

/** How many requests each thread of the public listener has answered. */
export async function requestsByThread({ adminUrl }: Served): Promise<number[]> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const lines = text.matchAll(/^onair_http_thread_requests_total\{thread="\d+"\} (\d+)$/gm);
  return [...lines].map(([, count]) => Number(count));
}

/** A connection to each thread of the public listener, in order. The kernel chooses, so that takes some tries. */
export async function connectionToEach(server: Served, threads: number): Promise<Connection[]> {
  const found = new Map<number, Connection>();
  for (let tries = 0; found.size < threads; tries++) {
    if (tries > 200) throw new Error(`200 connections went to ${[...found.keys()]} of ${threads} threads`);
    const connection = new Connection(server.publicUrl);
    const before = await requestsByThread(server);
    await connection.get("/nowhere");
    const after = await requestsByThread(server);
    const thread = after.findIndex((count, i) => count !== before[i]);
    if (found.has(thread)) connection.close();
    else found.set(thread, connection);
  }
  return Array.from({ length: threads }, (_, i) => found.get(i) as Connection);
}
