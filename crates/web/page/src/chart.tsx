// A chart over time. The keyboard moves its cursor, zooms and turns series off; its content is there in words and as a
// table for those who cannot see it. The cursors of all charts of the page move together.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { Values } from "./values";

export interface Series {
  name: string;
  /** Name of a custom property with the colour. */
  colour: string;
  dash?: number[];
  isStepped?: boolean;
  values: (number | null)[];
}

interface Props {
  title: string;
  unit: string;
  /** Content in a sentence. */
  about: string;
  seconds: number[];
  series: Series[];
}

const HEIGHT = 200;
/** Points that a page key moves the cursor by. */
const PAGE = 10;
/** Least points of a zoomed chart. */
const LEAST = 2;
const KEYS = "Arrow keys, Page Up, Page Down, Home and End move the cursor; plus and minus zoom, 0 shows all.";

function property(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** A number in words: whole numbers as they are, others to four digits. */
function figure(value: number | null | undefined): string {
  if (value == null) return "unknown";
  return Number.isInteger(value) ? `${value}` : `${Number(value.toPrecision(4))}`;
}

/** A time, to a microsecond. */
function time(seconds: number): string {
  return `${Number(seconds.toFixed(6))}`;
}

/** Span of the axis across. */
interface Span {
  min: number;
  max: number;
}

interface Hooks {
  onCursor: (place: number | null) => void;
  onZoom: (zoom: Span | null) => void;
}

function options({ title, unit, series }: Props, hidden: string[], width: number, hooks: Hooks): uPlot.Options {
  const [ink, grid] = [property("--ink"), property("--grid")];
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
  return {
    title,
    width,
    height: HEIGHT,
    cursor: { points: { size: 6 }, sync: { key: "charts", scales: ["x", null] } },
    legend: { show: false },
    scales: {
      x: { time: false },
      y: { range: (_, least, most) => [Math.min(0, least ?? 0), Math.max(1, (most ?? 1) * 1.05)] },
    },
    axes: [
      { ...axis, label: "seconds", labelSize: 18, size: 40 },
      { ...axis, label: unit, labelSize: 18, size: 60 },
    ],
    series: [
      {},
      ...series.map((one) => ({
        label: one.name,
        show: !hidden.includes(one.name),
        stroke: property(one.colour),
        width: 2,
        dash: one.dash ?? [],
        spanGaps: true,
        points: { show: false },
        ...(one.isStepped && uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
      })),
    ],
    hooks: {
      setCursor: [(plot) => hooks.onCursor(plot.cursor.idx ?? null)],
      setScale: [
        (plot, key) => {
          const [all, { min, max }] = [plot.data[0], plot.scales[key] as Span];
          if (key !== "x" || min == null || max == null) return;
          const isWhole = min <= (all[0] ?? 0) && max >= (all[all.length - 1] ?? 0);
          hooks.onZoom(isWhole ? null : { min, max });
        },
      ],
    },
  };
}

/** Places the cursor of a chart, and those of the others with it: the types of uPlot lack the last argument. */
function place(chart: uPlot, at: { left: number; top: number }): void {
  type Place = (at: { left: number; top: number }, fires: boolean, publishes: boolean) => void;
  (chart.setCursor as Place)(at, true, true);
}

/** Shows a span at once, so that places can be asked for; uPlot alone waits for the next task. */
function show(chart: uPlot, span: Span): void {
  chart.batch(() => chart.setScale("x", span));
}

/** Point nearest to a time. */
function nearest(seconds: number[], at: number): number {
  let best = 0;
  seconds.forEach((one, place) => {
    if (Math.abs(one - at) < Math.abs((seconds[best] ?? 0) - at)) best = place;
  });
  return best;
}

export function Chart(props: Props) {
  const { about, seconds, series, title, unit } = props;
  const root = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const zoom = useRef<Span | null>(null);
  /** Time to which the keyboard moved the cursor: it stays there when new points come. */
  const held = useRef<number | null>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const [hidden, setHidden] = useState<string[]>([]);
  const [hasFocus, setHasFocus] = useState(false);
  const keys = useId();
  const data = [seconds, ...series.map((one) => one.values)] as uPlot.AlignedData;
  const latest = useRef({ data, hidden });
  latest.current = { data, hidden };
  const names = series.map((one) => one.name).join();
  useEffect(() => {
    const element = root.current;
    if (element === null) return undefined;
    const hooks = { onCursor: setCursor, onZoom: (span: Span | null) => (zoom.current = span) };
    const draw = () => {
      plot.current?.destroy();
      const { data, hidden } = latest.current;
      plot.current = new uPlot(options(props, hidden, Math.max(280, element.clientWidth), hooks), data, element);
    };
    draw();
    const sizes = new ResizeObserver(() => {
      const width = Math.max(280, element.clientWidth);
      if (plot.current !== null && plot.current.width !== width) {
        plot.current.setSize({ width, height: HEIGHT });
      }
    });
    sizes.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    return () => {
      sizes.disconnect();
      dark.removeEventListener("change", draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [names]);
  useEffect(() => {
    const chart = plot.current;
    if (chart === null) return;
    const span = zoom.current;
    chart.setData(data, span === null);
    if (span !== null) show(chart, span);
    if (held.current !== null) moveTo(nearest(seconds, held.current));
  }, [seconds.length, about]);

  /** Moves the cursor of this chart, and with it those of the others. */
  const moveTo = (target: number) => {
    const at = seconds[Math.max(0, Math.min(seconds.length - 1, target))];
    const chart = plot.current;
    if (chart === null || at === undefined) return;
    held.current = at;
    const { min, max } = chart.scales.x as Span;
    if (at < min || at > max) {
      // A cursor that leaves a zoomed chart takes its span along.
      const by = at < min ? at - min : at - max;
      show(chart, { min: min + by, max: max + by });
    }
    place(chart, { left: chart.valToPos(at, "x"), top: HEIGHT / 3 });
  };
  const zoomBy = (factor: number) => {
    const [chart, first, last] = [plot.current, seconds[0], seconds[seconds.length - 1]];
    if (chart === null || first === undefined || last === undefined) return;
    const { min, max } = chart.scales.x as Span;
    const least = ((last - first) / Math.max(1, seconds.length - 1)) * LEAST;
    const width = Math.min(last - first, Math.max(least, (max - min) * factor));
    const middle = seconds[cursor ?? -1] ?? (min + max) / 2;
    const start = Math.max(first, Math.min(last - width, middle - width / 2));
    show(chart, { min: start, max: start + width });
    if (cursor !== null) moveTo(cursor);
  };
  const leave = () => {
    held.current = null;
    if (plot.current !== null) place(plot.current, { left: -10, top: -10 });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const end = seconds.length - 1;
    const from = cursor ?? end + 1;
    const moves: Record<string, () => void> = {
      ArrowLeft: () => moveTo(from - 1),
      ArrowRight: () => moveTo(cursor === null ? 0 : from + 1),
      PageUp: () => moveTo(from - PAGE),
      PageDown: () => moveTo(cursor === null ? PAGE : from + PAGE),
      Home: () => moveTo(0),
      End: () => moveTo(end),
      "+": () => zoomBy(0.5),
      "-": () => zoomBy(2),
      "0": () => zoomBy(Infinity),
      Escape: leave,
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    move();
  };
  const toggle = (name: string) => {
    const isHidden = hidden.includes(name);
    setHidden(isHidden ? hidden.filter((one) => one !== name) : [...hidden, name]);
    plot.current?.setSeries(series.findIndex((one) => one.name === name) + 1, { show: isHidden });
  };
  const at = cursor === null ? undefined : seconds[cursor];
  const shown = series.filter((one) => !hidden.includes(one.name));
  const reading =
    at === undefined || cursor === null
      ? ""
      : `${time(at)} s: ${shown.map((one) => `${one.name} ${figure(one.values[cursor])}`).join(", ")}`;
  return (
    <div class="chart" role="group" aria-label={title}>
      <div
        ref={root}
        class="plot"
        role="img"
        tabIndex={0}
        aria-label={about}
        aria-describedby={keys}
        onKeyDown={onKeyDown}
        onFocus={() => setHasFocus(true)}
        onBlur={() => setHasFocus(false)}
      />
      <p id={keys} class={hasFocus ? "keys" : "keys hidden"}>{KEYS}</p>
      <div class="toggles">
        {series.map((one) => (
          <button type="button" key={one.name} aria-pressed={!hidden.includes(one.name)} onClick={() => toggle(one.name)}>
            <svg width="24" height="8" aria-hidden="true">
              <line
                x1="0" y1="4" x2="24" y2="4"
                style={{ stroke: `var(${one.colour})`, strokeWidth: 3, strokeDasharray: one.dash?.join(" ") }}
              />
            </svg>
            {one.name}
          </button>
        ))}
        <span class="reading" aria-live={hasFocus ? "polite" : "off"}>{reading}</span>
      </div>
      <Values title={title} unit={unit} seconds={seconds} series={shown} figure={figure} time={time} />
    </div>
  );
}
