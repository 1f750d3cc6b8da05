/*
 * What a later version no longer has. docs/stability.md promises how that is announced: headers of the answers, a line
 * of the log, a finding, the documents, and the help of settings. All of them are made from the table here.
 */

/** Something that the next major version no longer has. */
export interface Deprecation {
  /**
   * An operation by its `operationId`, one of its query parameters, or a setting by its option without dashes, such as
   * `rate-limit`.
   */
  readonly of:
    | { readonly api: DeprecatingApi; readonly operation: string; readonly parameter?: string }
    | { readonly setting: string };
  /** The version that deprecates it, such as `1.3.0`, and the day of its release. */
  readonly since: string;
  readonly sinceDay: string;
  /** The first version without it, such as `2.0.0`, and the day before which that version is not released. */
  readonly removedIn: string;
  readonly sunsetDay: string;
  /** What to do instead, as the end of a sentence: `use q`. */
  readonly instead: string;
}

/** The listeners whose operations can be deprecated. */
export type DeprecatingApi = "public" | "admin";

/** Everything that is deprecated. */
export const deprecations: readonly Deprecation[] = [];

const dayMs = (text: string) => Date.parse(`${text}T00:00:00Z`);

/** Returns the name of what is deprecated, for people: `The parameter name of getCategories`. */
export function deprecatedName({ of }: Deprecation): string {
  if ("setting" in of) return `--${of.setting}`;
  return of.parameter === undefined ? of.operation : `The parameter ${of.parameter} of ${of.operation}`;
}

/** Returns the sentence that every announcement has. */
export function deprecationNotice(deprecation: Deprecation): string {
  const { since, removedIn, sunsetDay, instead } = deprecation;
  return `${deprecatedName(deprecation)} is deprecated since ${since}, and ends with ${removedIn}, not before ${sunsetDay}: ${instead}`;
}

/**
 * Returns the headers that announce what a request uses: `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), none if it
 * uses nothing deprecated. Each header has one date: the first day from which on a part of the request is deprecated,
 * and the first from which on a part of it may no longer work.
 */
export function deprecationHeaders(used: readonly Deprecation[]): Readonly<Record<string, string>> {
  if (used.length === 0) return {};
  const first = (days: readonly string[]) => Math.min(...days.map(dayMs));
  return {
    deprecation: `@${first(used.map(({ sinceDay }) => sinceDay)) / 1000}`,
    sunset: new Date(first(used.map(({ sunsetDay }) => sunsetDay))).toUTCString(),
  };
}

/** The requests that used something deprecated. */
interface Use {
  readonly deprecation: Deprecation;
  requests: number;
  lastAt: number;
  /** The name of the application or operator key of the last request; null for a request without a token. */
  lastBy: string | null;
}

/** Finds what requests and settings use of a table, and counts the requests since the start of the server. */
export class DeprecatedUse {
  readonly #table: readonly Deprecation[];
  readonly #uses = new Map<Deprecation, Use>();

  constructor(table: readonly Deprecation[] = deprecations) {
    this.#table = table;
  }

  /** Returns what a request uses. @param url the URL of the request */
  ofRequest(api: DeprecatingApi, operation: string | null, url: string): readonly Deprecation[] {
    if (this.#table.length === 0 || operation === null) return [];
    return this.#table.filter(({ of }) => {
      if ("setting" in of || of.api !== api || of.operation !== operation) return false;
      return of.parameter === undefined || new URL(url, "http://localhost").searchParams.has(of.parameter);
    });
  }

  /** Returns what settings use. @param options the options, without dashes, that do not have their default */
  ofSettings(options: readonly string[]): readonly Deprecation[] {
    return this.#table.filter(({ of }) => "setting" in of && options.includes(of.setting));
  }

  /** Counts a request. */
  count(deprecation: Deprecation, at: number, by: string | null): void {
    const use = this.#uses.get(deprecation) ?? { deprecation, requests: 0, lastAt: at, lastBy: by };
    use.requests++;
    Object.assign(use, { lastAt: at, lastBy: by });
    this.#uses.set(deprecation, use);
  }

  /** The requests since the start of the server. */
  get requests(): readonly Readonly<Use>[] {
    return [...this.#uses.values()];
  }
}
