import { expect, test } from "bun:test";
import { askingAgain } from "../../src/cli/client/absence.ts";
import { Refused } from "../../src/cli/client/http.ts";

test.each([429, 502, 503, 504, 522])(
  "status %d means that the server is away, so the command asks again",
  async (status) => {
    const unlessAway = askingAgain();
    expect(await unlessAway(() => Promise.reject(new Refused("busy", status)))).toBeNull();
    expect(await unlessAway(async () => "back")).toBe("back");
  },
);

test.each([400, 401, 404, 500, 501])(
  "status %d is an answer of the server, so the command ends",
  async (status) => {
    const ask = () => Promise.reject(new Refused("damaged", status));
    await expect(askingAgain()(ask)).rejects.toThrow("damaged");
  },
);
