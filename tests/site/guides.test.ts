import { describe, expect, test } from "bun:test";
import { blocksOf, tryPage } from "../support/documented.ts";

/* What the guides tell a reader to type is run as it stands, on ports and in directories of its own. */

const longestMs = 120_000;
const isPossible = ["bash", "curl", "node"].every((tool) => Bun.which(tool) !== null);
if (!isPossible)
  console.warn("\n*** No bash, curl or node here: the commands of the guides are NOT TRIED. ***\n");

/** What `onair dev` prints, and its guide tells to put into variables. */
const credentials = `
if [ -z "\${CLIENT_ID:-}" ]; then
  until grep -q "Ctrl-C stops it" $log; do sleep 0.1; done
  CLIENT_ID=$(awk '$1 == "client_id" { print $2 }' $log)
  CLIENT_SECRET=$(awk '$1 == "client_secret" { print $2 }' $log)
  KEY=$(awk '$1 == "operator" { print $3 }' $log)
fi
`;

describe.skipIf(!isPossible)("the commands of", () => {
  test.each(["first-token", "first-webhook", "going-to-production", "from-kick", "from-twitch"])(
    "docs/%s.md do what it says",
    async (page) => {
      const options = { ports: [8080, 8081, 3000], whenServing: credentials };
      const { run, shown } = await tryPage(`docs/${page}.md`, options);
      expect(run).toBeGreaterThan(3);
      expect(shown).toBeGreaterThan(0);
    },
    longestMs,
  );
});

test("a block with an unknown mark is not passed over", () => {
  expect(() => blocksOf("```sh rum\nls\n```\n")).toThrow("rum");
  expect(blocksOf("a\n\n```sh run\nls\n```\n")).toMatchObject([{ kind: "run", text: "ls\n", line: 3 }]);
});
