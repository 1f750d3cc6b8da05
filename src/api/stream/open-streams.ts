/** The size at which requests whose connection has ended are dropped for the first time. */
const firstPruning = 1_024;

type Server = Pick<Bun.Server<undefined>, "requestIP">;

/** The requests that are answered by an event stream. Bun does not say when their connections end. */
export class OpenStreams {
  #requests: Request[] = [];
  #pruneAt = firstPruning;

  add(request: Request, server: Server): void {
    this.#requests.push(request);
    if (this.#requests.length < this.#pruneAt) return;
    this.#prune(server);
    this.#pruneAt = Math.max(firstPruning, 2 * this.#requests.length);
  }

  /** Returns the ports of the clients. */
  ports(server: Server): number[] {
    this.#prune(server);
    return this.#requests.map((request) => server.requestIP(request)?.port ?? 0);
  }

  #prune(server: Server): void {
    this.#requests = this.#requests.filter((request) => server.requestIP(request) !== null);
  }
}
