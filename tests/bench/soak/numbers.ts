/** The number of an event of the soak, which its body carries as the id of the follower. */
export function numberOf(body: string): number {
  return (JSON.parse(body) as { data: { follower: { user_id: number } } }).data.follower.user_id;
}

const mostExpected = 10_000;

/** How long after its publishing an event arrives. */
export class Latencies {
  /** When an event was begun to be published, by its number. */
  readonly expected = new Map<number, number>();
  #taken: number[] = [];

  /** Only the first arrival counts; that of an event whose publishing is not answered yet does not. */
  arrived(number: number): void {
    const at = this.expected.get(number);
    if (at === undefined) return;
    this.#taken.push(performance.now() - at);
    this.expected.delete(number);
  }

  /** In milliseconds, since the last call. */
  takeLatencies(): readonly number[] {
    const taken = this.#taken;
    this.#taken = [];
    // What goes elsewhere, or arrived before it was expected, does not come.
    for (const number of this.expected.keys()) {
      if (this.expected.size <= mostExpected) break;
      this.expected.delete(number);
    }
    return taken;
  }
}
