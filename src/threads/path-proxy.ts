/** Calls a method by its path. */
type CallPath = (path: string, args: readonly unknown[]) => unknown;

/**
 * An object whose methods, at any depth, call `call` with their path: `proxy.store.users.find(name)` calls it with
 * `store.users.find`. The types of a link decide which methods there are.
 */
export function pathProxy(call: CallPath, path = ""): object {
  const known = new Map<string, object>();
  return new Proxy((...args: unknown[]) => call(path, args), {
    get(_, name) {
      // A promise must not take it for another promise.
      if (typeof name !== "string" || name === "then") return undefined;
      let member = known.get(name);
      if (!member) {
        member = pathProxy(call, path === "" ? name : `${path}.${name}`);
        known.set(name, member);
      }
      return member;
    },
  });
}
