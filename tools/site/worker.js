// Python and the library, loaded once; programs run one at a time.
import { loadPyodide } from "./pyodide/pyodide.mjs";

let id, python, hasCryptography = false;
const post = (kind, more) => postMessage({ id, kind, ...more });

async function file(name) {
  const response = await fetch(new URL(name, import.meta.url));
  if (!response.ok) throw new Error(`${name} could not be loaded: ${response.status} ${response.statusText}`);
  return response;
}

async function load(library) {
  post("status", { text: "Loading Python…" });
  const archive = file(library), runner = file("runner.py");
  const loaded = await loadPyodide();
  post("status", { text: "Loading the library…" });
  const folder = loaded.runPython("import site; site.getsitepackages()[0]");
  loaded.unpackArchive(await (await archive).arrayBuffer(), "zip", { extractDir: folder });
  loaded.FS.writeFile(`${folder}/runner.py`, await (await runner).text());
  return loaded;
}

onmessage = async ({ data }) => {
  id = data.id;
  try {
    python ??= await load(data.library);
    if (data.cryptography && !hasCryptography && /encrypt|cryptography/i.test(data.program)) {
      post("status", { text: "Loading cryptography…" });
      await python.loadPackage("cryptography", { messageCallback: () => {} });
      hasCryptography = true;
    }
    post("status", { text: "Running…" });
    const runner = python.pyimport("runner");
    await runner.run(data.program, (text) => post(...Object.entries(JSON.parse(text)).flatMap(([kind, more]) => [kind, more])));
  } catch (error) {
    post("failed", { text: String(error.message ?? error) });
  }
};
