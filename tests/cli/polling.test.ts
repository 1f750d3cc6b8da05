import { expect, test } from "bun:test";
import { askingAgain } from "../../src/cli/calls/http.ts";
import { errorOf } from "../../src/client/http.ts";

const answer = async (status: number) => {
  throw await errorOf(new Response("busy", { status }));
};

test.each([429, 502, 503, 504, 522])(
  "status %d means that the server is away, so the command asks again",
  async (status) => {
    const unlessAway = askingAgain();
    expect(await unlessAway(() => answer(status))).toBeNull();
    expect(await unlessAway(async () => "back")).toBe("back");
  },
);

test.each([400, 401, 404, 500, 501])(
  "status %d is an answer of the server, so the command ends",
  async (status) => {
    await expect(askingAgain()(() => answer(status))).rejects.toThrow(`The answer was ${status}`);
  },
);
