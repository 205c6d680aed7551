/* The page of proofs: an overview with plots, and a reader of proofs and judgments (addresses: routes.ts). */
import { follow } from "./follow";
import { makeBar, onKey } from "./keys";
import { route } from "./routes";
import { readModel } from "./state";

async function start() {
  await readModel();
  makeBar();
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", route);
  route();
  follow();
}

start();
