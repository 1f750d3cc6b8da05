import * as real from "bun:test";
import { mock } from "bun:test";
import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";

/*
 * Loaded before tests by `in-time.ts`: has the name of the test that runs in this process in a file, which bun prints
 * only when the test is over.
 */

const directory = process.env["ONAIR_RUNNING_TESTS"];

function note(name: string): void {
  const file = relative(process.cwd(), Bun.main);
  writeFileSync(join(directory ?? "", String(process.pid)), `${file}: ${name}`);
}

type Callback = (...given: unknown[]) => unknown;

/** `test`, and what `test.each` and others return: has the tests that it is given note their names. */
function noting<T extends object>(test: T): T {
  return new Proxy(test, {
    apply(target, self, given: unknown[]) {
      const [name, work, ...options] = given;
      if (typeof name !== "string" || typeof work !== "function")
        return noting(Reflect.apply(target as unknown as Callback, self, given) as object);
      const noted: Callback = (...values) => {
        note(name);
        return (work as Callback)(...values);
      };
      return Reflect.apply(target as unknown as Callback, self, [name, noted, ...options]);
    },
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" && key !== "prototype" ? noting(value.bind(target)) : value;
    },
  });
}

if (directory) mock.module("bun:test", () => ({ ...real, test: noting(real.test), it: noting(real.it) }));
