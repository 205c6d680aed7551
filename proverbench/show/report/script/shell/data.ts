/* The page's data: a model, and chunks of texts that are unpacked when they are looked at. */

async function unpack(packed: string): Promise<any> {
  const bytes = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(packed)
    : Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

async function fetched(path: string): Promise<any> {
  const reply = await fetch(path, { cache: "no-store" });
  if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
  return reply.json();
}

/** The page's script runs while the browser still reads what follows it: libraries and chunks. */
export const parsed = new Promise<void>((go) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => go());
  else go();
});

const packedChunk = async (number: number) => (await parsed, document.getElementById(`chunk-${number}`));

/** Whether this file holds chunk `number`. */
export const has = async (number: number) => (await packedChunk(number)) !== null;

/** The page's model: from the file, or from the server that the page came from. */
export async function model(): Promise<any> {
  const packed = document.getElementById("model")?.textContent;
  return packed ? unpack(packed) : fetched("model.json");
}

const KEPT = 8;
const kept = new Map<string, Promise<any>>(); // unpacked chunks, the latest used last

/** Chunk `number` of the model of that version. */
export function chunk(number: number, version = ""): Promise<any> {
  const name = `${number}/${version}`;
  const found = kept.get(name) ?? read(number, version);
  kept.delete(name);
  kept.set(name, found);
  found.catch(() => kept.delete(name));
  if (kept.size > KEPT) kept.delete(kept.keys().next().value!);
  return found;
}

async function read(number: number, version: string): Promise<any> {
  const packed = await packedChunk(number);
  return packed ? unpack(packed.textContent ?? "") : fetched(`chunk/${number}.json?v=${encodeURIComponent(version)}`);
}
