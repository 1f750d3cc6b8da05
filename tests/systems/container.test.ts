import { afterAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { contentsOf } from "../../scripts/release/contents.ts";
import { targets } from "../../scripts/release/targets.ts";
import { packedDebian } from "../support/debian-machine.ts";
import { compiled, run } from "../support/process.ts";
import { testDirectory } from "../support/server.ts";

const executable = compiled[0] ?? "";
const target = targets.find(({ npm: { os, cpu, libc } }) => {
  return os === process.platform && cpu === process.arch && libc === "glibc";
});
const directory = testDirectory();
const patienceMs = 300_000;
/** Debian's image is not available everywhere. This one is built from Debian's packages. */
const base = "localhost/onair-base";
const image = "localhost/onair";
const limits = ["--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096"];
const closed = [
  "--read-only",
  "--cap-drop=all",
  "--security-opt=no-new-privileges",
  "--network=none",
  ...limits,
];

/** Podman with its own storage. */
const podman = (...args: readonly string[]) => {
  const storage = [
    "--storage-driver",
    "vfs",
    "--root",
    join(directory, "images"),
    "--runroot",
    join(directory, "run"),
  ];
  return run(args, { command: ["podman", "--runtime", "runc", ...storage] });
};

/** The reason why containers cannot run here; undefined if they can. */
async function obstacle(): Promise<string | undefined> {
  if (target === undefined || !existsSync(executable)) return "dist/onair is missing: bun run build";
  const missing = ["podman", "runc", "mmdebstrap"].filter((tool) => Bun.which(tool) === null);
  if (missing.length > 0) return `${missing.join(", ")} is missing`;
  const packed = await packedDebian();
  if (packed === undefined) return "a root of Debian could not be made";
  await podman("import", "--quiet", packed, base);
  const tried = await podman("run", "--rm", ...closed, base, "true");
  return tried.code === 0 ? undefined : `podman runs no containers here: ${tried.stderr.trim()}`;
}

const reason = await obstacle();
if (reason !== undefined) console.warn(`SKIPPED: tests of the image: ${reason}`);

describe.skipIf(reason !== undefined)("the image of ops/Containerfile", () => {
  const name = "onair";
  const inside = (...command: readonly string[]) => podman("exec", name, ...command);
  afterAll(() => podman("rm", "--force", "--time", "0", name));

  test(
    "serves without root, on a read-only root, is healthy, and stops on a signal",
    async () => {
      if (target === undefined) throw new Error("there is no target");
      const context = join(directory, "unpacked");
      const built = { version: "0.1.0", executable: await Bun.file(executable).bytes(), packages: [] };
      for (const { path, content } of (await contentsOf(target, 0, built)).files)
        await Bun.write(join(context, path), content);
      await Bun.$`cp ${executable} ${join(context, "onair")}`;
      const how = [
        "--build-arg",
        `BASE=${base}`,
        "--quiet",
        "--format",
        "docker",
        "--isolation",
        "chroot",
        "--layers=false",
        "--pull=never",
      ];
      const made = await podman("build", ...how, "--tag", image, context);
      expect([made.code, made.stderr]).toEqual([0, ""]);

      expect(await podman("run", "--detach", "--name", name, ...closed, image)).toMatchObject({ code: 0 });
      expect(await ready(name)).toContain("onair ready public=http://127.0.0.1:8080");
      expect((await inside("id", "-u")).stdout).toBe("65532\n");
      expect(await inside("touch", "/usr/bin/other")).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/read-only/i),
      });
      expect((await inside("stat", "--format", "%u %a", "/var/lib/onair")).stdout).toBe("65532 700\n");
      expect(await podman("healthcheck", "run", name)).toMatchObject({ code: 0 });
      // A command looks at the data of the server, and a health check only at the server.
      expect((await inside("onair", "doctor")).stdout).toContain("/var/lib/onair");
      const health = await podman("inspect", "--format", "{{json .State.Health.Log}}", name);
      expect(health.stdout).not.toContain("/var/lib/onair");
      // The health check's result without a server.
      expect(await inside("onair", "doctor", "--url", "http://127.0.0.1:9")).toMatchObject({ code: 1 });

      expect(await podman("stop", "--time", "60", name)).toMatchObject({ code: 0 });
      const { stdout } = await podman("inspect", "--format", "{{.State.ExitCode}}", name);
      expect(stdout).toBe("0\n");
    },
    patienceMs,
  );

  /** The container's output once its server is ready; rejects after a minute. */
  async function ready(container: string): Promise<string> {
    let said = "";
    for (const endsAt = Date.now() + 60_000; Date.now() < endsAt; await Bun.sleep(100)) {
      const { stdout, stderr } = await podman("logs", container);
      said = stdout + stderr;
      if (said.includes("onair ready ")) return said;
    }
    throw new Error(`not ready after a minute:\n${said}`);
  }
});
