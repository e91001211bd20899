// A chart over time, with its content in words for those who cannot see it.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

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

function property(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function options({ title, unit, series }: Props, width: number): uPlot.Options {
  const [ink, grid] = [property("--ink"), property("--grid")];
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
  return {
    title,
    width,
    height: HEIGHT,
    cursor: { points: { size: 6 } },
    scales: {
      x: { time: false },
      y: { range: (_, least, most) => [Math.min(0, least ?? 0), Math.max(1, (most ?? 1) * 1.05)] },
    },
    axes: [
      { ...axis, label: "seconds", labelSize: 18, size: 40 },
      { ...axis, label: unit, labelSize: 18, size: 60 },
    ],
    series: [
      { label: "time", value: (_, value) => (value == null ? "–" : `${value.toFixed(1)} s`) },
      ...series.map((one) => ({
        label: one.name,
        stroke: property(one.colour),
        width: 2,
        dash: one.dash ?? [],
        spanGaps: true,
        points: { show: false },
        ...(one.isStepped && uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
      })),
    ],
  };
}

export function Chart(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = [props.seconds, ...props.series.map((one) => one.values)] as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;
  const names = props.series.map((one) => one.name).join();
  useEffect(() => {
    const root = place.current;
    if (root === null) return undefined;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(props, Math.max(280, root.clientWidth)), latest.current, root);
    };
    draw();
    const sizes = new ResizeObserver(() => {
      const width = Math.max(280, root.clientWidth);
      if (plot.current !== null && plot.current.width !== width) {
        plot.current.setSize({ width, height: HEIGHT });
      }
    });
    sizes.observe(root);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    return () => {
      sizes.disconnect();
      dark.removeEventListener("change", draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [names]);
  useEffect(() => plot.current?.setData(data), [props.seconds.length, props.about]);
  return <div class="chart" ref={place} role="img" aria-label={props.about} />;
}
