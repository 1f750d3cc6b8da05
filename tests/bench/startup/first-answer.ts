import { BenchError } from "../support/processes.ts";

/** A request and its only correct answer. */
export interface Question {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Asks until the right answer has come, anew at once where nobody listens yet or the answer is another one; a try takes
 * some 0.1 ms. Throws after `withinMs`, naming the last answer.
 */
export async function firstRightAnswer(
  port: number,
  { path, headers, body }: Question,
  withinMs: number,
): Promise<void> {
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers, connection: "close" });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const request = `GET ${path} HTTP/1.1\r\n${head}\r\n`;
  const deadline = performance.now() + withinMs;
  let last: string | null = null;
  while (performance.now() < deadline) {
    const answer = await exchange(port, request, deadline - performance.now());
    if (answer?.startsWith("HTTP/1.1 200 ") && answer.endsWith(`\r\n\r\n${body}`)) return;
    last = answer ?? last;
  }
  throw new BenchError(`No right answer to ${path} within ${withinMs} ms, but ${last ?? "no connection"}`);
}

/** All that a server says until it closes the connection, as text; null where there is no connection. */
async function exchange(port: number, request: string, withinMs: number): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const decoder = new TextDecoder();
  let text = "";
  const timer = setTimeout(() => resolve(null), withinMs);
  try {
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        data: (_, chunk) => {
          text += decoder.decode(chunk, { stream: true });
        },
        close: () => resolve(text),
        error: () => resolve(null),
        connectError: () => resolve(null),
      },
    });
    socket.write(request);
    const answer = await promise;
    socket.terminate();
    return answer;
  } catch {
    return null; // refused: nobody listens yet
  } finally {
    clearTimeout(timer);
  }
}
