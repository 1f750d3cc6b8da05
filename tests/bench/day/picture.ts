/*
 * Makes a picture of some plots of a day's page: bun tests/bench/day/picture.ts day.html day.svg
 */
import { readFileSync, writeFileSync } from "node:fs";

const titles = [
  "A second",
  "Publishing to acknowledgement, ms",
  "First request to arrival at prompt receivers, ms",
  "Backlog",
  "Servers ready",
  "Memory, MB",
];
const width = 960;
/** Of a plot with its heading. */
const step = 215;

/** Of both themes, because a picture does not know the theme of the page around it. */
const style = `text{font-family:system-ui,sans-serif;fill:#1c1c22}.title{font-size:15px;font-weight:600}.key{font-size:13px}
.axis{fill:#5c5c66;font-size:11px}.grid{stroke:#d9d9e0}.band{fill:#f4c95d55}.line{fill:none;stroke-width:1.5}
${["#2563c9", "#c2410c", "#15803d", "#7e22ce", "#0e7490"].map((colour, i) => `.line.c${i}{stroke:${colour}}.key.c${i}{fill:${colour}}`).join("")}`;

const [from = "", to = ""] = process.argv.slice(2);
const page = readFileSync(from, "utf8");
const plots = titles.flatMap((title) => {
  const figure = page.match(/<figure>.*?<\/figure>/gs)?.find((one) => one.includes(`<b>${title}</b>`));
  return figure === undefined ? [] : [{ title, figure }];
});
const drawn = plots.map(({ title, figure }, n) => {
  const keys = [...figure.matchAll(/<span class="key (c\d)">(.*?)<\/span>/g)];
  const heading = keys.map(([, kind, name]) => `<tspan class="key ${kind}" dx="14">${name}</tspan>`).join("");
  const svg = /<svg.*?<\/svg>/s.exec(figure)?.[0] ?? "";
  const placed = svg.replace(
    /<svg [^>]*>/,
    `<svg y="${n * step + 34}" width="${width}" height="170" viewBox="0 0 ${width} 170">`,
  );
  return `<text class="title" x="10" y="${n * step + 24}">${title}${heading}</text>${placed}`;
});
const height = plots.length * step;
writeFileSync(
  to,
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}"><style>${style}</style><rect width="${width}" height="${height}" fill="#fff"/>${drawn.join("\n")}</svg>\n`,
);
