/** A platform that releases are made for. */
export interface Target {
  /** The name in file names of archives and npm packages. */
  readonly name: string;
  /** Bun's name of the platform, and the npm package with its runtime. */
  readonly bun: Bun.Build.CompileTarget;
  readonly runtime: string;
  /** The fields in package.json by which npm installs the matching package. */
  readonly npm: { readonly os: string; readonly cpu: string; readonly libc?: "glibc" | "musl" };
  /** The architecture in Debian; absent without a Debian package. */
  readonly debian?: "amd64" | "arm64";
}

export const targets: readonly Target[] = [
  {
    name: "linux-x64",
    bun: "bun-linux-x64",
    runtime: "@oven/bun-linux-x64",
    npm: { os: "linux", cpu: "x64", libc: "glibc" },
    debian: "amd64",
  },
  {
    name: "linux-arm64",
    bun: "bun-linux-arm64",
    runtime: "@oven/bun-linux-aarch64",
    npm: { os: "linux", cpu: "arm64", libc: "glibc" },
    debian: "arm64",
  },
  {
    name: "linux-x64-musl",
    bun: "bun-linux-x64-musl",
    runtime: "@oven/bun-linux-x64-musl",
    npm: { os: "linux", cpu: "x64", libc: "musl" },
  },
  {
    name: "linux-arm64-musl",
    bun: "bun-linux-arm64-musl",
    runtime: "@oven/bun-linux-aarch64-musl",
    npm: { os: "linux", cpu: "arm64", libc: "musl" },
  },
  {
    name: "darwin-x64",
    bun: "bun-darwin-x64",
    runtime: "@oven/bun-darwin-x64",
    npm: { os: "darwin", cpu: "x64" },
  },
  {
    name: "darwin-arm64",
    bun: "bun-darwin-arm64",
    runtime: "@oven/bun-darwin-aarch64",
    npm: { os: "darwin", cpu: "arm64" },
  },
];
