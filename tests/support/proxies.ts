import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unusedPort } from "./ports.ts";
import { temporaryDirectory } from "./server.ts";
import { until } from "./until.ts";

/*
 * The configurations of docs/proxies, run without TLS on free ports.
 */

const docs = join(import.meta.dir, "../../docs/proxies");
const environment = { PATH: `${process.env["PATH"]}:/usr/sbin` };

/** A text of a configuration, and its replacement. */
export type Change = readonly [from: string, to: string];

interface Proxy {
  /** What a configuration needs to run in a test, at this port of loopback. */
  changes(port: number): readonly Change[];
  command(file: string, directory: string): string[];
}

const temporaryPaths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
  .map((kind) => `  ${kind}_temp_path temp-${kind};\n`)
  .concat("  access_log off;\n")
  .join("");

const proxies = {
  caddy: {
    changes: (port) => [
      ["{\n\tgrace_period", "{\n\tadmin off\n\tauto_https off\n\tgrace_period"],
      ["api.example.com", `http://127.0.0.1:${port}`],
    ],
    command: (file) => ["caddy", "run", "--config", file, "--adapter", "caddyfile"],
  },
  nginx: {
    changes: (port) => [
      ["listen 443 ssl", `listen 127.0.0.1:${port}`],
      ["    ssl_certificate /etc/ssl/api.example.com.pem;\n", ""],
      ["    ssl_certificate_key /etc/ssl/api.example.com.key;\n", ""],
      ["worker_processes auto;", "worker_processes 1;\ndaemon off;\npid nginx.pid;\nerror_log stderr;"],
      ["http {\n", `http {\n${temporaryPaths}`],
    ],
    command: (file, directory) => ["nginx", "-p", directory, "-c", file],
  },
  haproxy: {
    changes: (port) => [
      ["bind :443 ssl crt /etc/ssl/api.example.com.pem", `bind 127.0.0.1:${port}`],
      // Two descriptors each, for which it does not start where it may not have them.
      ["maxconn 16384", "maxconn 100"],
    ],
    command: (file) => ["haproxy", "-db", "-f", file],
  },
} satisfies Readonly<Record<string, Proxy>>;

export type ProxyName = keyof typeof proxies;

/** Whether a proxy is installed; warns where it is not. */
export function hasProxy(name: ProxyName): boolean {
  const isThere = Bun.which(name, environment) !== null;
  if (!isThere) console.warn(`${name} is not installed: the tests of its configuration are skipped`);
  return isThere;
}

/** Replaces each text by another one; throws where a text is missing, so that the test follows the documentation. */
function replaced(text: string, changes: readonly Change[]): string {
  return changes.reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`The configuration has no ${from}`);
    return before.replaceAll(from, to);
  }, text);
}

/** Runs a proxy with a file of docs/proxies, and waits until it answers. */
export async function startProxy(name: ProxyName, documented: string, changes: readonly Change[]) {
  const text = readFileSync(join(docs, documented), "utf8");
  return run(name, documented, (port) => replaced(text, [...proxies[name].changes(port), ...changes]));
}

const plain = {
  nginx: (port: number, upstream: string, also: string) =>
    `worker_processes 1;\ndaemon off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\n${temporaryPaths}
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://${upstream}; ${also} } }\n}\n`,
  haproxy: (port: number, upstream: string) =>
    `defaults\n  mode http\n  maxconn 100\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s
listen all\n  bind 127.0.0.1:${port}\n  server one ${upstream}\n`,
} satisfies Partial<Record<ProxyName, (port: number, upstream: string, also: string) => string>>;

/** Runs a proxy with the fewest lines that forward to a host, and further lines. It adds no header by itself. */
export async function startPlainProxy(name: keyof typeof plain, upstream: string, also = "") {
  return run(name, "plain.conf", (port) => plain[name](port, upstream, also));
}

async function run(name: ProxyName, fileName: string, textFor: (port: number) => string) {
  const directory = temporaryDirectory();
  const port = await unusedPort();
  const file = join(directory.path, fileName);
  writeFileSync(file, textFor(port));
  const child = Bun.spawn(proxies[name].command(file, directory.path), {
    env: { ...environment, HOME: directory.path },
    stdout: "ignore",
    stderr: "ignore",
  });
  const url = `http://127.0.0.1:${port}`;
  await until(() =>
    fetch(`${url}/public/v1/categories`).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  return {
    url,
    async stop() {
      // A worker of nginx outlives SIGKILL; the others wait with SIGTERM for streams that are open.
      child.kill(name === "nginx" ? "SIGTERM" : "SIGKILL");
      await child.exited;
      directory.remove();
    },
  };
}
