// A table that can be sorted and searched; the server decides on its columns and cells.

import { useState } from "preact/hooks";
import { sign, type Cell, type Panel, type Row } from "./state";

/** Rows shown until the reader asks for all. */
const FIRST_ROWS = 20;

interface Order {
  column: number;
  isDescending: boolean;
}

function compare(a: Cell | undefined, b: Cell | undefined): number {
  const [one, other] = [a?.[0] ?? null, b?.[0] ?? null];
  if (one !== null && other !== null) return one - other;
  if (one !== null || other !== null) return one === null ? -1 : 1;
  return (a?.[1] ?? "").localeCompare(b?.[1] ?? "", "en", { numeric: true });
}

function sorted(rows: Row[], order: Order | null): Row[] {
  if (order === null) return rows;
  const { column, isDescending } = order;
  const by = (a: Row, b: Row) => compare(a.cells[column], b.cells[column]);
  return rows.slice().sort((a, b) => (isDescending ? by(b, a) : by(a, b)));
}

/** Name of a row: its texts. The same row keeps its place in the document, and with it the focus. */
function nameOf(row: Row): string {
  if (row.connection !== null && row.cells.length > 9) return `${row.connection}`;
  return row.cells.filter((cell) => cell[0] === null).map((cell) => cell[1]).join("\t");
}

interface Props {
  panel: Panel;
  onConnection?: (id: number) => void;
  isSearchable?: boolean;
}

export function Table({ panel, onConnection, isSearchable = true }: Props) {
  const [order, setOrder] = useState<Order | null>(null);
  const [wanted, setWanted] = useState("");
  const [hasAll, setHasAll] = useState(false);
  const words = wanted.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const has = (row: Row) =>
    words.every((word) => row.cells.some((cell) => cell[1].toLowerCase().includes(word)));
  const found = sorted(panel.rows.filter(has), order);
  const rows = hasAll ? found : found.slice(0, FIRST_ROWS);
  const turn = (column: number) => {
    const isNumber = panel.columns[column]?.is_number ?? false;
    if (order?.column !== column) return setOrder({ column, isDescending: isNumber });
    return setOrder(order.isDescending === isNumber ? { column, isDescending: !isNumber } : null);
  };
  const title = `title-${panel.id}`;
  return (
    <section id={panel.id}>
      <h2 id={title} tabIndex={-1}>{panel.title}</h2>
      <p>{panel.about}</p>
      {isSearchable && panel.rows.length > 5 && (
        <label class="search">
          Search
          <input
            type="search"
            value={wanted}
            onInput={(event) => setWanted((event.target as HTMLInputElement).value)}
          />
          <span role="status">{words.length > 0 ? `${found.length} of ${panel.rows.length}` : ""}</span>
        </label>
      )}
      <div class="wide" tabIndex={0} role="region" aria-labelledby={title}>
        <table>
          <thead>
            <tr>
              <th scope="col" class="sign"><span class="hidden">severity</span></th>
              {panel.columns.map((column, place) => {
                const isSorted = order?.column === place;
                const direction = order?.isDescending ? "descending" : "ascending";
                return (
                  <th
                    scope="col"
                    key={column.title}
                    class={column.is_number ? "number" : ""}
                    aria-sort={isSorted ? direction : "none"}
                  >
                    <button type="button" title={column.help} onClick={() => turn(place)}>
                      {column.title}
                      <span aria-hidden="true">{isSorted ? (order?.isDescending ? " ▾" : " ▴") : ""}</span>
                    </button>
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={nameOf(row)} data-grade={row.grade ?? undefined}>
                <td class="sign">{sign(row.grade)}</td>
                {row.cells.map((cell, place) => {
                  const id = row.connection;
                  const isLink = place === 0 && id !== null && onConnection !== undefined;
                  return (
                    <td key={place} class={panel.columns[place]?.is_number ? "number" : ""}>
                      {isLink ? (
                        <button type="button" class="link" onClick={() => onConnection(id)}>
                          {cell[1]}
                        </button>
                      ) : (
                        cell[1]
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {found.length > FIRST_ROWS && (
        <button type="button" onClick={() => setHasAll(!hasAll)}>
          {hasAll ? `Show the first ${FIRST_ROWS}` : `Show all ${found.length}`}
        </button>
      )}
    </section>
  );
}
