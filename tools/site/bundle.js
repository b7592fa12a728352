// node bundle.js FOLDER: bundle what the pages load after a click, with CodeMirror.
import { buildSync } from "esbuild";

buildSync({
  entryPoints: ["panel.js", "playground.js", "check.js", "link.js"].map((name) => new URL(name, import.meta.url).pathname),
  outdir: process.argv[2],
  bundle: true,
  minify: true,
  format: "esm",
  legalComments: "none",
});
