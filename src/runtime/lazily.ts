/** Returns a function that makes a value, such as a prepared statement, on its first call. Later calls return it. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

type Makers<T> = { readonly [Name in keyof T]: () => T[Name] };

/** Returns an object whose properties are made on first use. Spreading it makes all of them. */
export function lazily<T extends object>(makers: Makers<T>): T {
  const target = {};
  for (const [name, make] of Object.entries(makers) as [string, () => unknown][]) {
    Object.defineProperty(target, name, {
      configurable: true,
      enumerable: true,
      get() {
        const value = make();
        Object.defineProperty(target, name, { value, enumerable: true });
        return value;
      },
    });
  }
  return target as T;
}
