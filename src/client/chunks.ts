/**
 * Yields the chunks of a body, and calls `notice` for each. Cancels the body when not all of it is read. Needed because
 * not every browser can iterate a body.
 */
export async function* chunksOf(
  body: ReadableStream<Uint8Array>,
  notice: () => void = () => {},
): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      notice();
      yield value;
    }
  } finally {
    // Not awaited, because a dead connection would delay the next one.
    reader.cancel().catch(() => {});
  }
}
