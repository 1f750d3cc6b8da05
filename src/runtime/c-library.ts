import type { FFIFunction, Library } from "bun:ffi";

/** The C libraries of Linux: glibc, and musl for both architectures. */
const libraries = ["libc.so.6", "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"];

/** Returns functions of the C library of Linux. Throws where no known C library is found. */
export function cFunctions<Functions extends Record<string, FFIFunction>>(
  functions: Functions,
): Library<Functions>["symbols"] {
  // Loaded with the first call, because few processes need the module and every start would wait for it.
  const { dlopen } = process.getBuiltinModule("bun:ffi") as typeof import("bun:ffi");
  for (const name of libraries) {
    try {
      return dlopen(name, functions).symbols;
    } catch {
      // The system has another C library.
    }
  }
  throw new Error("no C library was found");
}
