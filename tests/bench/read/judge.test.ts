import { expect, test } from "bun:test";
import type { Ratio } from "./load.ts";
import { type Comparison, judge } from "./measure.ts";

const exactly = (value: number): Ratio => ({ median: value, lowest: value, highest: value });
const compared = (requests: number, cpu: number): Comparison => ({
  requests: exactly(requests),
  cpu: exactly(cpu),
});
const floor = { of: "Hono", least: 0.85 };
const share = { undisturbed: 0.97, disturbed: 0.6 };

test.each([
  ["met by requests", compared(0.86, 0.5), share.undisturbed, true],
  ["met to the digit", compared(0.85, 0.5), share.undisturbed, true],
  ["missed by requests, whatever CPU says", compared(0.84, 0.99), share.undisturbed, false],
  ["met by CPU where the runs were disturbed", compared(0.2, 0.86), share.disturbed, true],
  ["missed by CPU where the runs were disturbed", compared(0.99, 0.84), share.disturbed, false],
  ["missed where nothing could be measured", compared(Number.NaN, Number.NaN), share.undisturbed, false],
])("a floor is %s", (_, comparison, least, met) => {
  expect(judge(floor, { Hono: comparison }, least).met).toBe(met);
});

test("the floor beside a server that could not be started is missed, and says so", () => {
  const goal = judge({ of: "Fastify", least: 3 }, { Hono: compared(9, 9) }, 1);
  expect(goal).toEqual({ text: "not judged, because it was not there: goal 3 of Fastify", met: false });
});

test("runs with a small share of their core miss every floor", () => {
  expect(judge(floor, { Hono: compared(9, 9) }, 0.2).met).toBe(false);
});
