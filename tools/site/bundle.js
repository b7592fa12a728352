// node bundle.js FILE: bundle the editor with CodeMirror.
import { buildSync } from "esbuild";

buildSync({
  entryPoints: [new URL("panel.js", import.meta.url).pathname],
  outfile: process.argv[2],
  bundle: true,
  minify: true,
  format: "esm",
  legalComments: "none",
});
