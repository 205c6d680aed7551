/* Bundle the scripts of the pages into ../page/ and the siblings' folders, and write down which sources they are from (../page/built.json).
   A test compares the hashes: the built files are committed, so that users need neither npm nor this. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const HERE = new URL(".", import.meta.url);
const PAGE = new URL("../page/", HERE);
const OPTIONS = {
  bundle: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  absWorkingDir: HERE.pathname,
};

const sha256 = (...parts) => parts.reduce((state, part) => state.update(part), createHash("sha256")).digest("hex");

await build({ ...OPTIONS, entryPoints: ["shell/index.ts"], outfile: "../page/page.js", globalName: "PB" });
await build({ ...OPTIONS, entryPoints: ["report/main.ts"], outfile: "../page/report.js" });
await build({ ...OPTIONS, entryPoints: ["plan/main.ts"], outfile: "../page/plan.js" });
const SIBLINGS = {
  compression: "../../../compression/page/report.js",
  retrieval: "../../../retrieval/page/page.js",
};
for (const [name, outfile] of Object.entries(SIBLINGS))
  await build({ ...OPTIONS, entryPoints: [`${name}/main.ts`], outfile });

// markdown-it holds "<!--" in expressions and strings, where "\\x3c" is the same and ends no script.
const { outputFiles } = await build({
  ...OPTIONS,
  stdin: { contents: 'import reader from "markdown-it"; globalThis.markdownit = reader;', resolveDir: HERE.pathname },
  minify: true,
  write: false,
});
const markdown = outputFiles[0].text.replace(/<(?=!--|\/?script)/gi, "\\x3c");
writeFileSync(new URL("markdown.js", PAGE), markdown);

const sources = readdirSync(HERE, { recursive: true })
  .map((name) => name.replaceAll("\\", "/"))
  .filter((name) => !name.startsWith("node_modules/") && /\.(ts|mjs)$|^package(-lock)?\.json$/.test(name))
  .sort();
const built = {
  sources: sha256(...sources.flatMap((name) => [name, "\0", readFileSync(new URL(name, HERE)), "\0"])),
  files: Object.fromEntries(
    ["markdown.js", "page.js", "plan.js", "report.js", ...Object.values(SIBLINGS)].map((name) => [
      name,
      sha256(readFileSync(new URL(name, PAGE))),
    ]),
  ),
};
writeFileSync(new URL("built.json", PAGE), `${JSON.stringify(built, null, 2)}\n`);
