// Python and the library, loaded once; programs run one at a time.
import { loadPyodide } from "./pyodide/pyodide.mjs";

let python;
const loaded = new Set();
const poster = (id) => (kind, more) => postMessage({ id, kind, ...more });

async function file(name) {
  const response = await fetch(new URL(name, import.meta.url));
  if (!response.ok) throw new Error(`${name} could not be loaded: ${response.status} ${response.statusText}`);
  return response;
}

async function load({ library, pages }, post) {
  post("status", { text: "Loading Python…" });
  const archives = [file(library), file(pages)];
  const python = await loadPyodide();
  post("status", { text: "Loading the library…" });
  const folder = python.runPython("import site; site.getsitepackages()[0]");
  for (const archive of archives) {
    python.unpackArchive(await (await archive).arrayBuffer(), "zip", { extractDir: folder });
  }
  python.pyimport("without_cryptography");
  return python;
}

async function add(names, post) {
  const missing = names.filter((name) => !loaded.has(name));
  if (!missing.length) return;
  post("status", { text: "Loading packages…" });
  await (await python).loadPackage(missing, { messageCallback: () => {}, checkIntegrity: false });
  for (const name of missing) loaded.add(name);
}

onmessage = async ({ data }) => {
  const post = poster(data.id);
  try {
    python ??= load(data, post).catch((error) => {
      python = undefined;
      throw error;
    });
    const ready = await python;
    if (data.kind === "load") return;
    if (data.cryptography && /encrypt|cryptography/i.test(data.program ?? "")) await add(["cryptography"], post);
    if (data.packages) await add(data.packages.split(" ").map((name) => new URL(name, import.meta.url).href), post);
    if (data.kind === "call") {
      post("answer", { text: await ready.pyimport(data.module).answer(data.question) });
    } else {
      post("status", { text: "Running…" });
      const report = (text) => post(...Object.entries(JSON.parse(text)).flatMap(([kind, more]) => [kind, more]));
      await ready.pyimport("runner").run(data.program, report);
    }
  } catch (error) {
    post("failed", { text: String(error.message ?? error) });
  }
};
