/** The contract between a thread and the thread that starts it. The types of both ends are derived from it. */
export interface ThreadContract {
  /** The argument with which the thread starts; must be cloneable. */
  readonly start: unknown;
  /** The methods that the thread offers to the one that started it. */
  readonly offers: object;
  /** The methods of the starting thread that the thread calls. */
  readonly calls: object;
}

/** The `calls` of a thread that calls no methods. */
export type NoCalls = Record<never, never>;

/** Whether a method takes a callback, which cannot be sent to another thread. */
type TakesCallback<Args extends readonly unknown[]> =
  Extract<Args[number], (...args: never[]) => unknown> extends never ? false : true;

/** The methods of `Offered` as another thread calls them. Methods that take callbacks are `never`. */
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
