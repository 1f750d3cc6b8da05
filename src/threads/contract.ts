/** What the two ends of a thread agree on. The types of both ends follow from it. */
export interface ThreadContract {
  /** What the thread starts with; it has to be cloneable. */
  readonly start: unknown;
  /** The methods that the thread offers to the one that started it. */
  readonly offers: object;
  /** The methods that it calls there. */
  readonly calls: object;
}

/** Of a thread that calls nothing in the one that started it. */
export type NoCalls = Record<never, never>;

/** Functions cannot be sent to another thread. */
type TakesCallback<Args extends readonly unknown[]> =
  Extract<Args[number], (...args: never[]) => unknown> extends never ? false : true;

/** The methods of `Offered`, called from another thread. One that takes a callback cannot be called. */
export type Remote<Offered> = {
  readonly [Name in keyof Offered]: Offered[Name] extends (...args: infer Args) => infer Result
    ? TakesCallback<Args> extends true
      ? never
      : (...args: Args) => Promise<Awaited<Result>>
    : Remote<Offered[Name]>;
};

/** The same, without waiting for a result. */
export type Notify<Offered> = {
  readonly [Name in keyof Offered]: Offered[Name] extends (...args: infer Args) => unknown
    ? TakesCallback<Args> extends true
      ? never
      : (...args: Args) => void
    : Notify<Offered[Name]>;
};
