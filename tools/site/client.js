// The worker with Python, which all that runs on a page shares.
let worker, count = 0;
const receivers = new Map();

const broadcast = (data) => {
  const all = [...receivers.values()];
  receivers.clear();
  for (const receive of all) receive(data);
};

function start() {
  worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => receivers.get(data.id)?.(data);
  worker.onerror = (event) => {
    worker.terminate();
    worker = undefined;
    broadcast({ kind: "failed", text: `Python could not be loaded: ${event.message ?? "see the console"}` });
  };
}

// Sends a message to the worker; what it answers is received until it has ended
export function send(message, receive) {
  if (!worker) start();
  const id = ++count;
  receivers.set(id, (data) => {
    if (["done", "answer", "failed"].includes(data.kind)) receivers.delete(id);
    receive(data);
  });
  worker.postMessage({ id, ...message });
}

// Python in a worker hears nothing while it runs, so it ends with the worker; the next one starts at once
export function stop(assets) {
  worker?.terminate();
  broadcast({ kind: "stopped" });
  start();
  worker.postMessage({ ...assets, kind: "load" });
}

// Calls the function `answer` of a module in Python, with and for JSON
export function call(assets, module, question, onStatus = () => {}) {
  return new Promise((resolve, reject) => {
    send({ ...assets, kind: "call", module, question: JSON.stringify(question) }, (data) => {
      if (data.kind === "status") onStatus(data.text);
      else if (data.kind === "answer") resolve(JSON.parse(data.text));
      else if (data.kind === "failed" || data.kind === "stopped") reject(new Error(data.text ?? "stopped"));
    });
  });
}
