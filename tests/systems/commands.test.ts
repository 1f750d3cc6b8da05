import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { blocksOf, tryPage } from "../support/documented.ts";
import { bareDatabase, hasPostgres } from "../support/postgres.ts";

/* The commands of each page are run unchanged, on free ports and in temporary directories. */

const longestMs = 180_000;
const isPossible = ["bash", "curl", "node", "openssl"].every((tool) => Bun.which(tool) !== null);
if (!isPossible) {
  console.warn("\n*** No bash, curl, node or openssl here: the commands of docs/ are NOT TRIED. ***\n");
}

/** True when PostgreSQL's programs are installed where Debian puts them. */
const isLocal = existsSync("/usr/lib/postgresql");

/** Values that `onair dev` prints and the guides put into variables. */
const credentials = `
if [ -z "\${CLIENT_ID:-}" ]; then
  until grep -q "Ctrl-C stops it" $log; do sleep 0.1; done
  CLIENT_ID=$(awk '$1 == "client_id" { print $2 }' $log)
  CLIENT_SECRET=$(awk '$1 == "client_secret" { print $2 }' $log)
  KEY=$(awk '$1 == "operator" { print $3 }' $log)
fi
`;

/** Pages for developers. Each starts `onair dev` or assumes that it runs. */
const guides = ["first-webhook", "managing-your-application", "from-kick", "from-twitch"];

const dev = `
log=dev.log
onair dev >$log 2>&1 &
listens 8081 $!
${credentials}
echo "$CLIENT_SECRET" | onair login --url http://127.0.0.1:8080 --client-id "$CLIENT_ID" --secret-file -
`;

const asOperator = "export ONAIR_ADMIN_KEY=$KEY";

/** A production server, with a stand-in for systemd that knows no other service. */
const production = `
mkdir -p /etc/onair /mnt/other
echo an-operator-key-of-more-than-32-characters >/etc/onair/admin-key
export ONAIR_ADMIN_KEY=an-operator-key-of-more-than-32-characters
start() {
  onair serve --data /var/lib/onair 9>&- &
  server=$!
  listens 8081 $server
}
systemctl() {
  if [ $1 = start ]; then start; else kill $server; wait $server || true; fi
}
start
`;

const database = "postgres://onair@db.example.com/onair";

/** The same with PostgreSQL. The URL with its password is in a file. */
const withDatabase = (url: string, password: string) => `${production}
PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
ONAIR_DATABASE=${database}
export PGPASSWORD='${password}'
echo '${url}' >/etc/onair/database-url
chmod 600 /etc/onair/database-url
`;

const certificate = `
mkdir -p /etc/onair
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=api.example.com \
  -keyout /etc/onair/privkey.pem -out /etc/onair/fullchain.pem
export ONAIR_DATA=/var/lib/onair
`;

const pages: readonly [page: string, least: number, before: string][] = [
  ...guides.map((page): [string, number, string] => [page, 3, ""]),
  ["command-line", 2, dev],
  ["event-types", 2, dev + asOperator],
  ["filters", 3, dev],
  ["operating", 4, "mkdir -p /etc/onair /mnt/other"],
  ["settings", 3, production],
  ["doctor", 1, production],
  ["upgrading", 1, production],
  ["backups", 2, production],
  ["reverse-proxy", 2, certificate],
];

type WithDatabase = (url: string, password: string) => string;

const onPostgres: readonly [page: string, blocks: number, before: WithDatabase][] = [
  ["postgres", 3, withDatabase],
  ["replicas", 1, (url, password) => `${withDatabase(url, password)}\nonair migrate --database ${database}`],
];

const places = {
  ports: [8080, 8081, 3000, 8443],
  paths: ["/var/lib/onair", "/etc/onair", "/mnt/other"],
} as const;

describe.skipIf(!isPossible)("the commands of", () => {
  test.each(pages)(
    "docs/%s.md do what it says",
    async (page, least, before) => {
      const run = await tryPage(`docs/${page}.md`, {
        ...places,
        before,
        whenServing: guides.includes(page) ? credentials : "",
      });
      expect(run).toBeGreaterThanOrEqual(least);
    },
    longestMs,
  );

  test.skipIf(!hasPostgres || !isLocal).each(onPostgres)(
    "docs/%s.md do what it says",
    async (page, least, before) => {
      const { url, drop } = await bareDatabase();
      try {
        const shown = new URL(url);
        const { password } = shown;
        shown.password = "";
        const texts = { [database]: shown.href };
        const run = await tryPage(`docs/${page}.md`, { ...places, texts, before: before(url, password) });
        expect(run).toBe(least);
      } finally {
        await drop();
      }
    },
    longestMs,
  );

  test("every page with marked commands is tested", async () => {
    const docs = join(import.meta.dir, "../../docs");
    const marked: string[] = [];
    for (const file of new Bun.Glob("*.md").scanSync(docs)) {
      if (blocksOf(await Bun.file(join(docs, file)).text()).length > 0) marked.push(file.slice(0, -3));
    }
    expect(marked.sort()).toEqual([...pages, ...onPostgres].map(([page]) => page).sort());
  });
});

test("a block with an unknown mark is an error", () => {
  expect(() => blocksOf("```sh rum\nls\n```\n")).toThrow("rum");
  expect(blocksOf("a\n\n```sh run\nls\n```\n")).toMatchObject([{ kind: "run", text: "ls\n", line: 3 }]);
});
