import { describe, expect, test } from "bun:test";
import { accentStyle } from "../../../src/api/http/accent.ts";

/** The channels of a colour `#rrggbb`, from 0 to 1. */
const channels = (color: string) =>
  [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255) as [number, number, number];

/** The contrast of WCAG 2.2. */
function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [one, other]
    .map((color) => {
      const [red, green, blue] = channels(color).map((value) =>
        value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4,
      ) as [number, number, number];
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    })
    .sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** The properties of the style sheet: the values of the light and of the dark theme. */
function valuesOf(accent: string): Record<string, readonly [light: string, dark: string]> {
  const lines = [...accentStyle(accent).matchAll(/--([a-z-]+): (?:light-dark\((\S+), (\S+)\)|(\S+));/g)];
  return Object.fromEntries(
    lines.map(([, name, light, dark, both]) => [name, [light ?? both, dark ?? both]]),
  );
}

/** The backgrounds of `style/base.css` by theme. */
const css = await Bun.file(`${import.meta.dir}/../../../src/web/style/base.css`).text();
const backgrounds = ["canvas", "surface", "raised", "sunken"].map((name) => {
  const [, light = "", dark = ""] = new RegExp(`--${name}: light-dark\\((\\S+), (\\S+)\\);`).exec(css) ?? [];
  return [light, dark] as const;
});

const steps = ["00", "40", "80", "bf", "ff"];
const grid = steps.flatMap((red) => steps.flatMap((green) => steps.map((blue) => `#${red}${green}${blue}`)));

describe("an accent", () => {
  test.each(["#1a73e8", "#777777", "#767676", "#ffd400", "#fff", "#000", "#c00", ...grid])(
    "%s has readable text, links and rings",
    (accent) => {
      const { accent: fill, "on-accent": text, link, mark, tint } = valuesOf(accent);
      for (const theme of [0, 1] as const) {
        expect(contrast(text?.[theme] ?? "", fill?.[theme] ?? "")).toBeGreaterThanOrEqual(4.5);
        for (const background of [...backgrounds.map((both) => both[theme]), tint?.[theme] ?? ""]) {
          expect(background).toMatch(/^#[0-9a-f]{6}$/);
          expect(contrast(link?.[theme] ?? "", background)).toBeGreaterThanOrEqual(4.5);
          expect(contrast(mark?.[theme] ?? "", background)).toBeGreaterThanOrEqual(3);
        }
      }
    },
  );

  test("stays as it is where that can be seen", () => {
    expect(valuesOf("#1a73e8")).toMatchObject({
      accent: ["#1a73e8", "#1a73e8"],
      "on-accent": ["#ffffff", "#ffffff"],
    });
    expect(valuesOf("#1a73e8")["mark"]).toEqual(["#1a73e8", "#1a73e8"]);
  });
});
