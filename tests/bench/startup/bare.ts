/*
 * The least that a server can be: one fixed answer by `Bun.serve`. Compiled into an executable for startup.ts.
 * bare <port> <headers as JSON> <body>
 */
const [port, headers = "{}", body] = process.argv.slice(2);

const init = { headers: new Headers(JSON.parse(headers) as Record<string, string>) };
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  reusePort: false,
  development: false,
  fetch: () => new Response(body, init),
});
process.stdout.write(`ready http://127.0.0.1:${server.port}\n`);
