// The page: the answer first, then charts and tables.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Chart } from "./chart";
import { Connection } from "./connection";
import { Table } from "./table";
import { follow, sign, type Finding, type Link, type Snapshot } from "./state";

const WORDS: Record<Link, string> = {
  connecting: "connecting",
  open: "live",
  lost: "connection lost, trying again: these are the last numbers",
  ended: "measuring ended: these are the last numbers",
};

/** Connection in the address. */
function chosen(): number | null {
  const found = /^#connection\/(\d{1,10})$/.exec(location.hash);
  return found?.[1] === undefined ? null : Number(found[1]);
}

function goTo(panel: string) {
  const title = document.getElementById(`title-${panel}`);
  title?.scrollIntoView();
  title?.focus();
}

function Page() {
  const [snapshot, setSnapshot] = useState<Snapshot | null>(null);
  const [link, setLink] = useState<Link>("connecting");
  const [connection, setConnection] = useState(chosen());
  useEffect(() => {
    follow(setSnapshot, setLink);
    const onHash = () => setConnection(chosen());
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  useEffect(() => {
    if (snapshot !== null) document.title = `${sign(snapshot.grade)} ${snapshot.source} – tidewire`.trim();
  }, [snapshot?.source, snapshot?.grade]);
  const open = (id: number) => {
    location.hash = `#connection/${id}`;
  };
  const close = () => {
    history.replaceState(null, "", "/");
    setConnection(null);
    requestAnimationFrame(() => goTo("connections"));
  };
  // Nothing more comes from a capture that was read to its end.
  const isRead = link === "open" && snapshot !== null && snapshot.state !== "under way";
  return (
    <>
      <header>
        <h1>tidewire <span class="source">{snapshot?.source ?? ""}</span></h1>
        <p class="link" data-link={link} role="status">{isRead ? "" : WORDS[link]}</p>
      </header>
      <main>
        {snapshot === null ? <p>Waiting for the first numbers.</p> : (
          <>
            <Answer snapshot={snapshot} onConnection={open} />
            {connection !== null ? (
              <Connection id={connection} snapshot={snapshot} onClose={close} />
            ) : (
              <>
                <Rates snapshot={snapshot} />
                {snapshot.panels.map((panel) => (
                  <Table key={panel.id} panel={panel} onConnection={open} />
                ))}
              </>
            )}
          </>
        )}
      </main>
    </>
  );
}

function Answer({ snapshot, onConnection }: { snapshot: Snapshot; onConnection: (id: number) => void }) {
  const { headline, grade, state, length, frames, began, error, losses, findings, totals } = snapshot;
  const begun = began === "" ? "" : `, since ${began}`;
  return (
    <section class="answer" aria-labelledby="title-answer">
      <h2 id="title-answer" data-grade={grade ?? "good"}>{sign(grade)} {headline}</h2>
      <p>
        {state}, {length}{begun}, <span id="frames">{frames}</span> frames{error === null ? "" : `: ${error}`}
      </p>
      {losses.map((loss) => <p class={snapshot.is_lossy ? "loss" : ""} key={loss}>{loss}</p>)}
      <ul class="findings">
        {findings.map((finding) => (
          <li key={finding.text} data-grade={finding.grade}>
            <span class="sign">{sign(finding.grade)}</span> {finding.text}
            <More finding={finding} snapshot={snapshot} onConnection={onConnection} />
            {finding.detail !== null && <small>{finding.detail}</small>}
          </li>
        ))}
      </ul>
      <p class="totals">
        {totals.map(([name, count]) => <span key={name}><b>{count}</b> {name}</span>)}
      </p>
    </section>
  );
}

interface MoreProps {
  finding: Finding;
  snapshot: Snapshot;
  onConnection: (id: number) => void;
}

/** Way to the evidence of a finding. */
function More({ finding, snapshot, onConnection }: MoreProps) {
  const { connection } = finding;
  const panel = snapshot.panels.find((panel) => panel.id === finding.panel);
  if (connection !== null) {
    return (
      <button type="button" class="link" onClick={() => onConnection(connection)}>
        connection {connection}
      </button>
    );
  }
  if (panel === undefined) return null;
  return (
    <button type="button" class="link" onClick={() => goTo(panel.id)}>{panel.title.toLowerCase()}</button>
  );
}

function Rates({ snapshot }: { snapshot: Snapshot }) {
  const { seconds, tpdus, again } = snapshot.course;
  if (tpdus.length < 2) return null;
  const figure = (value: number) => value.toPrecision(3).replace(/\.?0+$/, "");
  const most = Math.max(...tpdus);
  const now = tpdus[tpdus.length - 1] ?? 0;
  return (
    <Chart
      title="TPDUs and retransmitted DTs per second"
      unit="per second"
      about={`TPDUs per second: now ${figure(now)}, at most ${figure(most)}; retransmitted DTs per second: at most ${figure(Math.max(...again))}`}
      seconds={seconds}
      series={[
        { name: "TPDUs", colour: "--blue", values: tpdus },
        { name: "retransmitted DTs", colour: "--orange", dash: [6, 3], values: again },
      ]}
    />
  );
}

render(<Page />, document.body);
