import { afterTests, afterThisTest } from "./after-tests.ts";

type Answer = (request: Request) => Response | Promise<Response>;

/** An HTTP server on loopback with this handler. */
interface Listener {
  readonly port: number;
  /** Without a trailing slash. */
  readonly url: string;
  stop(): Promise<void>;
}

/** At the top of a file: a listener that is stopped after its tests. */
export function testListener(answer: Answer): Listener {
  const listener = startListener(answer);
  afterTests(listener.stop);
  return listener;
}

/** In a test or `beforeEach`: a listener that is stopped after the test at the latest. */
export function ownListener(answer: Answer): Listener {
  const listener = startListener(answer);
  afterThisTest(listener.stop);
  return listener;
}

function startListener(fetch: Answer): Listener {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
  return { port: server.port ?? 0, url: server.url.origin, stop: () => server.stop(true) };
}
