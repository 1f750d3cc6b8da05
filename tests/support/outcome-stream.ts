import type { DeliveryOutcome } from "../../src/domain/outcomes.ts";
import { afterThisTest } from "./after-tests.ts";

export interface Outcomes {
  outcomes: (Omit<DeliveryOutcome, "at"> & { at: string })[];
  left_out: number;
}

/** In a test: what arrives on a stream of outcomes, as long as the test lasts. */
export function watching(body: ReadableStream<Uint8Array> | null) {
  const seen: { parts: Outcomes[]; text: string; isEnded: boolean } = { parts: [], text: "", isEnded: false };
  const reader = body?.getReader();
  if (!reader) throw new Error("there is no stream");
  afterThisTest(() => reader.cancel());
  void (async () => {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      seen.text += new TextDecoder().decode(value);
      const frames = seen.text.split("\n\n").filter((frame) => /^event: outcomes$/m.test(frame));
      seen.parts = frames.map((frame) => JSON.parse(frame.slice(frame.indexOf("data: ") + 6)) as Outcomes);
    }
    seen.isEnded = true;
  })();
  return Object.assign(seen, { cancel: () => reader.cancel() });
}

/** The outcomes that a stream has shown so far. */
export const all = (seen: { parts: readonly Outcomes[] }) => seen.parts.flatMap(({ outcomes }) => outcomes);

/** The topics that a stream has named so far. */
export const named = ({ text }: { text: string }) =>
  new Set(
    [...text.matchAll(/^event: changed\ndata: (.*)$/gm)].flatMap(([, topics]) => topics?.split(" ") ?? []),
  );
