// The state that the server sends: see `snapshot.rs` and `connection.rs`.

export type Grade = "bad" | "look" | "note";

/** Value by which rows are sorted, null of a text; and the text that is shown. */
export type Cell = [number | null, string];

export interface Column {
  title: string;
  help: string;
  is_number: boolean;
}

export interface Row {
  grade: Grade | null;
  connection: number | null;
  cells: Cell[];
}

export interface Panel {
  id: string;
  title: string;
  about: string;
  columns: Column[];
  rows: Row[];
}

export interface Finding {
  grade: Grade;
  text: string;
  detail: string | null;
  panel: string;
  connection: number | null;
}

export interface Snapshot {
  source: string;
  state: string;
  error: string | null;
  headline: string;
  grade: Grade | null;
  began: string;
  length: string;
  frames: number;
  losses: string[];
  is_lossy: boolean;
  findings: Finding[];
  totals: [string, number][];
  panels: Panel[];
  course: { seconds: number[]; tpdus: number[]; again: number[] };
}

export interface Trace {
  from: string;
  seconds: number[];
  sent: (number | null)[];
  acknowledged: (number | null)[];
  allowed: (number | null)[];
}

export interface Detail {
  id: number;
  properties: [string, string][];
  sides: Panel;
  traces: Trace[];
}

/** Sign of a severity, as on a terminal: colour never stands alone. */
export function sign(grade: Grade | null): string {
  return grade === "bad" ? "!!" : grade === "look" ? "!" : "";
}

export type Link = "connecting" | "open" | "lost" | "ended";

/** Follows the snapshots. The browser connects again by itself after a loss. */
export function follow(onSnapshot: (snapshot: Snapshot) => void, onLink: (link: Link) => void) {
  const source = new EventSource("/api/v1/stream");
  source.addEventListener("open", () => onLink("open"));
  source.addEventListener("snapshot", (event) => {
    onSnapshot(JSON.parse((event as MessageEvent<string>).data) as Snapshot);
  });
  source.addEventListener("end", () => {
    source.close();
    onLink("ended");
  });
  source.addEventListener("error", () => {
    onLink("lost");
    // A browser gives up where the answer is no stream: then it is asked again here.
    if (source.readyState === EventSource.CLOSED) {
      setTimeout(() => follow(onSnapshot, onLink), 2000);
    }
  });
}
