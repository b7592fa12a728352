// node compile.mjs SOURCES COMPILED: compile the modules in an archive, for the Python that loads it.
import { readFileSync, writeFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

const python = await loadPyodide();
python.FS.writeFile("sources.zip", readFileSync(process.argv[2]));
python.runPython(`
import importlib.util, marshal, zipfile

EPOCH, ROOT = (1980, 1, 1, 0, 0, 0), "/lib/python3.14/site-packages/"
# Never compared with a source, which is not there
HEADER = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)

with zipfile.ZipFile("sources.zip") as sources, zipfile.ZipFile("compiled.zip", "w") as compiled:
    for name in sources.namelist():
        content = sources.read(name)
        if name.endswith(".py"):
            # Docstrings of the SDK are longer than its code
            code = compile(content, ROOT + name, "exec", dont_inherit=True, optimize=0 if name.startswith("tablepatterns") else 2)
            name, content = name + "c", HEADER + marshal.dumps(code)
        compiled.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED, compresslevel=9)
`);
writeFileSync(process.argv[3], python.FS.readFile("compiled.zip"));
