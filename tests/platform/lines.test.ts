import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Line, lineGroups, untilSignal } from "../../src/platform/batches.ts";
import { holdsLater } from "../support/property.ts";

const lineBytes = 40;
/** Lines of every kind: empty, blank, at the limit and above it, with any bytes but the end of a line. */
const contents = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.uint8Array({ maxLength: lineBytes + 10 }).map((bytes) => bytes.filter((b) => b !== 0x0a)),
    },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom("", " ", "\t\r", "x".repeat(lineBytes), "y".repeat(lineBytes + 1))
        .map((text) => new TextEncoder().encode(text)),
    },
  ),
  { maxLength: 30 },
);
const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 20 });

/** The bytes in pieces of these sizes, again and again. */
function* pieces(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array<ArrayBuffer>> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    yield Uint8Array.from(bytes.subarray(at, at + size));
    at += size;
  }
}

async function* streamed(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

const isBlank = (bytes: Uint8Array) => /^[ \t\r]*$/.test(Buffer.from(bytes).toString("latin1"));

describe("lines of a stream", () => {
  test("are those of its text however it is cut, in groups that are no larger than they may be", async () => {
    await holdsLater(
      fc.asyncProperty(
        contents,
        sizes,
        fc.boolean(),
        fc.integer({ min: 1, max: 5 }),
        async (lines, sizes, hasEnd, groupSize) => {
          const end = hasEnd ? "\n" : "";
          const text = Buffer.concat(
            lines.flatMap((line, i) => [line, Buffer.from(i < lines.length - 1 ? "\n" : end)]),
          );
          const found: Line[] = [];
          for await (const group of lineGroups(streamed(pieces(text, sizes)), {
            groupSize,
            groupBytes: 100,
            lineBytes,
          })) {
            expect(group.length).toBeGreaterThan(0);
            expect(group.length).toBeLessThanOrEqual(groupSize);
            // One that fills the group may be as long as a line may be.
            const held = group.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0);
            expect(held).toBeLessThan(100 + lineBytes);
            found.push(
              ...group.map(({ number, bytes }) => ({ number, bytes: bytes && Uint8Array.from(bytes) })),
            );
          }
          const expected = lines.flatMap((line, i): Line[] => {
            if (line.length > lineBytes) return [{ number: i + 1, bytes: null }];
            return isBlank(line) ? [] : [{ number: i + 1, bytes: Uint8Array.from(line) }];
          });
          expect(found).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("come whole, and all of them, where nothing stops the stream", async () => {
    await holdsLater(
      fc.asyncProperty(contents, sizes, async (lines, sizes) => {
        const text = Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")]));
        const stream = new Response(streamed(pieces(text, sizes))).body ?? new ReadableStream();
        const chunks: Uint8Array[] = [];
        for await (const chunk of untilSignal(stream, new AbortController().signal, 1_000)) {
          expect(chunk.at(-1)).toBe(0x0a);
          chunks.push(Uint8Array.from(chunk));
        }
        expect(Buffer.concat(chunks).equals(text)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});
