/* A run that is still going (proverbench view): the page follows it. */
import { forgetSearch } from "./filters";
import { closeReader, reader, refresh } from "./list";
import { route } from "./routes";
import { announce } from "./shell";
import { head, proofAt, readModel } from "./state";

const EVERY = 2000; // milliseconds

export async function follow() {
  while (head.live) {
    await new Promise((go) => setTimeout(go, EVERY));
    try {
      const version = await (await fetch("version", { cache: "no-store" })).text();
      if (version !== head.version) await moveOn();
    } catch {
      announce("The server does not answer; trying again");
    }
  }
}

/* Take the newer state of the runs; what is looked at stays, and is drawn again only if it changed. */
async function moveOn() {
  const before = reader?.current ?? null;
  const judged = JSON.stringify(before?.runs);
  await readModel();
  if (!reader?.node.isConnected) {
    const scrolled = window.scrollY;
    closeReader();
    route();
    window.scrollTo(0, scrolled);
    return;
  }
  forgetSearch();
  const same = before && proofAt(before.runs[0][0], before.key);
  reader.current = same && JSON.stringify(same.runs) === judged ? same : null;
  refresh();
  if (!reader.current) route();
}
