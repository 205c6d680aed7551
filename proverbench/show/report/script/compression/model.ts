/* What the page of compressionbench gets from Python (compression/reporting.py, compression/viewing.py). */

/** A number, as text where it is too large for JavaScript. */
export type Count = number | string;

export interface Task {
  label: string;
  sha256: string;
  original: number;
  sharing: number;
}

export interface Agent {
  agent: string;
  average: number;
  no_score: number;
  /** Of each task; null without a verified run. */
  counts: (number | null)[];
  places: number[];
}

export interface Ranking {
  track: string;
  tasks: Task[];
  agents: Agent[];
}

export interface Apart {
  receipt: string;
  agent: string;
  task: string;
  reason: string;
}

export interface Rules {
  title: string;
  text: string[];
  head: string[];
  rows: string[][];
  code: string;
}

export interface View {
  title: string;
  task: string;
  original: number;
  count: Count;
}

export interface Page {
  rules: Rules[];
  rankings: Ranking[];
  apart: Apart[];
  views: View[];
}

/** The terms of one view: a column for each property, a row for each node. */
export interface Nodes {
  kind: number[];
  label: string[];
  count: Count[];
  children: number[][];
}

export interface Item {
  name: string;
  kind: string;
  nodes: Count;
  /** `root` is a node's number; null: too large to be carried. */
  parts: { label: string; nodes: Count; root: number | null }[];
}

export interface Content {
  count: Count;
  items: Item[];
  nodes: Nodes;
}
