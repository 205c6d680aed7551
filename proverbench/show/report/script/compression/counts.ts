/* Counts of nodes as people read them. */
import type { Count } from "./model";

const grouped = new Intl.NumberFormat("en");

/** With its thousands apart. */
export const count = (value: Count) =>
  typeof value === "number" ? grouped.format(value) : BigInt(value).toLocaleString("en");

/** A part of a whole, from 0 to 1. */
export const share = (part: Count, whole: Count) => (Number(whole) ? Number(part) / Number(whole) : 0);
