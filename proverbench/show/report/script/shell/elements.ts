/* Elements are made here, and only here: whatever models and datasets wrote becomes text, never markup, and passes the
   gate for texts. */
import { visible } from "./visible";

export type Child = Node | string | number | false | null | undefined | Child[];

type Attribute = string | number | boolean | null | undefined | EventHandler | Record<string, string>;
const READ = new Set(["title", "aria-label", "placeholder"]); // attributes that people read

type EventHandler = (event: any) => unknown;
export type Attributes = Record<string, Attribute> | null;

/** An element. An attribute `onNAME` is a listener, `style` an object of properties; what is absent or false is left out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes?: Attributes,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(key.slice(2), value);
    else if (typeof value === "object")
      for (const [property, set] of Object.entries(value)) node.style.setProperty(property, set);
    else node.setAttribute(key, value === true ? "" : READ.has(key) ? visible(String(value)) : String(value));
  }
  append(node, children);
  return node;
}

function append(node: Node & ParentNode, children: Child[]) {
  for (const child of children) {
    if (Array.isArray(child)) append(node, child);
    else if (child !== null && child !== undefined && child !== false)
      node.append(child instanceof Node ? child : visible(String(child)));
  }
}
