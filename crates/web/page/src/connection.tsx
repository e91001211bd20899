// One connection in depth.

import { useEffect, useRef, useState } from "preact/hooks";
import { Chart } from "./chart";
import { Table } from "./table";
import type { Detail, Snapshot, Trace } from "./state";

interface Props {
  id: number;
  /** State that the connection is a part of: with a new one it is asked for again. */
  snapshot: Snapshot;
  onClose: () => void;
}

export function Connection({ id, snapshot, onClose }: Props) {
  const [detail, setDetail] = useState<Detail | null>(null);
  const [isGone, setIsGone] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    let isCurrent = true;
    fetch(`/api/v1/connection/${id}`)
      .then((answer) => (answer.ok ? (answer.json() as Promise<Detail>) : null))
      .then((found) => {
        if (!isCurrent) return;
        setIsGone(found === null);
        if (found !== null) setDetail(found);
      })
      // The last state stays where it is; the page says that the link was lost.
      .catch(() => undefined);
    return () => {
      isCurrent = false;
    };
  }, [id, snapshot]);
  useEffect(() => heading.current?.focus(), [id]);
  return (
    <section id="connection" aria-labelledby="title-connection">
      <h2 id="title-connection" tabIndex={-1} ref={heading}>Connection {id}</h2>
      <button type="button" onClick={onClose}>Back to all</button>
      {isGone && <p>The meter let this connection go.</p>}
      {detail !== null && detail.id === id && (
        <>
          <dl>
            {detail.properties.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
          <Table panel={detail.sides} isSearchable={false} />
          {detail.traces.map((trace) => <Numbers key={trace.from} trace={trace} />)}
        </>
      )}
    </section>
  );
}

function last(values: (number | null)[]): string {
  const known = values.filter((value) => value !== null);
  return known.length > 0 ? `${known[known.length - 1]}` : "unknown";
}

/** Sequence numbers of a side over time. */
function Numbers({ trace }: { trace: Trace }) {
  const { from } = trace;
  const about =
    `DT numbers sent by ${from}: sent ${last(trace.sent)}, ` +
    `acknowledged ${last(trace.acknowledged)}, allowed by credit ${last(trace.allowed)}`;
  return (
    <Chart
      title={`Numbers of DTs sent by ${from}`}
      unit="number"
      about={about}
      seconds={trace.seconds}
      series={[
        { name: "sent", colour: "--blue", isStepped: true, values: trace.sent },
        { name: "acknowledged", colour: "--green", dash: [2, 3], isStepped: true, values: trace.acknowledged },
        { name: "allowed", colour: "--orange", dash: [8, 4], isStepped: true, values: trace.allowed },
      ]}
    />
  );
}
