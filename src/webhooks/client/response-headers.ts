/** Header names and values in the order of the response, names in lower case. */
export type ResponseHeaders = readonly (readonly [name: string, value: string])[];

const mostHeaders = 40;
const longestName = 100;

/** Collects the header lines of a response, within bounds. */
export class HeaderCollector {
  readonly #kept: [string, string][] = [];

  add(line: string): void {
    if (this.#kept.length >= mostHeaders) return;
    const end = line.indexOf(":");
    const name = line.slice(0, end).toLowerCase();
    if (name.length <= longestName) this.#kept.push([name, line.slice(end + 1).trim()]);
  }

  clear(): void {
    this.#kept.length = 0;
  }

  get all(): ResponseHeaders {
    return this.#kept;
  }
}
