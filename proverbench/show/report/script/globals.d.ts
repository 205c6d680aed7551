/* The libraries, which the page carries beside the scripts and moves into the document when they are wanted. */
declare const katex: typeof import("katex").default;
declare const markdownit: typeof import("markdown-it").default;
declare const Plot: typeof import("@observablehq/plot");
declare const d3: typeof import("d3");
/* The shell (shell/index.ts): what a page's own script builds with. */
declare const PB: typeof import("./shell/index");

interface Uint8ArrayConstructor {
  /** In browsers since 2025; the page has its own way where it lacks. */
  fromBase64?(text: string): Uint8Array<ArrayBuffer>;
}
