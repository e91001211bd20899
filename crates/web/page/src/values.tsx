// The numbers of a chart as a table, page by page.

import { useState } from "preact/hooks";
import type { Series } from "./chart";

/** Rows of a page. */
const ROWS = 20;

interface Props {
  title: string;
  unit: string;
  seconds: number[];
  series: Series[];
  figure: (value: number | null | undefined) => string;
  time: (seconds: number) => string;
}

export function Values({ title, unit, seconds, series, figure, time }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const [wanted, setWanted] = useState(0);
  const pages = Math.max(1, Math.ceil(seconds.length / ROWS));
  const page = Math.min(wanted, pages - 1);
  const first = page * ROWS;
  const rows = isOpen ? seconds.slice(first, first + ROWS) : [];
  return (
    <details class="values" onToggle={(event) => setIsOpen((event.target as HTMLDetailsElement).open)}>
      <summary>Numbers as a table</summary>
      <div class="wide" tabIndex={0} role="region" aria-label={`Numbers of ${title}`}>
        <table>
          <caption class="hidden">{title}, {unit}</caption>
          <thead>
            <tr>
              <th scope="col" class="number">seconds</th>
              {series.map((one) => <th scope="col" class="number" key={one.name}>{one.name}</th>)}
            </tr>
          </thead>
          <tbody>
            {rows.map((at, row) => (
              <tr key={first + row}>
                <th scope="row" class="number">{time(at)}</th>
                {series.map((one) => <td class="number" key={one.name}>{figure(one.values[first + row])}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p>
        <button type="button" disabled={page === 0} onClick={() => setWanted(page - 1)}>Previous</button>{" "}
        <span role="status">page {page + 1} of {pages}</span>{" "}
        <button type="button" disabled={page === pages - 1} onClick={() => setWanted(page + 1)}>Next</button>
      </p>
    </details>
  );
}
