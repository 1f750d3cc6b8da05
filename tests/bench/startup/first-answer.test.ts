import { expect, test } from "bun:test";
import { unusedPort } from "../../support/ports.ts";
import { firstRightAnswer } from "./first-answer.ts";

const question = { path: "/users/ada", headers: { authorization: "Bearer token" }, body: '{"user":"Ada"}' };

/** A server that gives these answers in turn, repeats the last one, and counts requests. */
function serve(port: number, answers: (() => Response)[]) {
  let asked = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    fetch(request) {
      const answer = answers[Math.min(asked++, answers.length - 1)];
      const right =
        request.headers.get("authorization") === "Bearer token" && request.url.endsWith("/users/ada");
      return right && answer ? answer() : new Response(null, { status: 500 });
    },
  });
  return { server, asked: () => asked };
}

test("requests begin before the server listens, and are repeated until the answer is correct", async () => {
  const port = await unusedPort();
  const answered = firstRightAnswer(port, question, 10_000);
  await Bun.sleep(20);
  const { server, asked } = serve(port, [
    () => new Response("starting", { status: 503 }),
    () => new Response('{"user":"Bob"}'),
    () => new Response(question.body),
  ]);
  await answered;
  expect(asked()).toBe(3);
  await server.stop(true);
});

test("an answer that stays wrong is an error", async () => {
  const port = await unusedPort();
  const { server } = serve(port, [() => new Response(`${question.body} `)]);
  const answered = firstRightAnswer(port, question, 100);
  expect(await answered.catch(String)).toContain("No right answer to /users/ada within 100 ms");
  await server.stop(true);
});

test("without a server the wait times out", async () => {
  expect(await firstRightAnswer(await unusedPort(), question, 50).catch(String)).toContain("no connection");
});
