/* The gate that every shown text passes: characters that show nothing, or turn what is around them, are made visible. */
import { h } from "./elements";

export const visible = (text: string) =>
  text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(
      /[\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/g,
      (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
    );

/** Text exactly as it came. */
export const raw = (source: string | null | undefined) =>
  h("pre", { class: "raw", tabindex: 0 }, visible(source ?? ""));
