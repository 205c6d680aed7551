/* The shell of every page: PB, what a page's own script builds with.

   PB.model()                 promise of the page's model            PB.chunk(n)   promise of chunk n
   PB.has(n)                  promise: is chunk n in this file?      PB.h(tag, attributes, ...children)   an element
   PB.text(source, options)   prose (Markdown, mathematics), as an element  PB.raw(source)   verbatim text, as an element
   PB.table({...})            a sortable table                       PB.chart({...})  a figure with its numbers as CSV
   PB.bar({...})              the top bar: links, theme, help        PB.copy(text)    to the clipboard
   PB.later(action)           add what lies below the window, when the page stands
   PB.percent(share)          "54.1 %"                               PB.colour(i)     colour of series i, for charts

   Whatever models and datasets wrote is only ever set as text: no function here makes markup of a string, and the
   page's Trusted Types policy makes the browser refuse any that would. */
export { bar } from "./bar";
export { chart, colour, later, swatch, symbol } from "./chart";
export { announce, copy, copyButton } from "./clipboard";
export { chunk, has, model } from "./data";
export { h } from "./elements";
export { explain } from "./explain";
export { csv, number, percent } from "./numbers";
export { pieces } from "./pieces";
export { table } from "./table";
export { isRaw, text, toggleRaw } from "./prose";
export { scopeOf } from "./scope";
export { settleSeen as settle } from "./typesetting";
export { raw, unseen, visible } from "./visible";
