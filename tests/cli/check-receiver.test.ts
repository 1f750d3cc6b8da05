import { describe, expect, spyOn, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { closedPort } from "../support/ports.ts";
import { run } from "../support/process.ts";
import { type Answer, ownReceiver } from "../support/receiver.ts";

/** `onair trigger --forward`: no server runs, only the receivers that it checks. */

const secret = `whsec_${btoa("a receiver's secret of 32 bytes!")}`;

const verifies: Answer = ({ body, headers }) => {
  try {
    new Webhook(secret).verify(body, headers);
    return new Response(null, { status: 204 });
  } catch {
    return new Response(null, { status: 401 });
  }
};

/** A program that does not catch its library's errors. */
const breaksAtForged: Answer = async (received, number) => {
  const answer = await verifies(received, number);
  return answer.status === 401 ? new Response(null, { status: 500 }) : answer;
};

const check = async (answer: Answer, ...args: string[]) => {
  const receiver = ownReceiver(answer);
  const forwarded = ["trigger", "chat.message.sent", "--forward", receiver.url, "--secret", secret];
  return { ...(await run([...forwarded, ...args])), received: receiver.received };
};

interface Report {
  readonly ok: boolean;
  readonly checks: readonly {
    readonly check: string;
    readonly ok: boolean;
    readonly status: number | null;
  }[];
}

/** For each check, whether it passed, and the receiver's status. */
type Expected = Record<string, [boolean, number]>;

const right: Expected = {
  right_signature: [true, 204],
  wrong_signature: [true, 401],
  old_timestamp: [true, 401],
  same_id_again: [true, 204],
  slow_answer: [true, 204],
};

describe("onair trigger --forward", () => {
  test("a receiver that is not running is reported, without a slowest answer", async () => {
    const to = `http://127.0.0.1:${closedPort}/`;
    const { code, stdout } = await run(["trigger", "kicks.gifted", "--forward", to, "--secret", secret]);
    expect([code, stdout]).toEqual([1, expect.stringContaining("nothing listens there")]);
    expect(stdout).not.toMatch(/slowest|^ok/m);
  });

  test("--once --count sends so many deliveries, each with an id of its own", async () => {
    const { code, received } = await check(verifies, "--once", "--count", "3");
    const ids = received.map(({ headers }) => headers["webhook-id"]);
    expect([code, ids.length, new Set(ids).size]).toEqual([0, 3, 3]);
  });

  test.each<[string, Answer, Expected]>([
    ["that verifies", verifies, right],
    [
      "that accepts everything",
      () => new Response("ok"),
      {
        right_signature: [true, 200],
        wrong_signature: [false, 200],
        old_timestamp: [false, 200],
        same_id_again: [true, 200],
        slow_answer: [true, 200],
      },
    ],
    [
      "that does not look at the timestamp",
      (received, number) => (number === 3 ? new Response(null, { status: 204 }) : verifies(received, number)),
      { ...right, old_timestamp: [false, 204] },
    ],
    [
      "that refuses a repeated id",
      (received, number) => (number === 4 ? new Response(null, { status: 409 }) : verifies(received, number)),
      { ...right, same_id_again: [false, 409] },
    ],
    [
      "that crashes on forged deliveries",
      breaksAtForged,
      { ...right, wrong_signature: [false, 500], old_timestamp: [false, 500] },
    ],
    [
      "that refuses genuine deliveries, after which no further check runs",
      () => new Response("invalid signature", { status: 401 }),
      { right_signature: [false, 401], slow_answer: [true, 401] },
    ],
  ])("a receiver %s", async (_, answer, expected) => {
    const { code, stdout } = await check(answer, "--json");
    const { ok, checks } = JSON.parse(stdout) as Report;
    const found = Object.fromEntries(
      checks.map(({ check, ok, status }) => [
        check,
        [ok, check === "slow_answer" ? expected[check]?.[1] : status],
      ]),
    );
    expect(found).toEqual(expected);
    const isRight = Object.values(expected).every(([right]) => right);
    expect([ok, code]).toEqual([isRight, isRight ? 0 : 1]);
  });

  test("sends the platform's delivery, marked as a test", async () => {
    const { received } = await check(verifies, "--set", "content=Hello", "--broadcaster", "7");
    expect(received).toHaveLength(4);
    const [first, forged, old, again] = received;
    const id = first?.headers["webhook-id"];
    for (const { headers, body } of received) {
      expect(JSON.parse(body)).toMatchObject({
        type: "chat.message.sent",
        version: 1,
        data: { content: "Hello", broadcaster: { user_id: 7 } },
      });
      expect(headers).toMatchObject({
        "content-type": "application/json",
        "onair-event-type": "chat.message.sent",
        "onair-test": "true",
        "user-agent": expect.stringMatching(/^onair\//),
      });
    }
    expect([forged?.headers["webhook-id"], old?.headers["webhook-id"]]).not.toContain(id);
    expect([again?.headers["webhook-id"], again?.headers["onair-attempt"]]).toEqual([id, "2"]);
    const age = Date.now() / 1000 - Number(old?.headers["webhook-timestamp"]);
    expect(age).toBeGreaterThan(500);
  });

  test("prints each answer beside the expected one, and advice", async () => {
    const good = await check(verifies);
    expect(good.stdout).toMatch(/^ok +wrong signature +401 in \d+ ms +It should be refused/m);
    expect(good.stderr).toContain("The receiver behaves as it should.");
    const bad = await check(() => new Response("fine"));
    expect(bad.stdout).toMatch(/^failed +wrong signature +200 in \d+ ms +It should be refused/m);
    expect(bad.stderr).toContain("accepts forged or old requests");
    const again = await check((received, number) =>
      number === 4 ? new Response(null, { status: 409 }) : verifies(received, number),
    );
    expect(again.stderr).toContain("does not accept the same id again. Answer 2xx");
    const broken = await check(breaksAtForged);
    expect(broken.stderr).toContain("fails at forged or old requests");
    const wrong = await check(() => new Response("no matching signature", { status: 400 }));
    expect(wrong.stderr).toContain("probably the wrong secret");
    for (const { stdout, stderr } of [good, bad, again, broken, wrong])
      expect(stdout + stderr).not.toContain(secret);
  });

  test("control characters in an answer do not reach the terminal, and JSON output keeps the answer unchanged", async () => {
    const body = "\u001b]0;title\u0007\u001b[31m\u009b2J\u202ered\r\nok\rno";
    const steering: Answer = () => new Response(body, { status: 400 });
    const once = await check(steering, "--once");
    expect(once.stdout).toEndWith("\\u001b]0;title\\u0007\\u001b[31m\\u009b2J\\u202ered\r\nok\\u000dno\n");
    const json = await check(steering, "--once", "--json");
    expect(json.stdout).not.toMatch(/[\u009b\u202e]/);
    expect(JSON.parse(json.stdout)).toMatchObject({ answer: body });
    expect((await check(steering)).stdout).not.toMatch(/[^\P{Cc}\n]/u);
  });

  test("--once sends one delivery, and its exit code says whether it was accepted", async () => {
    const good = await check(verifies, "--once");
    expect([good.code, good.stdout, good.received.length]).toEqual([
      0,
      expect.stringMatching(/^204 in \d+ ms\n$/),
      1,
    ]);
    const bad = await check(() => new Response("broken", { status: 500 }), "--once", "--json");
    expect([bad.code, JSON.parse(bad.stdout)]).toMatchObject([1, { status: 500, answer: "broken" }]);
  });

  test.each([
    [6_000, 0, "ok", "It answered 204, but only after 6.0 seconds; after 15 it counts as failed."],
    [16_000, 1, "failed", "It answered 204, but only after 16.0 seconds; after 15 it counts as failed."],
  ])("a receiver whose answers take %i ms", async (ms, code, state, advice) => {
    let clock = 0;
    const receiver = ownReceiver((...received) => {
      clock += ms;
      return verifies(...received);
    });
    const spy = spyOn(performance, "now").mockImplementation(() => clock);
    const args = ["chat.message.sent", "--forward", receiver.url, "--secret", secret];
    const result = await run(["trigger", ...args]).finally(() => spy.mockRestore());
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(advice)]);
    expect(result.stdout).toMatch(new RegExp(`^${state} +slowest answer +${ms} ms`, "m"));
  });

  test.each([
    [["chat.message.sent"], "The secret of the program is missing"],
    [["chat.message.sent", "--secret", "whsec_short"], "--secret must be whsec_"],
    [["chat.mesage.sent", "--secret", secret], "Did you mean chat.message.sent?"],
    [["raffle.won", "--secret", secret], "There is no event type raffle.won"],
    [["chat.message.sent", "--secret", secret, "--data", "x"], "--forward needs no server"],
    [["chat.message.sent", "--secret", secret, "--forwrad", "x"], "Did you mean --forward?"],
  ])("%j is wrong usage", async (args, message) => {
    const { code, stdout, stderr } = await run(["trigger", "--forward", "http://127.0.0.1:1/", ...args]);
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining(message)]);
  });
});
