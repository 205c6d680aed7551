/* Where labels are kept: by the server that the page came from, or in the browser's storage for this page. */
import type { Scale } from "./grading";
import type { Findings } from "./model";

/** A proof to label, and how it was drawn. */
export type Drawn = [key: string, stratum: string, stratumSize: number, probability: number];

/** The draw of proofs that people label (docs/labels.md). */
export interface Labelling {
  /** Number of the run. */
  run: number;
  run_id: string;
  annotator: string | null;
  /** Whether `proverbench label` keeps the labels; otherwise the page does. */
  served: boolean;
  scale: Scale | null;
  drawn: Drawn[];
}

/** What counts of a proof now. */
export interface State {
  annotation: Findings;
  /** Where people grade: the points that were given. */
  grade?: number | null;
  undecided: boolean;
  labelled: boolean;
  /** Rises with every change, so that two windows do not overwrite each other. */
  version: number;
  seconds?: number;
}

export interface Progress {
  labelled: number;
  undecided: number;
  drawn: number;
  /** Width of the corrected score's interval with the labels so far, and with all of the draw; null: not known yet. */
  width?: number | null;
  expected?: number | null;
}

export interface Said {
  annotation: Findings;
  grade: number | null;
  undecided: boolean;
  seconds: number;
}

export type Saved = { state: State; progress: Progress } | { fault: string; state?: State };

export interface Store {
  annotator: string;
  states: Map<string, State>;
  progress: Progress;
  /** Keep what was said of a proof; a fault where that could not be done, with what counts if another window said it. */
  save(key: string, said: Said): Promise<Saved>;
}

export const OPEN: Findings = {
  first_fatal_error_step: null,
  recoverable_error_steps: null,
  reviewer_comment: "",
  first_error_reason: "",
  remark: "",
};

const nothing = (): State => ({ annotation: { ...OPEN }, undecided: false, labelled: false, version: 0 });

export const isDone = (state: State) => state.labelled || state.undecided;

export const openStore = (labelling: Labelling): Promise<Store> =>
  labelling.served ? served(labelling) : Promise.resolve(inPage(labelling));

// ------------------------------------------------------------ proverbench label

async function served(labelling: Labelling): Promise<Store> {
  const found = await (await fetch("labels.json", { cache: "no-store" })).json();
  const store: Store = {
    annotator: labelling.annotator ?? "",
    states: new Map(Object.entries(found.states as Record<string, State>)),
    progress: found.progress,
    async save(key, said) {
      const version = store.states.get(key)?.version ?? 0;
      let saved: Saved;
      try {
        const reply = await fetch("label", {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ proof_id: key, version, ...said }),
        });
        saved = await reply.json();
      } catch {
        saved = { fault: "the server does not answer; start `proverbench label` again, and save once more" };
      }
      if (saved.state) store.states.set(key, saved.state);
      if ("progress" in saved) store.progress = saved.progress;
      return saved;
    },
  };
  return store;
}

// ------------------------------------------------------------ a page that was mailed

const ROOT = "proverbench-labels";
/** Labels that were not downloaded since. */
export let unsaved = 0;
export const downloaded = () => (unsaved = 0);

export const annotators = {
  get: () => stored(`${ROOT}/annotator`) ?? "",
  set: (name: string) => keep(`${ROOT}/annotator`, name),
};

function inPage(labelling: Labelling): Store {
  const annotator = annotators.get();
  const place = (key: string) => `${ROOT}/${labelling.run_id}/${annotator}/${key}`;
  const read = (key: string): State => JSON.parse(stored(place(key)) ?? "null") ?? nothing();
  const store: Store = {
    annotator,
    states: new Map(labelling.drawn.map(([key]) => [key, read(key)])),
    get progress() {
      const states = [...store.states.values()];
      return {
        labelled: states.filter((state) => state.labelled).length,
        undecided: states.filter((state) => state.undecided).length,
        drawn: states.length,
      };
    },
    async save(key, said) {
      const now = read(key);
      if (now.version !== (store.states.get(key)?.version ?? 0)) {
        store.states.set(key, now);
        return { fault: "this proof was labelled in another window", state: now };
      }
      const found = said.annotation.recoverable_error_steps !== null || said.grade !== null;
      const labelled = !said.undecided && found;
      const state = { ...said, labelled, version: now.version + 1 };
      store.states.set(key, state);
      unsaved += 1;
      if (!keep(place(key), JSON.stringify(state)))
        return { fault: "this browser keeps nothing for this page; download your labels before you close it", state };
      return { state, progress: store.progress };
    },
  };
  return store;
}

function stored(place: string): string | null {
  try {
    return localStorage.getItem(place);
  } catch {
    return null; // a page opened from a file may have no storage
  }
}

function keep(place: string, value: string): boolean {
  try {
    localStorage.setItem(place, value);
    return true;
  } catch {
    return false;
  }
}

window.addEventListener("beforeunload", (event) => {
  if (unsaved) event.preventDefault();
});
