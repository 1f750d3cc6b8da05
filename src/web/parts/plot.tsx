import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { reconnects } from "../client.ts";
import { Empty } from "./basics.tsx";
import { currentTheme } from "./shell.tsx";

interface Series {
  readonly name: string;
  readonly tone: "ok" | "bad" | "warn" | "plain" | "accent";
  readonly values: readonly (number | null)[];
}

interface PlotProps {
  readonly label: string;
  /** The times in seconds since the epoch, in order. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** The form of the plot: stacked bars, or lines. */
  readonly kind: "bars" | "lines";
  readonly format?: (value: number) => string;
  readonly empty?: string;
  /** A sentence below `empty`. */
  readonly hint?: string;
}

const height = 190;
/** The steps of an axis of bars. Bars are counts, so the axis has whole numbers. */
const wholeSteps = Array.from({ length: 12 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat();
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A plot over time, with a sentence for each series for screen readers. */
export function Plot({
  label,
  times,
  series,
  kind,
  format = (value) => compact.format(value),
  empty,
  hint,
}: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const isEmpty = times.length === 0 || series.every(({ values }) => values.every((value) => !value));
  const key = JSON.stringify([times, series, kind, isEmpty]);
  useEffect(() => {
    const element = place.current;
    if (!element || isEmpty) return;
    let isOver = false;
    let plot: uPlot | null = null;
    const resize = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height }));
    const draw = ({ default: Made }: { default?: typeof uPlot }) => {
      // A script is empty if its connection was closed within the header of the response, for Chromium without TLS.
      if (isOver || !Made) return;
      plot = new Made(
        optionsOf(Made, element, kind, series, format, stepOf(times)),
        dataOf(times, series, kind),
        element,
      );
      resize.observe(element);
    };
    // If the connection is lost, the plot is drawn when the connection is back.
    import("uplot").then(draw, () => {});
    return () => {
      isOver = true;
      resize.disconnect();
      plot?.destroy();
    };
  }, [key, currentTheme.value, reconnects.value]);
  if (isEmpty) return <Empty title={empty ?? "No data in this period."} text={hint} />;
  return (
    <figure class="stack tight">
      <div class="plot" ref={place} aria-hidden="true" />
      <figcaption class="legend">
        <span class="visually-hidden">
          {label}, {clockAt(times[0])} to {clockAt(times.at(-1))}:
        </span>
        {series.map(({ name, tone, values }) => (
          <span key={name}>
            <i class={`series-${tone}`} /> {name}
            {kind === "bars" &&
              ` ${compact.format(values.reduce<number>((sum, value) => sum + (value ?? 0), 0))}`}
            <span class="visually-hidden">{highest(times, values, format)}</span>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

const clockAt = (seconds = 0) => clock.format(seconds * 1_000);

/** Describes the highest and the last value of a series. */
function highest(
  times: readonly number[],
  values: readonly (number | null)[],
  format: (value: number) => string,
): string {
  const most = Math.max(...values.map((value) => value ?? 0));
  const last = values.findLast((value) => value !== null) ?? 0;
  return most === 0
    ? ", none."
    : `, at most ${format(most)} at ${clockAt(times[values.indexOf(most)])}, last ${format(last)}.`;
}

/** Stacks the series of bars: each is the sum of the series and those below, and the highest is drawn first. */
function dataOf(times: readonly number[], series: readonly Series[], kind: string): uPlot.AlignedData {
  if (kind === "lines") return [[...times], ...series.map(({ values }) => [...values])];
  const sums = series.map((_, i) =>
    times.map((_, at) => {
      const sum = series.slice(0, i + 1).reduce((total, { values }) => total + (values[at] ?? 0), 0);
      return series[i]?.values[at] ? sum : null;
    }),
  );
  return [[...times], ...sums.reverse()];
}

const stepOf = ([first = 0, second = first]: readonly number[]) => second - first;

function optionsOf(
  Made: typeof uPlot,
  element: HTMLElement,
  kind: string,
  series: readonly Series[],
  format: (value: number) => string,
  step: number,
): uPlot.Options {
  const color = (className: string) => {
    const probe = document.createElement("i");
    probe.className = className;
    element.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
  const muted = color("muted");
  const grid = { stroke: color("grid-line"), width: 1 };
  const font = '11px "Inter", system-ui, sans-serif';
  const axis = { stroke: muted, font, grid: { show: false }, ticks: { show: false } };
  const drawn = kind === "bars" ? [...series].reverse() : series;
  const bars =
    kind === "bars" && Made.paths.bars ? Made.paths.bars({ size: [0.72, 40], radius: 0.15 }) : null;
  return {
    width: element.clientWidth,
    height,
    cursor: { y: false, points: { show: kind === "lines" } },
    legend: { show: false },
    scales: {
      // Leaves space for the first and the last bar.
      ...(bars && { x: { range: (_, min, max) => [min - step / 2, max + step / 2] } }),
      y: { range: (_, __, max) => [0, Math.max(max, 1) * 1.05] },
    },
    axes: [
      {
        ...axis,
        space: 64,
        size: 28,
        values: (_, splits) => splits.map((seconds) => clockAt(seconds)),
      },
      {
        ...axis,
        ...(bars && { incrs: wholeSteps }),
        grid,
        size: 46,
        values: (_, splits) => splits.map((value) => format(value)),
      },
    ],
    series: [
      {},
      ...drawn.map(({ name, tone }) => {
        const stroke = color(`series-${tone}`);
        const paths = bars ? { paths: bars, fill: stroke, width: 0 } : { width: 2 };
        return { label: name, stroke, points: { show: !bars, size: 4, fill: stroke }, ...paths };
      }),
    ],
  };
}
