/*
 * Draws the default pictures, for users and categories without one: `bun scripts/default-pictures.ts`. The result is
 * committed; run it again after a change here.
 */
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";

type Color = readonly [red: number, green: number, blue: number];
/** Returns the distance of a point from a shape in pixels; negative inside. */
type Shape = (x: number, y: number) => number;
interface Layer {
  readonly shape: Shape;
  readonly color: Color;
  readonly opacity: number;
}
interface Picture {
  readonly width: number;
  readonly height: number;
  /** Background, from the upper left to the lower right corner. */
  readonly from: Color;
  readonly to: Color;
  readonly layers: readonly Layer[];
}

const light: Color = [238, 241, 246];
const slate: Color = [124, 135, 156];
const dusk: Color = [78, 88, 109];
const night: Color = [44, 50, 65];

const circle = (cx: number, cy: number, radius: number): Shape => {
  return (x, y) => Math.hypot(x - cx, y - cy) - radius;
};
const ring = (cx: number, cy: number, radius: number, stroke: number): Shape => {
  return (x, y) => Math.abs(Math.hypot(x - cx, y - cy) - radius) - stroke / 2;
};
/** Both sides of a ring, up to `angle` above and below the horizontal, with round ends. */
const waves = (cx: number, cy: number, radius: number, stroke: number, angle: number): Shape => {
  const [endX, endY] = [radius * Math.cos(angle), radius * Math.sin(angle)];
  return (x, y) => {
    const [dx, dy] = [Math.abs(x - cx), Math.abs(y - cy)];
    const onArc = Math.atan2(dy, dx) <= angle;
    return (onArc ? Math.abs(Math.hypot(dx, dy) - radius) : Math.hypot(dx - endX, dy - endY)) - stroke / 2;
  };
};
/** A rectangle with this centre and corners rounded by `radius`. */
const box = (cx: number, cy: number, width: number, height: number, radius: number): Shape => {
  return (x, y) => {
    const dx = Math.abs(x - cx) - width / 2 + radius;
    const dy = Math.abs(y - cy) - height / 2 + radius;
    return Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(Math.max(dx, dy), 0) - radius;
  };
};

const filled = (shape: Shape, opacity = 1, color: Color = light): Layer => ({ shape, color, opacity });

/** The layers of a broadcast symbol: a dot with waves on both sides. */
function broadcast(cx: number, cy: number, size: number): Layer[] {
  const quarter = Math.PI / 4;
  return [
    filled(circle(cx, cy, size * 0.17)),
    filled(waves(cx, cy, size * 0.42, size * 0.1, quarter), 0.85),
    filled(waves(cx, cy, size * 0.7, size * 0.1, quarter), 0.6),
  ];
}

const pictures: Readonly<Record<string, Picture>> = {
  "profile-picture.png": {
    width: 300,
    height: 300,
    from: slate,
    to: dusk,
    layers: [filled(circle(150, 118, 54)), filled(box(150, 290, 204, 196, 98))],
  },
  "category-icon.png": {
    width: 285,
    height: 380,
    from: slate,
    to: night,
    layers: [filled(box(142.5, 190, 245, 340, 18), 0.07), ...broadcast(142.5, 190, 112)],
  },
  "category-banner.png": {
    width: 1200,
    height: 400,
    from: slate,
    to: night,
    layers: [
      ...[150, 260, 370, 480, 590, 700].map((radius, i) =>
        filled(ring(900, 200, radius, 26), 0.09 - i * 0.013),
      ),
      ...broadcast(900, 200, 120),
    ],
  },
};

function draw({ width, height, from, to, layers }: Picture): Uint8Array {
  const pixels = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const along = (x / width + y / height) / 2;
      const at = (y * width + x) * 3;
      const cover = layers.map(({ shape, opacity }) => {
        return opacity * Math.min(1, Math.max(0, 0.5 - shape(x + 0.5, y + 0.5)));
      });
      for (let channel = 0; channel < 3; channel++) {
        const [start = 0, end = 0] = [from[channel], to[channel]];
        const background = start + (end - start) * along;
        const mixed = layers.reduce((under, { color }, i) => {
          return under + ((color[channel] ?? 0) - under) * (cover[i] ?? 0);
        }, background);
        pixels[at + channel] = Math.round(mixed);
      }
    }
  }
  return pixels;
}

/** Encodes 8-bit RGB pixels as PNG (https://www.w3.org/TR/png-3/), with the better filter for each row. */
function png(width: number, height: number, pixels: Uint8Array): Uint8Array {
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8); // bits per channel
  header.setUint8(9, 2); // RGB
  const stride = width * 3;
  const rows: Uint8Array[] = [];
  for (let y = 0; y < height; y++) {
    const row = pixels.subarray(y * stride, (y + 1) * stride);
    const above = y === 0 ? new Uint8Array(stride) : pixels.subarray((y - 1) * stride, y * stride);
    rows.push(filtered(row, above));
  }
  return Buffer.concat([
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    chunk("IHDR", new Uint8Array(header.buffer)),
    chunk("IDAT", deflateSync(Buffer.concat(rows), { level: 9 })),
    chunk("IEND", new Uint8Array()),
  ]);
}

/** Filters a row by the difference to the left pixel (1) or to the pixel above (2), whichever has the smaller sum. */
function filtered(row: Uint8Array, above: Uint8Array): Uint8Array {
  const left = new Uint8Array(row.length + 1);
  const up = new Uint8Array(row.length + 1);
  left[0] = 1;
  up[0] = 2;
  for (let i = 0; i < row.length; i++) {
    left[i + 1] = (row[i] ?? 0) - (i < 3 ? 0 : (row[i - 3] ?? 0));
    up[i + 1] = (row[i] ?? 0) - (above[i] ?? 0);
  }
  const size = (bytes: Uint8Array) => bytes.reduce((sum, byte) => sum + Math.min(byte, 256 - byte), 0);
  return size(left) < size(up) ? left : up;
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(data.length);
  named.copy(framed, 4);
  framed.writeUInt32BE(crc32(named), named.length + 4);
  return framed;
}

const directory = join(import.meta.dir, "../src/api/public/assets");
for (const [name, picture] of Object.entries(pictures)) {
  const bytes = png(picture.width, picture.height, draw(picture));
  await Bun.write(join(directory, name), bytes);
  console.log(`${name}: ${picture.width}x${picture.height}, ${bytes.length} bytes`);
}
