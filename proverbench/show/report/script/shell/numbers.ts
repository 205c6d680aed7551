/* Numbers as people read them, and as CSV. */

type Maybe<T> = T | null | undefined;

export const percent = (share: Maybe<number>, digits = 1) =>
  share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`;

// Not toLocaleString: that loads the browser's tables of languages, which takes longer than all else on a page.
export const number = (value: Maybe<number | string>) =>
  value === null || value === undefined
    ? "–"
    : String(value).replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));

export function csv(rows: object[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value: unknown) => {
    const shown = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
  };
  const lines = [columns, ...rows.map((row) => columns.map((column) => (row as Record<string, unknown>)[column]))];
  return lines.map((line) => line.map(cell).join(",")).join("\n") + "\n";
}
