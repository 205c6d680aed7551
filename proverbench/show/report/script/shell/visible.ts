/* The gate that every shown text passes: characters that a reader cannot see, or that turn what is around them, are
   spelled out. The same as proverbench/unseen.py; a test compares the two. */
import { h } from "./elements";

const CONTROLS = "\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f";
const OTHERS =
  "\\u0080-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e" +
  "\\u2060-\\u206f\\u3164\\ufe00-\\ufe0d\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff\\ud800-\\udfff" +
  "\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}";
// Text and emoji style, but for where a symbol is before them.
const SELECTORS = "(?<![\\u203c-\\u3299\\u{1f000}-\\u{1faff}])[\\ufe0e\\ufe0f]";

const ANY = new RegExp(`[${CONTROLS}${OTHERS}]|${SELECTORS}`, "u");
const EACH = new RegExp(ANY, "gu");
const CONTROL = new RegExp(`[${CONTROLS}]`, "g");
const RUN = new RegExp(`([${OTHERS}]|${SELECTORS})\\1*`, "gu");

const picture = (control: string) => (control === "\u007f" ? "␡" : String.fromCharCode(0x2400 + control.charCodeAt(0)));

/** The text with each such character spelled out: `␀`, `⟨U+202E⟩`, and a run of one as `⟨U+200B×57⟩`. */
export function visible(text: string): string {
  if (!ANY.test(text)) return text;
  return text.replace(CONTROL, picture).replace(RUN, (run, one: string) => {
    const code = one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    const times = run.length / one.length;
    return `⟨U+${code}${times > 1 ? `×${times}` : ""}⟩`;
  });
}

/** How many characters of a text a reader cannot see. */
export function unseen(text: string): number {
  if (!ANY.test(text)) return 0;
  let count = 0;
  for (EACH.lastIndex = 0; EACH.exec(text);) count += 1;
  return count;
}

/** Text exactly as it came. */
export const raw = (source: string | null | undefined) => h("pre", { class: "raw", tabindex: 0 }, source ?? "");
