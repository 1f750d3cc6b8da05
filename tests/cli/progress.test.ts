import { expect, test } from "bun:test";
import { progressLine } from "../../src/cli/output/progress.ts";

test("progress is a bar on a wide enough terminal, and a plain line elsewhere", () => {
  const half = { bytes: 50e6, totalBytes: 100e6, rows: 12_345 };
  const plain = "50.0 of 100.0 MB  12,345 rows  12,345 rows/s  1 s left";
  expect(progressLine(half, 1_000, 120)).toBe(`████████████░░░░░░░░░░░░  50 %  ${plain}`);
  expect(progressLine(half, 1_000, 73)).toBe(`█████░░░░░  50 %  ${plain}`);
  expect(progressLine(half, 1_000, 40)).toBe(`50 %  ${plain}`.slice(0, 39));
  expect(progressLine(half, 1_000, null)).toBe(`50 %  ${plain}`);
  expect(progressLine({ bytes: 5e6, totalBytes: null, rows: 10 }, 500, null)).toBe(
    "5.0 MB  10 rows  20 rows/s",
  );
  expect(progressLine({ ...half, rows: null }, 500, null)).toBe(
    "50 %  50.0 of 100.0 MB  100.0 MB/s  1 s left",
  );
  const rows = { bytes: 0, totalBytes: null, rows: 250_000, totalRows: 1_000_000 };
  expect(progressLine(rows, 2_500, null)).toBe("25 %  250,000 of 1,000,000 rows  100,000 rows/s  8 s left");
  expect(progressLine({ bytes: 0, totalBytes: 0, rows: 0 }, 0, 120)).toBe("0.0 MB  0 rows  0 rows/s");
});
