/** Gives a value that is made when it is first asked for, such as a statement: drizzle takes 0.3 ms to prepare one. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

type Makers<T> = { readonly [Name in keyof T]: () => T[Name] };

/** An object whose properties are each made when they are first asked for. To spread it makes them all. */
export function lazily<T extends object>(makers: Makers<T>): T {
  return defined({}, makers) as T;
}

/** All that `base` has, which stays as lazy as it is, with some of it replaced. */
export function replacing<T extends object>(base: T, makers: Partial<Makers<T>>): T {
  return defined(Object.create(base), makers as Partial<Makers<object>>) as T;
}

function defined(target: object, makers: object): object {
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
  return target;
}
