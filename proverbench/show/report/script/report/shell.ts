/* The shell's functions under the names that this page uses. */
export const {
  announce,
  bar,
  chart,
  colour,
  copyButton,
  csv,
  h,
  later,
  number,
  percent,
  raw,
  settle,
  symbol,
  table,
  text,
  visible,
} = PB;
