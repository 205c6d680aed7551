/* Small pieces that several places of the page are made of. */
import { h } from "../report/shell";
import type { Badge, Value } from "./model";

export const three = (value: Value | undefined) => (value === null || value === undefined ? "–" : value.toFixed(3));

export const badge = ({ label, why }: Badge) => h("span", { class: "badge", title: why, tabindex: 0 }, label);

export const says = (text: string) => h("p", { class: "says" }, text);

/** The value of the control that an event is of. */
export const valueOf = (event: Event) => (event.target as HTMLInputElement | HTMLSelectElement).value;

const svg = (name: string, attributes: Record<string, string | number>) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  return node;
};

/** R@k for k = 1..200 as a small line; where a service has no value the line ends. */
export function sparkline(values: Value[] | null | undefined) {
  if (!values) return null;
  const known = values.filter((value) => value !== null);
  const line = svg("svg", { class: "spark", viewBox: "0 0 100 24", width: 84, height: 20, role: "img" });
  line.setAttribute("aria-label", `R at 1 to ${known.length}: ${three(known[0])} to ${three(known.at(-1))}`);
  const points = known.map(
    (value, at) => `${((100 * at) / (values.length - 1)).toFixed(1)},${(22 - 20 * value).toFixed(1)}`,
  );
  line.append(svg("polyline", { points: points.join(" "), fill: "none", stroke: "currentColor", "stroke-width": 1.5 }));
  return line;
}
