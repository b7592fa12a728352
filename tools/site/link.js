// Links that hold a program or a design in their fragment, which is never sent to a server.
const MAX_LINK = 16_000, MAX_TEXT = 200_000;

async function through(stream, bytes, most) {
  const parts = [];
  let length = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    length += value.length;
    if (length > most) throw new Error("The text in the link is too long.");
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

// Returns the address of this page with a text in its fragment
async function addressOf(kind, text) {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text), Infinity);
  const code = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  if (code.length > MAX_LINK) throw new Error(`It is too long for a link: ${code.length.toLocaleString("en")} of ${MAX_LINK.toLocaleString("en")} characters.`);
  return `${location.href.split("#")[0]}#${kind}=${code.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

// Puts a link to a text into the address bar and the clipboard, and returns what to tell the reader
export async function share(kind, text) {
  try {
    const address = await addressOf(kind, text);
    history.replaceState(null, "", address);
    try {
      await navigator.clipboard.writeText(address);
      return "The link is copied, and in the address bar.";
    } catch {
      return "The link is in the address bar.";
    }
  } catch (error) {
    return error.message;
  }
}

// Returns the kind and the text of the link that opened this page, null if it has none
export async function linked() {
  const found = /^#(program|design|playground)=([\w-]+)$/.exec(location.hash);
  if (!found || found[2].length > MAX_LINK) return null;
  const packed = Uint8Array.from(atob(found[2].replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
  const text = await through(new DecompressionStream("deflate-raw"), packed, MAX_TEXT);
  return { kind: found[1], text: new TextDecoder("utf-8", { fatal: true }).decode(text) };
}
