/*
 * The colours of pages with the platform's accent. Each is computed from the accent for the light and for the dark
 * theme, so that text has the contrast of WCAG 2.2 AA (4.5:1), and rings and bars that of graphics (3:1), with any
 * accent.
 */

/** A colour as red, green and blue, each from 0 to 255. */
type Rgb = readonly [red: number, green: number, blue: number];

const textContrast = 4.5;
const graphicsContrast = 3;

/** The backgrounds of each theme in `style/base.css`, on which links, rings and bars stand. */
const themes = {
  light: { backgrounds: ["#ffffff", "#f6f7f9", "#f1f3f6"], surface: "#ffffff", end: "#000000" },
  dark: { backgrounds: ["#0d0f13", "#15181e", "#1b1f27", "#101318"], surface: "#15181e", end: "#ffffff" },
} as const;

/** The colours of text on the accent, in the order of preference. Black or white is readable on any colour. */
const onAccents = ["#ffffff", "#0d0f13", "#000000"] as const;

/** The share of the accent in the background of a selected item. */
const tintShare = 0.1;

/**
 * Returns a style sheet for an accent.
 * @param accent `#rgb` or `#rrggbb`
 */
export function accentStyle(accent: string): string {
  const color = rgbOf(accent);
  const onAccent = onAccents.find((text) => contrast(rgbOf(text), color) >= textContrast) ?? "#000000";
  const [light, dark] = [variants(color, "light"), variants(color, "dark")];
  const both = (name: keyof typeof light) => `light-dark(${light[name]}, ${dark[name]})`;
  return `:root {
  --accent: ${hexOf(color)};
  --on-accent: ${onAccent};
  --link: ${both("link")};
  --mark: ${both("mark")};
  --tint: ${both("tint")};
}
`;
}

/** Returns the colours of a theme: of links, of rings and bars, and the background of a selected item. */
function variants(accent: Rgb, theme: keyof typeof themes) {
  const { backgrounds, surface, end } = themes[theme];
  const tint = mixed(rgbOf(surface), accent, tintShare);
  const behind = [...backgrounds.map(rgbOf), tint];
  const readable = (least: number) => hexOf(towards(accent, rgbOf(end), behind, least));
  return { link: readable(textContrast), mark: readable(graphicsContrast), tint: hexOf(tint) };
}

const steps = 100;

/** Mixes a colour with as little of `end` as gives this contrast with every background. */
function towards(color: Rgb, end: Rgb, backgrounds: readonly Rgb[], least: number): Rgb {
  for (let step = 0; step < steps; step++) {
    const mix = mixed(color, end, step / steps);
    if (backgrounds.every((background) => contrast(mix, background) >= least)) return mix;
  }
  return end;
}

const mixed = (from: Rgb, to: Rgb, share: number): Rgb => {
  const part = (i: 0 | 1 | 2) => Math.round(from[i] + (to[i] - from[i]) * share);
  return [part(0), part(1), part(2)];
};

function rgbOf(color: string): Rgb {
  const digits = color.length === 4 ? color.replace(/[^#]/g, "$&$&") : color;
  const part = (at: number) => Number.parseInt(digits.slice(at, at + 2), 16);
  return [part(1), part(3), part(5)];
}

const hexOf = (color: Rgb) => `#${color.map((part) => part.toString(16).padStart(2, "0")).join("")}`;

/** The contrast of two colours, from 1 to 21 (WCAG 2.2, "contrast ratio"). */
function contrast(color: Rgb, other: Rgb): number {
  const [darker, lighter] = [luminance(color), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

/** The relative luminance of a colour (WCAG 2.2). */
function luminance(color: Rgb): number {
  const [red, green, blue] = color.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as unknown as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
